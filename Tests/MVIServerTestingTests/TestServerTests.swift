import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import ServiceLifecycle
import Testing

@Suite("A server under test", .timeLimit(.minutes(5)))
struct TestServerTests {
    private let ann = Principal(subject: "ann", claims: ["tier": "premium"])

    private func run(
        _ storage: TestServer.Storage = .memory, _ test: (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run(
            storage: storage, { _ in FeatureServer { Seat().requires { $0.claim("tier") == "premium" } } }, test: test)
    }

    @Test(arguments: [TestServer.Storage.memory, .temporaryFolder], [TestClient.Credential.bearer, .cookie])
    func `sessions go on after a restart, and what came due meanwhile has fired`(
        storage: TestServer.Storage, credential: TestClient.Credential
    ) async throws {
        try await run(storage) { server in
            let seat = try await server.client(as: ann, credential: credential).store(Seat.self)
            try await seat.send(.reserve)
            let port = server.port
            try await server.restart(after: .seconds(599))
            #expect(try await seat.state().holder == "ann" && server.port == port)
            try await server.restart(after: .seconds(1))
            #expect(try await seat.state().holder == nil)
            #expect(server.now == .testStart + .seconds(600))
        }
    }

    @Test(arguments: [TestServer.Storage.memory, .temporaryFolder])
    func `time moves from deadline to deadline, for work and reminders`(storage: TestServer.Storage) async throws {
        try await run(storage) { server in
            let seat = try await server.client(as: ann).store(Seat.self)
            let events = try await seat.events()
            try await seat.send(.reserve)
            try await seat.send(.tick)
            await server.advance(by: .milliseconds(2_999))
            #expect(try await seat.state().ticks == 2)
            await server.advance(by: .milliseconds(1))
            #expect(try await seat.state() == Seat.State(holder: "ann", ticks: 3))
            await server.advance(by: .seconds(597))
            try await events.state(of: seat) { $0.holder == nil }
            #expect(try await events.label(of: seat) == .freed)
        }
    }

    @Test func `a commit that fails is answered so, and a commit is counted`() async throws {
        try await run { server in
            let seat = try await server.client(as: ann).store(Seat.self)
            _ = try await seat.state()
            server.failCommits()
            try await seat.sendRejected(.reserve, status: 503)
            server.allowCommits()
            let count = server.commitCount
            try await seat.send(.reserve)
            #expect(server.commitCount == count + 1)
        }
    }

    @Test func `who signs in is asked for by access rules, and one without an authenticator is told what to do`()
        async throws
    {
        try await run { server in
            let client = try await server.client()
            #expect(try await client.store(Seat.self).read().status == 403)
            try await client.signIn(as: ann)
            #expect(try await client.store(Seat.self).state().holder == nil)
            let error = await #expect(throws: TestServerError.self) { try await server.client(identity: "a JWT") }
            #expect(error?.description.contains("sign in with `client(as: Principal(…))`") == true)
            try await client.signIn(identity: "a JWT")
        } failing: {
            "The server did not sign the client in: 401 The tested server has no authenticator: "
                + "sign in with `client(as: Principal(…))`."
        }
    }

    @Test func `intents that are answered otherwise than expected fail the test`() async throws {
        try await run { server in
            let seat = try await server.client(as: ann).store(Seat.self)
            try await seat.send(.reserve)
            try await seat.send(.reserve)
            try await seat.sendRejected(.reserve, status: 422, code: "full")
            try await seat.sendRejected(.tick)
        } failing: {
            "The intent .reserve to seat was refused: 409 taken The seat is taken."
            "The intent .reserve to seat should be refused with 422 full, but the answer was: 409 taken The seat "
                + "is taken."
            "The intent .tick to seat should be refused, but the answer was: 202 "
        }
    }

    @Test func `an event that does not come says what came`() async throws {
        try await run { server in
            let seat = try await server.client(as: ann).store(Seat.self)
            let events = try await seat.events()
            try await events.event("hello")
            try await server.restart()
            let error = await #expect(throws: TestServerError.self) { try await events.label(of: seat) }
            let text = error?.description ?? ""
            #expect(
                text.hasPrefix(
                    #"No event "label" of seat arrived: the stream has ended. These arrived:"#))
            #expect(text.contains("\n  state {") && text.contains("\n  goaway {"))
        }
    }

    @Test func `services run as long as the server, and one that fails fails the test`() async throws {
        let told = Collected<String>()
        try await TestServer.run { _ in
            FeatureServer(services: [Witness(told: told)]) { Seat() }
        } test: { server in
            #expect(await told.atLeast(1) == ["began"])
            try await server.restart()
            #expect(await told.atLeast(3) == ["began", "ended", "began"])
        }
        #expect(told.all == ["began", "ended", "began", "ended"])
        await #expect(throws: Witness.Broken.self) {
            try await TestServer.run { _ in
                FeatureServer(services: [Witness(told: told, fails: true)]) { Seat() }
            } test: { _ in
                await told.atLeast(5)
            }
        }
    }

    @Test func `a program's command is served with its own settings and a folder of its own`() async throws {
        try await TestServer.run(Program(greeting: "Welcome"), storage: .temporaryFolder) { server in
            let answer = try await server.request("GET", "/greeting")
            #expect(answer.text.hasPrefix("\"Welcome "))
            #expect(answer.text.contains("mvi-test-") && answer.status == 200)
        }
    }

    @Test func `what is wrong with the server is thrown before the test`() async throws {
        let error = await #expect(throws: (any Error).self) {
            try await TestServer.run { _ in
                FeatureServer {
                    Seat(); Seat()
                }
            } test: { _ in
                Issue.record("it ran")
            }
        }
        #expect(error.map { "\($0)" }?.contains("seat") == true)
    }

    /// Runs a test that records issues whose texts begin so, in order.
    private func run(
        _ test: (TestServer) async throws -> Void, @TextsBuilder failing: () -> [String]
    ) async throws {
        let texts = Collected<String>()
        try await withKnownIssue {
            try await run(.memory, test)
        } matching: { issue in
            texts.append(issue.comments.map(\.rawValue).joined())
            return issue.error == nil
        }
        let (all, expected) = (texts.all, failing())
        #expect(all.count == expected.count && zip(all, expected).allSatisfy { $0.hasPrefix($1) }, "\(all)")
    }
}

@resultBuilder
private enum TextsBuilder {
    static func buildBlock(_ texts: String...) -> [String] { texts }
}

struct Seat: Feature {
    struct State: Codable, Equatable, Sendable {
        var holder: String?
        var ticks = 0
    }
    enum Intent: Codable, Sendable { case reserve, tick }
    enum Action: Codable, Sendable { case expire }
    enum Message: Equatable, Sendable { case reserved(by: String), freed, ticked }
    enum Label: Codable, Equatable, Sendable { case freed }

    static let examples: [Intent] = [.reserve, .tick]
    static let labelExamples: [Label] = [.freed]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .reserve:
            guard turn.state.holder == nil else {
                throw Refusal(.conflict, code: "taken", "The seat is taken.")
            }
            turn.dispatch(.reserved(by: turn.principal?.subject ?? "nobody"))
            turn.remind(id: "reservation", after: .seconds(600), .expire)
        case .tick: turn.timer(id: "tick", every: .seconds(1)) { await $0.dispatch(.ticked) }
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        turn.dispatch(.freed)
        turn.publish(.freed)
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .reserved(let holder): state.holder = holder
        case .freed: state.holder = nil
        case .ticked: state.ticks += 1
        }
    }
}

/// Says when it begins and ends.
private struct Witness: Service {
    struct Broken: Error {}
    let told: Collected<String>
    var fails = false

    func run() async throws {
        told.append("began")
        if fails { throw Broken() }
        try await gracefulShutdown()
        told.append("ended")
    }
}

private struct Program: FeatureServerCommand {
    var greeting = "Hello"

    func server(_ start: ServerStart) async throws -> FeatureServer {
        let text = "\(greeting) \(try start.settings.dataFile("names") ?? "nowhere")"
        return FeatureServer {
            Seat()
            Endpoint(.get, "/greeting", summary: "A greeting.") { _, _ in try .json(text) }
        }
    }
}
