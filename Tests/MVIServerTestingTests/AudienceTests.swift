import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

/// A queue at a door, in which each guest sees the own place and hosts see all.
private struct Line: Feature {
    struct Party: Codable, Equatable, Sendable { let name: String, guest: String? }
    struct State: Codable, Equatable, Sendable { var parties: [Party] = [] }
    enum Intent: Codable, Sendable { case join(name: String) }
    enum Message: Codable, Sendable { case joined(Party) }
    struct ViewState: Codable, Equatable, Sendable { var place: Int?, parties: [String] = [] }
    enum Audience: Hashable, Sendable { case guest(String?), host }
    static let examples: [Intent] = [.join(name: "ann")]
    let initialState = State()

    func audience(of viewer: Viewer) -> Audience {
        viewer.principal?.claim("role") == "host" ? .host : .guest(viewer.sender?.id)
    }
    func view(_ state: State, for audience: Audience) -> ViewState {
        switch audience {
        case .host: ViewState(parties: state.parties.map(\.name))
        case .guest(let id): ViewState(place: state.parties.firstIndex { $0.guest == id }.map { $0 + 1 })
        }
    }
    func view(_ state: State) -> ViewState { view(state, for: .host) }
    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .join(let name) = intent { turn.dispatch(.joined(Party(name: name, guest: turn.sender?.id))) }
    }
    func reduce(_ state: inout State, _ message: Message) {
        if case .joined(let party) = message { state.parties.append(party) }
    }
}

/// A feature whose view cannot be written as JSON.
private struct Ratio: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case add }
    enum Audience: Hashable, Sendable { case all }
    struct ViewState: Codable, Equatable, Sendable { var ratio: Double }
    static let examples: [Intent] = [.add]
    let initialState = State()
    func audience(of viewer: Viewer) -> Audience { .all }
    func view(_ state: State) -> ViewState { ViewState(ratio: 0) }
    func view(_ state: State, for audience: Audience) -> ViewState { ViewState(ratio: state.count == 1 ? .nan : 0) }
    func reduce(_ state: inout State, _ intent: Intent) { state.count += 1 }
}

@Suite("What audiences see over HTTP", .timeLimit(.minutes(5)))
struct AudienceTests {
    private let host = Principal(subject: "hal", claims: ["role": "host"])

    @Test func `a test reads the views of several callers in one line`() async {
        let store = TestStore(Line())
        let (ann, bob) = (TestCaller("ann"), TestCaller("bob"))
        await store.send(.join(name: "ann"), as: ann) { $0.parties = [.init(name: "ann", guest: store.sender(ann).id)] }
        let hal = TestCaller("hal", principal: host)
        #expect(store.views(of: ann, bob, hal) == [.init(place: 1), .init(), .init(parties: ["ann"])])
        await store.finish()
    }

    @Test func `states, answers, tags, conditions and streams are the audience's`() async throws {
        try await TestServer.run(storage: .memory) { _ in
            FeatureServer { Shared { Line() }.allows(.everyone) }
        } test: { server in
            let (ann, bob) = (try await server.client(), try await server.client())
            let hal = try await server.client(as: host)
            let (first, second, staff) = (ann.store(Line.self), bob.store(Line.self), hal.store(Line.self))
            let streams = [
                try await ann.events(of: "line"), try await bob.events(of: "line"), try await hal.events(of: "line"),
            ]
            for stream in streams { _ = try await stream.event("state") }
            let before = try await bob.request("GET", "/features/line/state")
            let tag = try #require(before.fields["etag"])
            try await first.send(.join(name: "canary-ann"))
            // Bob's view is the same: his tag is good for a read and for a condition.
            #expect(
                try await bob.request("GET", "/features/line/state", fields: ["If-None-Match": tag]).status == 304)
            let joined = try await bob.request(
                "POST", "/features/line/intents", body: #"{"type":"join","name":"canary-bob"}"#,
                fields: ["If-Match": tag, "Prefer": "return=representation"])
            #expect(joined.status == 200 && joined.text == #"{"place":2,"parties":[]}"#)
            #expect(
                try await bob.request(
                    "POST", "/features/line/intents", body: #"{"type":"join","name":"x"}"#, fields: ["If-Match": tag]
                ).status == 412)
            #expect(try await first.state().place == 1)
            #expect(try await second.state().place == 2)
            #expect(try await staff.state().parties == ["canary-ann", "canary-bob"])
            let shown = [
                try await streams[0].event("state"), try await streams[1].event("state"),
                try await streams[2].event("state"),
            ]
            #expect(!shown[0].contains("canary") && !shown[1].contains("canary") && shown[2].contains("canary-ann"))
        }
    }

    @Test func `a sign-in shows the view of the new audience, and HEAD has its length`() async throws {
        try await TestServer.run(storage: .memory) { _ in
            FeatureServer { Shared { Line() }.allows(.everyone) }
        } test: { server in
            let (ann, guest) = (try await server.client(), try await server.client())
            let head = try await guest.request("HEAD", "/features/line/state")
            #expect(head.status == 200 && head.fields["content-length"] == "14")
            try await ann.store(Line.self).send(.join(name: "ann"))
            let before = try await ann.request("GET", "/features/line/state")
            #expect(before.text == #"{"place":1,"parties":[]}"#)
            try await ann.signIn(as: host)
            let after = try await ann.request(
                "GET", "/features/line/state", fields: ["If-None-Match": before.fields["etag"] ?? ""])
            #expect(after.status == 200 && after.text == #"{"parties":["ann"]}"#)
            #expect(try await ann.events(of: "line").event("state").contains(#""parties":["ann"]"#))
        }
    }

    @Test func `a view that cannot be written is left out of an answer, and refused to a read`() async throws {
        try await TestServer.run(storage: .memory) { _ in
            FeatureServer { Shared { Ratio() }.allows(.everyone) }
        } test: { server in
            let client = try await server.client()
            for (preference, status) in [("return=representation", 202), ("wait=1, return=representation", 200)] {
                let answer = try await client.request(
                    "POST", "/features/ratio/intents", body: #"{"type":"add"}"#, fields: ["Prefer": preference])
                let read = try await client.request("GET", "/features/ratio/state")
                #expect(answer.status == status && read.status == (status == 202 ? 500 : 200), "\(answer) \(read)")
            }
        }
    }
}
