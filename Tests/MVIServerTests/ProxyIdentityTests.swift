import MVI
import MVITesting
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("Subjects named by a proxy", .timeLimit(.minutes(10)))
struct ProxyIdentityTests {
    private struct Made: Decodable {
        var id: String
        var token: String?
    }

    private static let trusting: @Sendable (inout ServerSettings) -> Void = {
        $0.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 }
        $0.identityHeader = "X-Remote-User"
    }

    /// The bytes of ISO 8859-1, which Swift's decoding would make equal texts.
    private static let notUTF8 = [
        Array("m".utf8) + [0xFC] + Array("ller".utf8), Array("m".utf8) + [0xF6] + Array("ller".utf8),
    ]
    private static let (composed, decomposed) = (Array("\u{E9}".utf8), Array("e\u{301}".utf8))

    /// Sends a request over a connection of its own, with the proxy's field once for each name.
    private func send(_ request: TestRequest, as names: [[UInt8]], to server: TestServer) async throws -> TestResponse {
        var head = "\(request.method) \(request.target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        for field in request.fields { head += "\(field.name): \(field.value)\r\n" }
        if !request.body.isEmpty { head += "Content-Length: \(request.body.count)\r\n" }
        let fields = names.flatMap { Array("X-Remote-User: ".utf8) + $0 + Array("\r\n".utf8) }
        let bytes = Array(head.utf8) + fields + Array("\r\n".utf8) + request.body
        let response = try await offThePool { [port = server.port] in
            let connection = try Connection(port: port)
            try connection.send(bytes)
            return try connection.response(to: request.method)
        }
        Contract.check(request, response)
        return response
    }

    private func send(_ request: TestRequest, as name: String, to server: TestServer) async throws -> TestResponse {
        try await send(request, as: [Array(name.utf8)], to: server)
    }

    /// A session that the field signed in, shared by the subject's clients.
    private func session(of name: [UInt8], at server: TestServer) async throws -> Credential {
        let order = TestRequest("POST", "/sessions", [RefusalCase.json], body: #"{"shared":true}"#)
        let response = try await send(order, as: [name], to: server)
        try #require(response.status == 201)
        let made = try response.json(Made.self)
        let token = try #require(made.token)
        return Credential(id: made.id, field: ("Authorization", "Bearer \(token)"), secret: token)
    }

    /// Names that are not anna's, or are ambiguous.
    private static let others: [[[UInt8]]] = [
        [], [[]], [Array("anna".utf8), Array("anna".utf8)], [Array("anna".utf8), Array("bob".utf8)],
        [[], Array("anna".utf8)], [Array("bob".utf8)], [Array("Anna".utf8)], [notUTF8[0]],
    ]

    @Test(
        "a warning names the addresses from which other programs than a proxy could name users",
        arguments: [
            ("127.0.0.1", "127.0.0.1"), ("127.0.0.0/8", "127.0.0.0/8"), ("127.8.0.1", "127.8.0.1"), ("::1", "::1"),
            ("10.0.0.0/8,192.0.2.1", "10.0.0.0/8"), ("0.0.0.0/0", "0.0.0.0/0"), ("fd00::/8", "fd00::/8"),
            ("192.0.2.0/23", "192.0.2.0/23"), ("192.0.2.0/24,2001:db8::/64,10.1.2.3", nil),
        ] as [(String, String?)])
    func doubtfulProxies(addresses: String, named: String?) throws {
        let log = LogKeeper()
        var settings = try ServerSettings.load(flags: ["trusted-proxy": addresses], environment: [:])
        StartLog.warn(ofProxiesIn: settings, log.logger)
        #expect(log.lines.isEmpty)
        settings.identityHeader = "X-Remote-User"
        StartLog.warn(ofProxiesIn: settings, log.logger)
        #expect(log.lines.count == (named == nil ? 0 : 1))
        #expect(named.map { log.lines.first?.contains($0) == true } ?? true, "\(log.lines)")
    }

    @Test("names that differ in a byte are different subjects, also where Unicode calls them the same")
    func bytes() async throws {
        try await TestServer.run(.socket, Self.trusting) { server in
            let first = try await session(of: Self.composed, at: server)
            let second = try await session(of: Self.decomposed, at: server)
            #expect(first.id != second.id)
            #expect(try await session(of: Self.composed, at: server).id == first.id)
            let describe = first.request("GET", "/sessions/current")
            #expect(try await send(describe, as: [Self.composed], to: server).status == 200)
            #expect(try await send(describe, as: [Self.decomposed], to: server).problem == "identity-rejected")
        }
    }

    @Test("a name that is not UTF-8 or is repeated signs in no subject, and makes no anonymous session")
    func unclear() async throws {
        try await TestServer.run(.socket, Self.trusting) { server in
            for names in Self.notUTF8.map({ [$0] }) + [[Array("anna".utf8), Array("anna".utf8)]] {
                for body in ["", #"{"shared":true}"#, #"{"credential":"cookie"}"#, #"{"identity":"x"}"#] {
                    let order = TestRequest("POST", "/sessions", [RefusalCase.json], body: body)
                    #expect(try await send(order, as: names, to: server).problem == "identity-rejected", "\(body)")
                }
                let anonymous = try await server.anonymousSession()
                let signIn = anonymous.request("PUT", "/sessions/current/identity", [RefusalCase.json], body: "{}")
                #expect(try await send(signIn, as: names, to: server).problem == "identity-rejected")
                let read = anonymous.request("GET", "/features/probe/state")
                #expect(try await send(read, as: names, to: server).problem == "identity-rejected")
            }
        }
    }

    @Test(
        "every route refuses a session that the field signed in, unless the field names the subject once",
        arguments: RefusalCase.ofSession.filter { !["signIn", "signOut", "endSession"].contains($0.operation) })
    func routes(_ asked: RefusalCase.Asked) async throws {
        try await TestServer.run(.socket, Self.trusting) { server in
            let session = try await session(of: Array("anna".utf8), at: server)
            // A stream of the session needs a state to show.
            _ = try await send(session.intent(#"{"type":"increment"}"#), as: "anna", to: server)
            let request = session.request(asked.method, asked.target, asked.fields, body: asked.body)
            for names in Self.others {
                #expect(try await send(request, as: names, to: server).problem == "identity-rejected", "\(names)")
            }
            let wait = session.request(
                asked.method, asked.target, asked.fields + [("Prefer", "wait=5"), ("If-None-Match", "\"x\"")],
                body: asked.body)
            #expect(try await send(wait, as: [], to: server).problem == "identity-rejected")
            #expect(try await send(request, as: "anna", to: server).status < 300)
        }
    }

    @Test("an untrusted proxy's field counts as missing")
    func untrusted() async throws {
        let world = World()
        var session: Credential?
        try await TestServer.run(.socket, in: world, Self.trusting) { server in
            session = try await self.session(of: Array("anna".utf8), at: server)
            // Stored sessions survive the server.
            _ = try await send(
                try #require(session).intent(#"{"type":"increment"}"#), as: "anna", to: server)
        }
        try await TestServer.run(.socket, in: world, { $0.identityHeader = "X-Remote-User" }) { server in
            let read = try #require(session).request("GET", "/features/probe/state")
            #expect(try await send(read, as: "anna", to: server).problem == "identity-rejected")
        }
    }

    @Test(
        "a client that the proxy has signed out may end its session; other subjects may not",
        arguments: [
            "/sessions/current", "/sessions/current/identity", "/sessions/current?everywhere=true",
        ])
    func ending(_ target: String) async throws {
        try await TestServer.run(.socket, Self.trusting) { server in
            let session = try await session(of: Array("anna".utf8), at: server)
            let end = session.request("DELETE", target)
            for names in [[Array("bob".utf8)], [Self.notUTF8[0]], [Array("anna".utf8), Array("bob".utf8)]] {
                #expect(try await send(end, as: names, to: server).problem == "identity-rejected")
            }
            #expect(try await send(end, as: [], to: server).status == 204)
        }
    }

    @Test("a cookie without the field does not return its subject's session")
    func cookie() async throws {
        try await TestServer.run(.socket, Self.trusting) { server in
            let order = TestRequest("POST", "/sessions", [RefusalCase.json], body: #"{"credential":"cookie"}"#)
            let made = try await send(order, as: "anna", to: server)
            let id = try made.json(Made.self).id
            let again = order.with("Cookie", String(try #require(made["set-cookie"]).prefix { $0 != ";" }))
            let same = try await send(again, as: "anna", to: server)
            #expect(same.status == 200)
            #expect(try same.json(Made.self).id == id)
            let other = try await send(again, as: [], to: server)
            #expect(other.status == 201)
            #expect(try other.json(Made.self).id != id)
            #expect(!other.text.contains("anna"))
        }
    }

    @Test("an anonymous session needs no field and accepts no subject")
    func anonymous() async throws {
        try await TestServer.run(.socket, Self.trusting) { server in
            let read = try await server.session().request("GET", "/features/probe/state")
            #expect(try await send(read, as: [], to: server).status == 200)
            #expect(try await send(read, as: "", to: server).status == 200)
            #expect(try await send(read, as: "anna", to: server).problem == "identity-rejected")
        }
    }

    /// Signs in by the field, and by words for clients that bypass the proxy.
    private struct Both: Authenticator {
        var subjectField: String? { "x-remote-user" }

        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            if let subject = proof.field("x-remote-user") { return Principal(issuer: "proxy", subject: subject) }
            return try await WordAuthenticator().authenticate(proof)
        }

        func needsSubjectField(_ principal: Principal) -> Bool { principal.issuer == "proxy" }
    }

    @Test("a session that was signed in by other means needs no field and accepts no other subject")
    func otherwise() async throws {
        try await TestServer.run(.socket, authenticator: Both(), Self.trusting) { server in
            let read = try await server.session(of: "anna").request("GET", "/features/probe/state")
            #expect(try await send(read, as: [], to: server).status == 200)
            #expect(try await send(read, as: "anna", to: server).status == 200)
            #expect(try await send(read, as: "bob", to: server).problem == "identity-rejected")
            #expect(try await send(read, as: [Self.notUTF8[0]], to: server).problem == "identity-rejected")
            let named = try await session(of: Array("anna".utf8), at: server)
            let own = named.request("GET", "/features/probe/state")
            #expect(try await send(own, as: [], to: server).problem == "identity-rejected")
        }
    }

    @Test("without the field, the list of features is that of an anonymous client")
    func features() async throws {
        let content: (Gate) throws -> ServerContent = { gate in
            ServerContent(features: [Probe(gate: gate).requires { $0.subject == "anna" }])
        }
        try await TestServer.run(.socket, content: content, Self.trusting) { server in
            let session = try await session(of: Array("anna".utf8), at: server)
            let list = session.request("GET", "/features")
            #expect(try await send(list, as: "anna", to: server).text.contains("probe"))
            for names in Self.others {
                #expect(try await send(list, as: names, to: server).text.contains("probe") == false, "\(names)")
            }
        }
    }

    @Test("the session's owner trusts the node that checked the proxy's field")
    func nodes() async throws {
        try await NodePair.run(.socket, near: Self.trusting, far: Self.trusting) { pair in
            let session = try await session(of: Array("anna".utf8), at: pair.far)
            let intent = session.intent(#"{"type":"increment"}"#)
            #expect(try await send(intent, as: "anna", to: pair.far).status == 202)
            let read = session.request("GET", "/features/probe/state")
            #expect(try await send(read, as: "anna", to: pair.near).status == 200)
            let keep = session.intent(#"{"type":"keep"}"#, to: "keeper")
            #expect(try await send(keep, as: "anna", to: pair.far).status == 202)
            pair.meet()
            #expect(try await send(intent, as: "anna", to: pair.near).status == 202)
            #expect(try await send(intent, as: [], to: pair.near).problem == "identity-rejected")
            #expect(pair.recorder.sent.count == 1)
        }
    }
}
