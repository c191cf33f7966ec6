import Testing

@testable import MVIServer

@Suite("Sessions", .timeLimit(.minutes(10)))
struct SessionTests {
    struct Made: Decodable {
        var id: String
        var token: String?
        var expiresAt: String
    }
    struct Described: Decodable {
        var id: String
        var expiresAt: String
        var stores: [String]
        var streams: Int
    }

    private func make(_ body: String, _ fields: [(name: String, value: String)] = []) -> TestRequest {
        TestRequest("POST", "/sessions", [("Content-Type", "application/json")] + fields, body: body)
    }

    @Test(
        "a bearer session gets a token and no cookie",
        arguments: ["", "{}", #"{"credential":"bearer"}"#, #"{"credential":null}"#], Depth.allCases)
    func bearer(body: String, depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let response = try await server.send(
                body.isEmpty ? TestRequest("POST", "/sessions") : make(body))
            #expect(response.status == 201)
            #expect(response["location"] == "/sessions/current")
            #expect(response["set-cookie"] == nil)
            #expect(response["cache-control"] == "no-store")
            let made = try response.json(Made.self)
            #expect(made.token?.utf8.count == 73)
            #expect(made.expiresAt == "2026-01-03T00:16:40Z")
        }
    }

    @Test("a cookie session gets a cookie and no token; with it, the same session again", arguments: Depth.allCases)
    func cookie(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let first = try await server.send(make(#"{"credential":"cookie"}"#))
            #expect(first.status == 201)
            let made = try first.json(Made.self)
            #expect(made.token == nil)
            let cookie = try #require(first["set-cookie"])
            #expect(cookie.hasPrefix("mvi_session="))
            #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Max-Age=86400"))
            let pair = String(cookie.prefix { $0 != ";" })
            let again = try await server.send(make(#"{"credential":"cookie"}"#, [("Cookie", "a=b; \(pair); c=d")]))
            #expect(again.status == 200)
            #expect(again["location"] == nil)
            #expect(try again.json(Made.self).id == made.id)
            #expect(again["set-cookie"] == cookie)
            // A token is asked for, and another session has it.
            let other = try await server.send(make("{}", [("Cookie", pair)]))
            #expect(other.status == 201)
            #expect(try other.json(Made.self).id != made.id)
        }
    }

    @Test("under a public https address the cookie is bound to the host and to TLS", arguments: Depth.allCases)
    func secureCookie(depth: Depth) async throws {
        try await TestServer.run(depth, { $0.publicURL = Origin(setting: "https://mvi.example.com") }) { server in
            let cookie = try #require(try await server.send(make(#"{"credential":"cookie"}"#))["set-cookie"])
            #expect(cookie.hasPrefix("__Host-mvi_session="))
            #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=86400"))
            let session = try await server.cookieSession()
            #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
            // Without the prefix it is another cookie.
            let bare = session.field.value.replacing("__Host-", with: "")
            #expect(
                try await server.send(TestRequest("GET", "/sessions/current", [("Cookie", bare)])).status == 401)
        }
    }

    @Test(
        "a cookie without a port is replaced once by one of the port, and another server's stays",
        arguments: Depth.allCases)
    func portOfCookie(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let host = (name: "Host", value: "localhost:31712")
            func cookies(_ response: TestResponse) -> [String] {
                response.fields.filter { $0.name.lowercased() == "set-cookie" }.map(\.value)
            }
            let terms = "; Path=/; HttpOnly; SameSite=Lax; Max-Age="
            // This server made it before its cookies had ports.
            let session = try await server.cookieSession()
            let replaced = try await server.send(session.request("GET", "/features/probe/state", [host]))
            #expect(replaced.status == 200)
            let own = "mvi_session_31712=\(session.secret)"
            #expect(cookies(replaced) == ["\(own)\(terms)86400", "mvi_session=\(terms)0"])
            // The cookie of the port counts, and the other is another server's.
            let foreign = "mvi_session=\(String(repeating: "A", count: 43))"
            func both(_ method: String) -> TestRequest {
                TestRequest(method, "/sessions/current", [host, ("Cookie", "\(foreign); \(own)")])
            }
            let described = try await server.send(both("GET"))
            #expect(described.status == 200 && cookies(described).isEmpty)
            #expect(cookies(try await server.send(both("DELETE"))) == ["mvi_session_31712=\(terms)0"])
            let refused = try await server.send(TestRequest("GET", "/sessions/current", [host, ("Cookie", foreign)]))
            #expect(refused.problem == "session-not-found" && cookies(refused).isEmpty)
            let made = try await server.send(make(#"{"credential":"cookie"}"#, [host, ("Cookie", foreign)]))
            #expect(made.status == 201 && cookies(made).count == 1)
            #expect(cookies(made).first?.hasPrefix("mvi_session_31712=") == true)
            // At a sign-in and a deletion the old name goes, too.
            let other = try await server.cookieSession()
            let signedIn = try await server.send(
                TestRequest(
                    "PUT", "/sessions/current/identity", [host, other.field, RefusalCase.json],
                    body: #"{"identity":"anna"}"#))
            #expect(cookies(signedIn).count == 2 && cookies(signedIn).last == "mvi_session=\(terms)0")
            #expect(cookies(signedIn).first?.contains(other.secret) == false)
            let last = try await server.cookieSession()
            let ended = try await server.send(last.request("DELETE", "/sessions/current", [host]))
            #expect(cookies(ended) == ["mvi_session=\(terms)0"])
        }
    }

    @Test(
        "two servers of one host on two ports keep the visitors of one browser")
    func twoPorts() async throws {
        try await TestServer.run(.socket) { first in
            try await TestServer.run(.socket) { second in
                var jar: [String: String] = [:]
                for round in 1...3 {
                    for server in [first, second] {
                        let fields = [
                            (name: "Host", value: "localhost:\(server.port)"), RefusalCase.json,
                            (name: "Cookie", value: jar.map { "\($0.key)=\($0.value)" }.joined(separator: "; ")),
                        ]
                        let session = try await server.send(
                            TestRequest("POST", "/sessions", fields, body: #"{"credential":"cookie"}"#))
                        #expect(session.status == (round == 1 ? 201 : 200))
                        let pair = try #require(session["set-cookie"]).prefix { $0 != ";" }.split(separator: "=")
                        jar[String(pair[0])] = String(pair[1])
                    }
                }
                #expect(jar.count == 2)
            }
        }
    }

    @Test("the cookie is set again when half of its life has passed", arguments: Depth.allCases)
    func refresh(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.cookieSession()
            let request = session.request("GET", "/features/probe/state")
            #expect(try await server.send(request)["set-cookie"] == nil)
            server.time.advance(by: .seconds(12 * 3600))
            #expect(try await server.send(request)["set-cookie"]?.contains(session.secret) == true)
            #expect(try await server.send(request)["set-cookie"] == nil)
            server.time.advance(by: .seconds(12 * 3600))
            // With a refusal, too.
            let refused = try await server.send(session.request("GET", "/features/nobody/state"))
            #expect(refused.status == 404)
            #expect(refused["set-cookie"]?.contains(session.secret) == true)
        }
    }

    @Test("a session's description has its stores and its time of expiry", arguments: Depth.allCases)
    func describe(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.request("GET", "/features/item:2/state"))
            _ = try await server.send(session.intent(#"{"type":"increment"}"#))
            server.time.advance(by: .seconds(60))
            let response = try await server.send(session.request("GET", "/sessions/current"))
            #expect(response.status == 200)
            let described = try response.json(Described.self)
            #expect(described.id == session.id)
            #expect(described.stores == ["item:2", "probe"])
            #expect(described.streams == 0)
            #expect(described.expiresAt == "2026-01-03T00:17:40Z")
        }
    }

    @Test("each request extends a session's life, and it expires after the last one", arguments: Depth.allCases)
    func expiry(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            for _ in 0..<3 {
                server.time.advance(by: .seconds(23 * 3600))
                #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
            }
            server.time.advance(by: .seconds(24 * 3600))
            #expect(try await server.send(session.request("GET", "/sessions/current")).problem == "session-ended")
            server.time.advance(by: .seconds(600))
            #expect(try await server.send(session.request("GET", "/sessions/current")).problem == "session-not-found")
        }
    }

    @Test("a deleted session is gone: its streams get 204, and its cookie is deleted", arguments: Depth.allCases)
    func deletion(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.cookieSession()
            let deletion = try await server.send(session.request("DELETE", "/sessions/current"))
            #expect(deletion.status == 204)
            #expect(deletion["set-cookie"]?.hasPrefix("mvi_session=;") == true)
            for target in ["/events", "/features/probe/events"] {
                for method in ["GET", "HEAD"] {
                    let stream = try await server.send(session.request(method, target))
                    #expect(stream.status == 204)
                    #expect(stream["set-cookie"] == nil)
                }
            }
        }
    }

    @Test("a refused cookie stays, since a newer one may have replaced it meanwhile", arguments: Depth.allCases)
    func refusedCookie(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let ended = try await server.cookieSession()
            #expect(try await server.send(ended.request("DELETE", "/sessions/current")).status == 204)
            let unknown = TestRequest(
                "GET", "/sessions/current", [("Cookie", "mvi_session=\(String(repeating: "A", count: 43))")])
            for (request, problem) in [
                (unknown, "session-not-found"), (ended.request("GET", "/sessions/current"), "session-ended"),
                (ended.request("GET", "/events", [("Prefer", "problem")]), nil),
            ] {
                let response = try await server.send(request)
                #expect(response.problem == problem)
                #expect(response["set-cookie"] == nil)
            }
        }
    }

    @Test("401 names the authentication scheme; other schemes are ignored", arguments: Depth.allCases)
    func schemes(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let refused = try await server.send(TestRequest("GET", "/events"))
            #expect(refused["www-authenticate"] == #"Bearer realm="mvi""#)
            #expect(refused["vary"] == "Authorization, Cookie, Origin")
            let cookie = try await server.cookieSession()
            let basic = cookie.request("GET", "/sessions/current", [("Authorization", "Basic YTpi")])
            #expect(try await server.send(basic).status == 200)
            let bearer = try await server.session()
            let lower = TestRequest("GET", "/sessions/current", [("Authorization", "bearer  \(bearer.secret)")])
            #expect(try await server.send(lower).status == 200)
        }
    }
}
