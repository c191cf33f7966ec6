import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

/// A lobby whose guests see each other, and that keeps the largest number of them.
private struct Lobby: Feature {
    struct State: Codable, Equatable, Sendable { var most = 0 }
    enum Intent: Codable, Sendable { case who }
    enum Action: Codable, Equatable, Sendable { case crowd(Int) }
    enum Message: Codable, Equatable, Sendable { case most(Int) }
    enum Label: Codable, Equatable, Sendable { case here([String], count: Int) }
    static let examples: [Intent] = [.who]
    static let labelExamples: [Label] = [.here(["ann"], count: 1)]
    let initialState = State()

    func presence(of viewer: Viewer) -> String? { viewer.principal?.subject }
    static func viewersChanged(_ viewers: Viewers<String>) -> Action? { .crowd(viewers.count) }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.publish(.here(turn.viewers.shown, count: turn.viewers.count))
    }
    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        if case .crowd(let count) = action, count > turn.state.most { turn.dispatch(.most(count)) }
    }
    func reduce(_ state: inout State, _ message: Message) {
        if case .most(let count) = message { state.most = count }
    }
}

@Suite("86: presence over HTTP", .timeLimit(.minutes(5)))
struct PresenceTests {
    @Test func `a test has callers look at a store`() async {
        let store = TestStore(Lobby())
        let (ann, bob) = (TestCaller("ann", principal: Principal(subject: "ann")), TestCaller("bob"))
        await store.look(ann, bob)
        await store.receive(action: .crowd(2))
        await store.receive(.most(2)) { $0.most = 2 }
        await store.send(.who, as: bob)
        await store.expect(.here(["ann"], count: 2))
        await store.look(bob)
        await store.receive(action: .crowd(1))
        await store.send(.who)
        await store.expect(.here([], count: 1))
        await store.finish()
    }

    @Test func `streams tell who looks, those of a session's own store too, and turns know it`() async throws {
        try await TestServer.run(storage: .memory) { _ in
            FeatureServer { Shared { Lobby() }.allows(.everyone) }
        } test: { server in
            let ann = try await server.client(as: Principal(subject: "ann"))
            let events = try await ann.events(of: "lobby")
            #expect(try await events.event("presence") == #"{"feature":"lobby","count":1,"viewers":["ann"]}"#)
            let other = try await server.client().events(of: "lobby")
            await server.advance(by: .seconds(1))
            #expect(try await events.event("presence").contains(#""count":2,"viewers":["ann"]"#))
            try await ann.store(Lobby.self).send(.who)
            #expect(try await other.label(of: ann.store(Lobby.self)) == .here(["ann"], count: 2))
            #expect(try await ann.store(Lobby.self).state().most == 2)
        }
        try await TestServer.run(storage: .memory) { _ in
            FeatureServer { Lobby() }
        } test: { server in
            let events = try await server.client().events(of: "lobby")
            #expect(try await events.event("presence") == #"{"feature":"lobby","count":1,"viewers":[]}"#)
        }
    }
}
