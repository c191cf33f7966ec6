import MVI
import MicroHTTP
import TestSupport
import Testing

@testable import MVIServer

@Suite("MVI-Session: the session that a request is for", .timeLimit(.minutes(10)))
struct OtherSessionTests {
    private static let increment = #"{"type":"increment"}"#

    private static func count(_ session: Credential, _ server: TestServer) async throws -> Int {
        try await server.send(session.request("GET", "/features/probe/state")).json(Probe.State.self).count
    }

    /// Every operation of a session, and its `HEAD` if it has one.
    private static let asked: [RefusalCase.Asked] =
        RefusalCase.ofSession
        + RefusalCase.ofSession.filter { $0.method == "GET" }.map { ($0.operation, "HEAD", $0.target, $0.fields, "") }

    @Test("in its own session each request is served", arguments: asked.indices, Depth.allCases)
    func own(index: Int, depth: Depth) async throws {
        let (_, method, target, fields, body) = Self.asked[index]
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let session = try await server.session()
            // A stream of all stores has a state to show.
            _ = try await server.send(session.intent(Self.increment))
            let response = try await server.send(
                session.request(method, target, fields + [("MVI-Session", session.id)], body: body))
            #expect((200...204).contains(response.status), "\(response.text)")
        }
    }

    @Test(
        "a request for another session has no effect, in memory or not", arguments: asked.indices, Depth.allCases)
    func other(index: Int, depth: Depth) async throws {
        let (_, method, target, fields, body) = Self.asked[index]
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let other = try await server.session()
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"add","amount":3}"#))
            let request = session.request(method, target, fields + [("MVI-Session", other.id)], body: body)
            for isInMemory in [true, false] {
                if !isInMemory { try server.leaveMemory() }
                let refused = try await server.send(request)
                #expect(refused.status == 409 && (method == "HEAD" || refused.problem == "other-session"))
                #expect(refused["vary"]?.hasPrefix("Authorization, Cookie, Origin") == true)
                // The session was neither ended nor signed in, and its store is unchanged.
                #expect(try await Self.count(session, server) == 3)
                let described = try await server.send(session.request("GET", "/sessions/current")).text
                #expect(!described.contains("identity") && described.contains(#""streams":0"#))
            }
        }
    }

    @Test("it waits for a session that is loaded", arguments: Depth.allCases)
    func loading(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            try server.leaveMemory()
            server.journal.holdLoads()
            let request = session.intent(Self.increment, [("MVI-Session", "another")])
            let answer = Task { try await server.send(request) }
            try await server.journal.untilLoadHeld()
            server.journal.releaseLoads()
            #expect(try await answer.value.problem == "other-session")
            #expect(try await Self.count(session, server) == 1)
        }
    }

    @Test(
        "another user's waiting intents do not run in the session of the browser's new cookie",
        arguments: Depth.allCases)
    func nextUser(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let ann = try await server.cookieSession()
            #expect(try await server.signIn(ann, "ann").status == 200)
            let made = try await server.send(
                TestRequest(
                    "POST", "/sessions", [RefusalCase.json, ann.field],
                    body: #"{"credential":"cookie","identity":"bob"}"#))
            #expect(made.status == 201)
            let cookie = String(try #require(made["set-cookie"]).prefix { $0 != ";" })
            let bob = Credential(id: "", field: ("Cookie", cookie), secret: "")
            let waiting = bob.intent(Self.increment, [("MVI-Session", ann.id), ("Idempotency-Key", #""left""#)])
            #expect(try await server.send(waiting).problem == "other-session")
            #expect(try await Self.count(bob, server) == 0)
        }
    }

    @Test("anything but the session's id names another one", arguments: Depth.allCases)
    func forms(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let (id, field) = (session.id, "MVI-Session")
            for fields in [
                [(field, "")], [(field, id.uppercased())], [(field, "\"\(id)\"")], [(field, id + "x")],
                [(field, String(id.dropLast()))], [(field, "\(id), \(id)")], [(field, id), (field, "another")],
                [(field, "another"), (field, id)],
            ] {
                let refused = try await server.send(session.request("GET", "/features/probe/state", fields))
                #expect(refused.problem == "other-session", "\(fields)")
            }
            // Blanks around a value belong to HTTP, which is not used in memory.
            let value = depth == .socket ? " \(id) " : id
            let own = session.request("GET", "/features/probe/state", [("mvi-session", value)])
            #expect(try await server.send(own).status == 200)
        }
    }

    @Test("it is checked after the session and the identity, and before everything else", arguments: Depth.allCases)
    func order(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let session = try await server.session(of: "anna basic 600")
            let other = ("MVI-Session", "another")
            let unknown = TestRequest("GET", "/sessions/current", [("Authorization", RefusalCase.unknownToken), other])
            #expect(try await server.send(unknown).problem == "session-not-found")
            for request in [
                session.intent(Self.increment, [("Sec-Fetch-Site", "cross-site"), other]),
                session.intent(Self.increment, [other], to: "nobody"),
                session.request("POST", "/features/probe/intents", [other], body: "x"),
            ] { #expect(try await server.send(request).problem == "other-session") }
            server.time.advance(by: .seconds(600))
            let expired = session.intent(Self.increment, [other])
            #expect(try await server.send(expired).problem == "identity-expired")
            // Routes that take an expired identity are no exception.
            let end = session.request("DELETE", "/sessions/current", [other])
            #expect(try await server.send(end).problem == "other-session")
        }
    }
}
