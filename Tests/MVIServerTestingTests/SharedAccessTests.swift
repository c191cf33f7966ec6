import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

@Suite("What a caller may do with shared stores", .timeLimit(.minutes(5)))
struct SharedAccessTests {
    private let host = Principal(subject: "ann", claims: ["role": "host"])

    private func run(_ test: (TestServer) async throws -> Void) async throws {
        try await TestServer.run(storage: .memory) { _ in
            FeatureServer {
                Diary().requires { $0.claim("role") == "host" }
                Shared { Wall() }.allows(.everyone)
                Shared { key in key == "none" ? nil : Room(key: key) }.allows(.everyone)
                Shared("safe", existing: true) { key in Safe(key: key) }.allows { who, _, _ in
                    who?.claim("role") == "host"
                }
                Shared("locker", existing: true) { key in Locker(key: key) }.allows { _, _, _ in true }
                Endpoint(.post, "/open/{key}") { request, sessions in
                    try await sessions.send(.fill, to: Safe.self, in: .shared(request.parameter))
                    return .noContent
                }
                Endpoint(.post, "/lock/{key}") { request, sessions in
                    try await sessions.send(.fill, to: Locker.self, in: .shared(request.parameter))
                    return .noContent
                }
            }
        } test: { server in
            try await test(server)
        }
    }

    @Test func `80: a session that may make no more shared stores takes nothing of its address`() async throws {
        try await run { server in
            let (one, two) = (try await server.client(), try await server.client())
            for number in 0..<32 { _ = try await one.store(Room.self, key: "\(number)").state() }
            for number in 0..<256 {
                #expect(try await one.request("GET", "/features/room:a\(number)/state").status == 429)
            }
            #expect(try await two.request("GET", "/features/room:b/state").status == 200)
        }
    }

    @Test(arguments: ["%0Adata%0A", "%00aaaaa", "%0D%0Aaaaa", "%C3%A9aaaa", "aa%C3%A9%C3%A9"])
    func `an id repeats nothing that the server cannot have written`(check: String) async throws {
        try await run { server in
            let client = try await server.client()
            let hello = try await client.events(of: "wall").event("hello")
            let cursor = try #require(hello.split(separator: "\"cursor\":\"").last?.split(separator: "\"").first)
            let part = try #require(cursor.split(separator: "~").last)
            let own = cursor.split(separator: "~")[0]
            let stream = try await client.events(of: "wall&last_event_id=\(own)~\(part.prefix(6))\(check).7")
            let second = try await stream.event("hello")
            let again = try #require(second.split(separator: "\"cursor\":\"").last?.split(separator: "\"").first)
            #expect(again == cursor)
        }
    }

    @Test func `a stream of several features goes on without those of the session that are denied`() async throws {
        try await run { server in
            let guest = try await server.client()
            let events = try await guest.events(of: "diary", "wall")
            #expect(try await events.event("denied").contains("diary"))
            try await events.state(of: guest.store(Wall.self))
        }
    }

    @Test func `80: a key that ran before a sign-in does not run again after it`() async throws {
        try await run { server in
            let client = try await server.client()
            for isSignedIn in [false, true] {
                if isSignedIn { try await client.signIn(as: host) }
                let answer = try await client.request(
                    "POST", "/features/wall/intents", body: #"{"type":"pin","note":"a"}"#,
                    fields: ["Content-Type": "application/json", "Idempotency-Key": "\"k\""])
                #expect(answer.status == 202)
                #expect((answer.fields["idempotency-replayed"] == "true") == isSignedIn)
            }
            #expect(try await client.store(Wall.self).state().notes == ["a"])
        }
    }

    @Test func `who may not use a feature does not learn which of its keys exist`() async throws {
        try await run { server in
            #expect(try await server.request("POST", "/open/a").status == 204)
            let guest = try await server.client()
            for key in ["a", "b"] {
                #expect(try await guest.request("GET", "/features/safe:\(key)/state").status == 403, "\(key)")
                let events = try await guest.events(of: "wall", "safe:\(key)")
                #expect(try await events.event("denied") == #"{"feature":"safe:\#(key)"}"#)
            }
        }
    }

    @Test func `stores that a client may not read take none of a stream's places`() async throws {
        try await run { server in
            let guest = try await server.client()
            let safes = (0..<16).map { "safe:\($0)" }.joined(separator: "&feature=")
            let events = try await guest.events(of: safes, "wall")
            #expect(try await events.event("hello").contains(#""shared":["wall"]"#))
            try await events.state(of: guest.store(Wall.self))
        }
    }

    @Test func `a client does not make a store again that has to exist and was disposed of`() async throws {
        try await run { server in
            let client = try await server.client()
            for _ in 0..<2 {
                #expect(try await server.request("POST", "/lock/a").status == 204)
                #expect(try await client.request("GET", "/features/locker:a/state").status == 200)
                #expect(try await client.request("DELETE", "/features/locker:a/state").status == 204)
                #expect(try await client.request("GET", "/features/locker:a/state").status == 404)
                await #expect(throws: TestServerError.self) { try await client.events(of: "wall", "locker:a") }
            }
        }
    }

    @Test func `HEAD of a stream answers what GET answers`() async throws {
        try await run { server in
            let client = try await server.client()
            for name in ["room:none", "locker:b", "safe:b"] {
                for path in ["/features/\(name)/state", "/features/\(name)/events", "/events?feature=\(name)"] {
                    let status = try await client.request("GET", path).status
                    #expect(try await client.request("HEAD", path).status == status, "\(path)")
                }
            }
        }
    }
}

private struct Diary: Feature {
    struct State: Codable, Equatable, Sendable { var pages = 0 }
    enum Intent: Codable, Sendable { case write }
    static let examples: [Intent] = [.write]
    static let summary = "A diary."
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) { state.pages += 1 }
}

private struct Wall: Feature {
    struct State: Codable, Equatable, Sendable { var notes: [String] = [] }
    enum Intent: Codable, Sendable { case pin(note: String) }
    static let examples: [Intent] = [.pin(note: "a")]
    static let summary = "Notes."
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) {
        if case .pin(let note) = intent { state.notes.append(note) }
    }
}

private struct Room: Feature {
    struct State: Codable, Equatable, Sendable { var fills = 0 }
    enum Intent: Codable, Sendable { case fill }
    static let examples: [Intent] = [.fill]
    static let summary = "A room."
    let key: String
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) { state.fills += 1 }
}

private struct Safe: Feature {
    struct State: Codable, Equatable, Sendable { var fills = 0 }
    enum Intent: Codable, Sendable { case fill }
    static let examples: [Intent] = [.fill]
    static let summary = "A safe."
    let key: String
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) { state.fills += 1 }
}

private struct Locker: Feature {
    struct State: Codable, Equatable, Sendable { var fills = 0 }
    enum Intent: Codable, Sendable { case fill }
    static let examples: [Intent] = [.fill]
    static let summary = "A locker."
    let key: String
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) { state.fills += 1 }
}
