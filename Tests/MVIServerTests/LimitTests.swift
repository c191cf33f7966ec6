import Locking
import Testing

@testable import MVIServer

/// One limit of the table in `docs/deployment.md`: the answers at the limit and one above it.
struct LimitCase: Sendable, CustomTestStringConvertible {
    let name: String
    let settings: @Sendable (inout ServerSettings) -> Void
    /// The expected answer at the limit, and the status and problem one above it.
    let atLimit: Int
    let past: (status: Int, problem: String)
    let ask: @Sendable (TestServer) async throws -> (atLimit: TestResponse, past: TestResponse)

    var testDescription: String { name }

    init(
        _ name: String, at status: Int, past: (Int, String),
        settings: @escaping @Sendable (inout ServerSettings) -> Void = { _ in },
        ask: @escaping @Sendable (TestServer) async throws -> (atLimit: TestResponse, past: TestResponse)
    ) {
        (self.name, atLimit, self.past) = (name, status, (past.0, past.1))
        (self.settings, self.ask) = (settings, ask)
    }

    private static func padded(_ json: String, to count: Int) -> String {
        json + String(repeating: " ", count: count - json.utf8.count)
    }

    private static func nested(_ depth: Int) -> String {
        // The object itself is the first level.
        let arrays = depth - 1
        return #"{"type":"increment","extra":"#
            + String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays) + "}"
    }

    private static let increment = #"{"type":"increment"}"#

    static let all: [LimitCase] = [
        LimitCase(
            "--body-limit", at: 202, past: (413, "body-too-large"), settings: { $0.bodyLimit = 2_000 }
        ) { server in
            let session = try await server.session()
            return (
                try await server.send(session.intent(padded(increment, to: 2_000))),
                try await server.send(session.intent(padded(increment, to: 2_001)))
            )
        },
        LimitCase("the body of POST /sessions", at: 201, past: (413, "body-too-large")) { server in
            func post(_ count: Int) -> TestRequest {
                TestRequest(
                    "POST", "/sessions", [("Content-Type", "application/json")], body: padded("{}", to: count))
            }
            return (try await server.send(post(4_096)), try await server.send(post(4_097)))
        },
        LimitCase("a body where none belongs", at: 200, past: (413, "body-too-large")) { server in
            func get(_ body: String) -> TestRequest { TestRequest("GET", "/features", body: body) }
            return (try await server.send(get("")), try await server.send(get("x")))
        },
        LimitCase("JSON nesting", at: 202, past: (400, "invalid-json")) { server in
            let session = try await server.session()
            return (
                try await server.send(session.intent(nested(128))), try await server.send(session.intent(nested(129)))
            )
        },
        LimitCase("an Idempotency-Key", at: 202, past: (400, "bad-request")) { server in
            let session = try await server.session()
            func post(_ length: Int) -> TestRequest {
                session.intent(increment, [("Idempotency-Key", String(repeating: "k", count: length))])
            }
            return (try await server.send(post(255)), try await server.send(post(256)))
        },
        LimitCase(
            "--max-stores-per-session", at: 200, past: (409, "too-many-stores"),
            settings: { $0.maxStoresPerSession = 3 }
        ) { server in
            let session = try await server.session()
            for id in 1...2 { _ = try await server.send(session.request("GET", "/features/item:\(id)/state")) }
            return (
                try await server.send(session.request("GET", "/features/item:3/state")),
                try await server.send(session.request("GET", "/features/item:4/state"))
            )
        },
        LimitCase(
            "--max-receipts", at: 202, past: (429, "too-many-receipts"), settings: { $0.maxReceipts = 3 }
        ) { server in
            let session = try await server.session()
            func post(_ key: Int) -> TestRequest { session.intent(increment, [("Idempotency-Key", "\(key)")]) }
            for key in 1...2 { _ = try await server.send(post(key)) }
            return (try await server.send(post(3)), try await server.send(post(4)))
        },
        LimitCase(
            "--receipt-bytes", at: 202, past: (429, "too-many-receipts"),
            // A receipt counts 400 bytes and its key twice.
            settings: { $0.receiptBytes = 2 * (400 + 2 * 100) }
        ) { server in
            let session = try await server.session()
            func post(_ letter: String) -> TestRequest {
                session.intent(increment, [("Idempotency-Key", String(repeating: letter, count: 100))])
            }
            _ = try await server.send(post("a"))
            return (try await server.send(post("b")), try await server.send(post("c")))
        },
        LimitCase(
            "--max-state-bytes", at: 202, past: (507, "state-too-large"), settings: { $0.maxStateBytes = 1_024 }
        ) { server in
            let session = try await server.session()
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            let room = 1_024 - state.body.count
            func grow(_ bytes: Int) -> TestRequest { session.intent(#"{"type":"grow","bytes":\#(bytes)}"#) }
            return (try await server.send(grow(room)), try await server.send(grow(room + 1)))
        },
        LimitCase(
            "--outbox-bytes, one turn's labels", at: 202, past: (507, "state-too-large"),
            settings: { $0.outboxBytes = 1_024 }
        ) { server in
            let session = try await server.session()
            let room = 1_024 - #"{"type":"said","text":""}"#.utf8.count
            func say(_ count: Int) -> TestRequest {
                session.intent(#"{"type":"say","text":"\#(String(repeating: "x", count: count))"}"#)
            }
            return (try await server.send(say(room)), try await server.send(say(room + 1)))
        },
        LimitCase(
            "--max-streams", at: 200, past: (503, "too-many-streams"), settings: { $0.maxStreams = 2 }
        ) { server in
            let session = try await server.session()
            try server.holdStream(of: session)
            let other = try await server.session()
            let last = try await server.send(other.request("GET", "/events", [("Prefer", "problem")]))
            try await server.untilStreams(1)
            try server.holdStream(of: session)
            return (last, try await server.send(other.request("GET", "/events", [("Prefer", "problem")])))
        },
        LimitCase(
            "--max-waits", at: 304, past: (429, "too-many-waits"), settings: { $0.maxWaits = 1 }
        ) { server in
            let (one, other) = (try await server.session(), try await server.session())
            func wait(_ session: Credential) async throws -> TestRequest {
                let state = try await server.send(session.request("GET", "/features/probe/state"))
                return session.request(
                    "GET", "/features/probe/state",
                    [("If-None-Match", try #require(state["etag"])), ("Prefer", "wait=5")])
            }
            let (first, second) = (try await wait(one), try await wait(other))
            let last = Task { try await server.send(first) }
            await server.clock.sleepers(atLeast: 1)
            let past = try await server.send(second)
            server.clock.advance(by: .seconds(5))
            return (try await last.value, past)
        },
        LimitCase(
            "--max-sessions, all in use", at: 201, past: (503, "too-many-sessions"), settings: { $0.maxSessions = 2 }
        ) { server in
            try server.holdStream(of: try await server.session())
            let last = try await server.send(TestRequest("POST", "/sessions"))
            struct Made: Decodable { var token: String }
            let token = try last.json(Made.self).token
            try server.holdStream(
                of: Credential(id: "", field: ("Authorization", "Bearer \(token)"), secret: token))
            return (last, try await server.send(TestRequest("POST", "/sessions")))
        },
    ]
}

@Suite("Limits: the answers at each limit and one above it", .timeLimit(.minutes(10)))
struct LimitTests {
    @Test("is accepted, and one more is refused", arguments: LimitCase.all, Depth.allCases)
    func limits(limit: LimitCase, depth: Depth) async throws {
        // Over a socket, the last accepted stream would be read until it ends.
        if depth == .socket, limit.name == "--max-streams" { return }
        try await TestServer.run(depth, limit.settings) { server in
            let answers = try await limit.ask(server)
            #expect(answers.atLimit.status == limit.atLimit)
            #expect(answers.past.status == limit.past.status)
            #expect(answers.past.problem == limit.past.problem)
            #expect(try await server.isServing())
        }
    }
}

extension TestServer {
    /// Waits until a number of streams is open: a stream is closed soon after its client disconnects.
    fileprivate func untilStreams(_ count: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while sessions.environment.openStreams != count {
            try #require(ContinuousClock.now < deadline, "\(sessions.environment.openStreams) streams are open")
            await Task.yield()
        }
    }
}
