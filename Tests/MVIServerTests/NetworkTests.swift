import Locking
import MVI
import Networks
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

/// Limits for clients of one network in favor of others. A trusted proxy reports each client's address.
@Suite("Clients of several networks")
struct NetworkTests {
    private static let proxied: @Sendable (inout ServerSettings) -> Void = { settings in
        settings.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 }
    }

    private static func from(_ address: String) -> (String, String) { ("X-Forwarded-For", address) }

    private static func session(_ server: TestServer, _ address: String) async throws -> Credential {
        struct Made: Decodable { var id, token: String }
        let response = try await server.send(TestRequest("POST", "/sessions", [from(address)]))
        try #require(response.status == 201)
        let made = try response.json(Made.self)
        return Credential(id: made.id, field: ("Authorization", "Bearer \(made.token)"), secret: made.token)
    }

    @Test(arguments: Depth.allCases)
    func `one network waits in an eighth of the places, for intents as for states`(_ depth: Depth) async throws {
        try await TestServer.run(
            depth,
            { settings in
                Self.proxied(&settings)
                settings.maxWaits = 24
            }
        ) { server in
            var waiting: [Task<TestResponse, any Error>] = []
            func begin(_ request: TestRequest) async throws {
                let count = server.sessions.environment.openWaits
                waiting.append(Task { try await server.send(request) })
                while server.sessions.environment.openWaits == count { await Task.yield() }
            }
            for _ in 0..<3 {
                let session = try await Self.session(server, "192.0.2.1")
                try await begin(session.intent(#"{"type":"load"}"#, [("Prefer", "wait=10"), Self.from("192.0.2.1")]))
            }
            let more = try await Self.session(server, "192.0.2.1")
            let at = try await server.send(more.request("GET", "/features/probe/state", [Self.from("192.0.2.1")]))
            let tag = try #require(at["etag"])
            let poll: (String) -> TestRequest = { address in
                more.request(
                    "GET", "/features/probe/state",
                    [("If-None-Match", tag), ("Prefer", "wait=10"), Self.from(address)])
            }
            #expect(try await server.send(poll("192.0.2.1")).problem == "too-many-waits")
            let intent = try await server.send(
                more.intent(#"{"type":"load"}"#, [("Prefer", "wait=10"), Self.from("192.0.2.1")]))
            #expect(intent.status == 202 && intent["preference-applied"] == nil)
            // Another network has its own.
            let other = try await Self.session(server, "203.0.113.9")
            try await begin(other.intent(#"{"type":"load"}"#, [("Prefer", "wait=10"), Self.from("203.0.113.9")]))
            server.gate.open()
            for task in waiting { #expect(try await task.value.status == 200) }
            while server.sessions.environment.openWaits > 0 { await Task.yield() }
        }
    }

    @Test func `a network that waits in most places answers early for one that has fewer`() async throws {
        try await TestServer.run(
            .socket,
            { settings in
                Self.proxied(&settings)
                (settings.maxWaits, settings.maxWaitsPerSession) = (8, 8)
            }
        ) { server in
            let early = Lock(0)
            let many = try await Self.session(server, "192.0.2.1")
            let waiting = (0..<7).map { _ in
                Task {
                    let answer = try await server.send(
                        many.intent(#"{"type":"load"}"#, [("Prefer", "wait=10"), Self.from("192.0.2.1")]))
                    if answer.status == 202 { early.withLock { $0 += 1 } }
                }
            }
            while server.sessions.environment.openWaits < 7 { await Task.yield() }
            let one = try await Self.session(server, "203.0.113.9")
            let task = Task {
                try await server.send(
                    one.intent(#"{"type":"load"}"#, [("Prefer", "wait=10"), Self.from("203.0.113.9")]))
            }
            while early.withLock({ $0 }) == 0 { await Task.yield() }
            server.gate.open()
            #expect(try await task.value.status == 200)
            for task in waiting { _ = try await task.value }
            #expect(early.withLock { $0 } == 1)
        }
    }

    @Test func `streams of the network that has most go when others need the last places`() async throws {
        try await TestServer.run(
            .socket,
            { settings in
                Self.proxied(&settings)
                settings.maxStreams = 16
            }
        ) { server in
            let many = try await Self.session(server, "2001:db8:0:1::1")
            _ = try await server.send(many.request("GET", "/features/probe/state", [Self.from("2001:db8:0:1::1")]))
            @Sendable func open(_ session: Credential, _ address: String) throws -> Connection {
                let stream = try Connection(port: server.port)
                try stream.send(session.request("GET", "/events", [Self.from(address)]))
                _ = try stream.head()
                _ = try stream.event("hello")
                return stream
            }
            var streams: [Connection] = []
            for number in 0..<15 {
                let address = "2001:db8:0:1::\(number)"
                let session = try await Self.session(server, address)
                streams.append(try await offThePool { try open(session, address) })
            }
            let one = try await Self.session(server, "203.0.113.9")
            let stream = try await offThePool { try open(one, "203.0.113.9") }
            let newest = streams[14]
            let farewell = try await offThePool { try newest.event("goaway") }
            #expect(String(decoding: farewell.data, as: UTF8.self).contains(#""busy""#))
            // The network that has most gets no more.
            let refused = try await server.send(
                many.request("GET", "/events", [("Prefer", "problem"), Self.from("2001:db8:0:1::ff")]))
            #expect(refused.problem == "too-many-connections")
            withExtendedLifetime((streams, stream)) {}
        }
    }

    @Test(arguments: Depth.allCases)
    func `kept sessions of the network that kept most give way to one of another`(_ depth: Depth) async throws {
        try await TestServer.run(
            depth, in: World(kept: MemoryJournal(sessionLimit: 40)),
            { settings in
                Self.proxied(&settings)
                settings.sessionRate = 0
            }
        ) { server in
            func add(_ session: Credential, _ address: String) async throws -> TestResponse {
                try await server.send(session.intent(#"{"type":"increment"}"#, [Self.from(address)]))
            }
            var made: [Credential] = []
            var refusal: TestResponse?
            for number in 1...60 where refusal == nil {
                let address = "2001:db8:0:\(String(number, radix: 16))::1"
                let session = try await Self.session(server, address)
                let answer = try await add(session, address)
                if answer.status == 202 { made.append(session) } else { refusal = answer }
            }
            // A sixteenth is for those who sign in.
            #expect(made.count == 38 && refusal?.problem == "too-many-sessions")
            let user = try await Self.session(server, "198.51.100.7")
            let read = try await server.send(
                user.request("GET", "/features/probe/state", [Self.from("198.51.100.7")]))
            #expect(read.status == 200)
            #expect(try await add(user, "198.51.100.7").status == 202)
            // The newest ones of the other network ended, and its clients are notified.
            var ended = 0
            for session in made {
                let answer = try await server.send(session.request("GET", "/features/probe/state"))
                #expect(answer.status == 200 || answer.problem == "session-ended")
                if answer.status != 200 { ended += 1 }
            }
            #expect(ended == 4)
        }
    }

    @Test func `anonymous sessions that were used once, and not lately, make room where no network has more`()
        async throws
    {
        let journal = MemoryJournal(sessionLimit: 8)
        let world = World(kept: journal)
        try await TestServer.run(.memory, in: world, { Self.proxied(&$0) }) { server in
            func add(_ number: Int, _ session: Credential) async throws -> TestResponse {
                try await server.send(session.intent(#"{"type":"increment"}"#, [Self.from("192.0.2.\(number)")]))
            }
            var sessions: [Credential] = []
            for number in 1...8 {
                sessions.append(try await Self.session(server, "192.0.2.\(number)"))
                #expect(try await add(number, sessions[number - 1]).status == 202)
            }
            // One is used for longer.
            server.time.advance(by: .seconds(400))
            #expect(try await add(1, sessions[0]).status == 202)
            let early = try await Self.session(server, "192.0.2.9")
            #expect(try await add(9, early).problem == "too-many-sessions")
            server.time.advance(by: .seconds(601))
            #expect(try await add(9, early).status == 202)
            #expect(try await add(1, sessions[0]).status == 202)
            #expect(try await add(2, sessions[1]).problem == "session-ended")
        }
    }

    @Test(arguments: Depth.allCases)
    func `an address asks the journal for so many tokens of no session, and others for theirs`(
        _ depth: Depth
    ) async throws {
        try await TestServer.run(
            depth,
            { settings in
                Self.proxied(&settings)
                settings.sessionRate = 1
            }
        ) { server in
            func ask(_ address: String, _ path: String, _ token: Int = .random(in: 0..<1_000_000)) async throws
                -> TestResponse
            {
                let text = String(repeating: "A", count: 36) + String(1_000_000 + token)
                return try await server.send(
                    TestRequest("GET", path, [("Authorization", "Bearer \(text)"), Self.from(address)]))
            }
            let session = try await Self.session(server, "192.0.2.1")
            #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
            for _ in 0..<30 { #expect(try await ask("192.0.2.1", "/sessions/current").problem == "session-not-found") }
            for path in ["/sessions/current", "/features/probe/state"] {
                let refused = try await ask("192.0.2.1", path)
                #expect(refused.problem == "too-many-requests" && refused["ratelimit"] == #""tokens";r=0;t=1"#)
            }
            // The list is public, and an unknown cookie counts as a token as well.
            #expect(try await ask("192.0.2.1", "/features").status == 200)
            let cookie = ("Cookie", "mvi_session=" + String(repeating: "A", count: 43))
            let made = try await server.send(
                TestRequest(
                    "POST", "/sessions", [("Content-Type", "application/json"), cookie, Self.from("192.0.2.1")],
                    body: #"{"credential":"cookie"}"#))
            #expect(made.problem == "too-many-requests" && made["ratelimit"] == #""tokens";r=0;t=1"#)
            // A browser's stream reconnects, whereas it would stop at a 429.
            let stream = try await ask("192.0.2.1", "/events")
            #expect(stream.status == 200 && stream.text.contains(#""reason":"busy""#))
            // A session in memory costs nothing, another address has its own rate, and more is allowed with time.
            #expect(
                try await server.send(session.request("GET", "/sessions/current", [Self.from("192.0.2.1")])).status
                    == 200)
            #expect(try await ask("192.0.2.2", "/sessions/current").problem == "session-not-found")
            server.time.advance(by: .seconds(1))
            #expect(try await ask("192.0.2.1", "/sessions/current").problem == "session-not-found")
            #expect(try await ask("192.0.2.1", "/sessions/current").problem == "too-many-requests")
        }
    }

    @Test(arguments: Depth.allCases)
    func `a key that names nothing counts as an intent before its maker is asked`(_ depth: Depth) async throws {
        try await TestServer.run(depth, { $0.intentRate = 2 }) { server in
            let requests: [(Credential, Int) -> TestRequest] = [
                { $0.intent(#"{"type":"weigh","weight":1}"#, to: "item:\($1)") },
                { $0.request("GET", "/features/item:\($1)/state") },
                { $0.request("DELETE", "/features/item:\($1)/state") },
                { $0.request("GET", "/features/item:\($1)/events", [("Prefer", "problem")]) },
                { $0.request("HEAD", "/features/item:\($1)/state") },
            ]
            for request in requests {
                let session = try await server.session()
                var statuses: [Int] = []
                for key in 100..<111 { statuses.append(try await server.send(request(session, key)).status) }
                #expect(statuses == Array(repeating: 404, count: 10) + [429])
                // What the session has is read all the same.
                #expect(try await server.send(session.request("GET", "/features/probe/state")).status == 200)
            }
        }
    }
}
