import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

/// A bell that rings for some.
private struct Bell: Feature {
    struct State: Codable, Equatable, Sendable { var rings = 0 }
    enum Intent: Codable, Sendable { case ring(text: String, to: String), later(text: String), wrong }
    enum Message: Codable, Sendable { case rung }
    enum Label: Codable, Equatable, Sendable { case rung(text: String) }
    enum Audience: Hashable, Codable, Sendable { case guest, host }
    static let examples: [Intent] = [.ring(text: "a", to: "sender"), .later(text: "a"), .wrong]
    static let labelExamples: [Label] = [.rung(text: "a")]
    let initialState = State()

    func audience(of viewer: Viewer) -> Audience { viewer.principal == nil ? .guest : .host }
    func view(_ state: State, for audience: Audience) -> State { state }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.dispatch(.rung)
        switch intent {
        case .ring(let text, "sender"): turn.publish(.rung(text: text), to: .sender)
        case .ring(let text, "host"): turn.publish(.rung(text: text), to: .audience(.host))
        case .ring(let text, let id): turn.publish(.rung(text: text), to: .subject(Subject(issuer: "", id: id)))
        case .later(let text):
            guard let sender = turn.sender else { return }
            turn.launch { work in await work.publish(.rung(text: text), to: .session(sender.session)) }
        case .wrong: turn.launch { work in await work.publish(.rung(text: "nobody"), to: .sender) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) { state.rings += 1 }
}

@Suite("Directed labels over HTTP", .timeLimit(.minutes(5)))
struct DirectedLabelTests {
    @Test(arguments: [TestServer.Storage.memory, .temporaryFolder])
    func `each client is shown the labels that are for it, also after a restart, and no other`(
        storage: TestServer.Storage
    ) async throws {
        try await TestServer.run(storage: storage) { _ in
            FeatureServer { Shared { Bell() }.allows(.everyone) }
        } test: { server in
            let (ann, bob) = (try await server.client(), try await server.client())
            let hal = try await server.client(as: Principal(subject: "hal"))
            let clients = [ann, bob, hal]
            var streams: [ClientEvents] = []
            for client in clients { streams.append(try await client.events(of: "bell")) }
            let hello = try await streams[0].event("hello")
            let cursor = try #require(hello.split(separator: "\"cursor\":\"").last?.split(separator: "\"").first)
            for stream in streams { _ = try await stream.event("state") }
            func send(_ intent: Bell.Intent, _ client: TestClient) async throws {
                try await client.store(Bell.self).send(intent)
            }
            try await send(.ring(text: "for-ann", to: "sender"), ann)
            try await send(.ring(text: "for-hosts", to: "host"), bob)
            try await send(.ring(text: "for-hal", to: "hal"), ann)
            try await send(.later(text: "later-for-bob"), bob)
            try await send(.wrong, bob)
            try await send(.ring(text: "end-ann", to: "sender"), ann)
            try await send(.ring(text: "end-bob", to: "sender"), bob)
            try await send(.ring(text: "end-hal", to: "sender"), hal)
            let expected = [
                ["for-ann", "end-ann"], ["later-for-bob", "end-bob"], ["for-hosts", "for-hal", "end-hal"],
            ]
            for (place, texts) in expected.enumerated() {
                // What work publishes may come after what follows.
                var shown: [String] = []
                for _ in texts { shown.append(try await Self.text(streams[place], clients[place])) }
                #expect(shown.sorted() == texts.sorted())
            }
            try await server.restart()
            let resumed = try await ann.events(of: "bell&last_event_id=\(cursor)")
            if storage != .memory {
                for text in expected[0] { #expect(try await Self.text(resumed, ann) == text) }
            }
            let other = try await bob.events(of: "bell&last_event_id=earliest")
            try await send(.ring(text: "last", to: "sender"), bob)
            var shown: [String] = []
            while shown.last != "last" { shown.append(try await Self.text(other, bob)) }
            #expect(Set(shown).isSubset(of: ["later-for-bob", "end-bob", "last"]))
        }
    }

    private static func text(_ events: ClientEvents, _ client: TestClient) async throws -> String {
        guard case .rung(let text) = try await events.label(of: client.store(Bell.self)) else { return "" }
        return text
    }
}
