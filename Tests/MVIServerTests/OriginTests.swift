import TestSupport
import Testing

@testable import MVIServer

@Suite("Pages of this and other sites", .timeLimit(.minutes(10)))
struct OriginTests {
    private static let listed = "https://app.example.com"
    private static let list: @Sendable (inout ServerSettings) -> Void = {
        $0.allowedOrigins = [Origin(setting: listed)].compactMap { $0 }
    }

    @Test(
        "allowed requests of pages",
        arguments: [
            ["Sec-Fetch-Site": "same-origin"], ["Sec-Fetch-Site": "none"], [:], ["Origin": "http://localhost"],
            ["Origin": "https://LOCALHOST"], ["Origin": "http://localhost:80"], ["Origin": listed],
            ["Origin": listed, "Sec-Fetch-Site": "cross-site"],
        ], Depth.allCases)
    func allowed(fields: [String: String], depth: Depth) async throws {
        try await TestServer.run(depth, Self.list) { server in
            let session = try await server.cookieSession()
            let fields = fields.map { (name: $0.key, value: $0.value) }
            #expect(try await server.send(session.intent(#"{"type":"increment"}"#, fields)).status == 202)
            #expect(try await server.send(session.request("GET", "/features/probe/state", fields)).status == 200)
            #expect(try await server.send(session.request("GET", "/events", fields)).status == 200)
        }
    }

    @Test(
        "refused requests of pages",
        arguments: [
            ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"], ["Origin": "http://localhost:8080"],
            ["Origin": "null"], ["Origin": "https://app.example.com.evil.example"], ["Origin": "x"],
            ["Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"],
        ], Depth.allCases)
    func refused(fields: [String: String], depth: Depth) async throws {
        try await TestServer.run(depth, Self.list) { server in
            let cookie = try await server.cookieSession()
            let bearer = try await server.session()
            let fields = fields.map { (name: $0.key, value: $0.value) }
            for session in [cookie, bearer] {
                let intent = try await server.send(session.intent(#"{"type":"increment"}"#, fields))
                #expect(intent.problem == "cross-site")
            }
            for target in ["/features/probe/state", "/events"] {
                #expect(try await server.send(cookie.request("GET", target, fields)).problem == "cross-site")
                // Browsers do not send a token by themselves, so reading with it is allowed.
                #expect(try await server.send(bearer.request("GET", target, fields)).status == 200)
            }
        }
    }

    @Test("with a public address, that address is compared, not the Host", arguments: Depth.allCases)
    func publicAddress(depth: Depth) async throws {
        try await TestServer.run(depth, { $0.publicURL = Origin(setting: "https://mvi.example.com/") }) { server in
            let session = try await server.session()
            func status(_ origin: String) async throws -> Int {
                try await server.send(session.intent(#"{"type":"increment"}"#, [("Origin", origin)])).status
            }
            #expect(try await status("https://mvi.example.com") == 202)
            #expect(try await status("http://mvi.example.com") == 403)
            #expect(try await status("http://localhost") == 403)
        }
    }

    @Test("a listed origin may read every answer, refusals and streams among them", arguments: Depth.allCases)
    func cors(depth: Depth) async throws {
        try await TestServer.run(depth, Self.list) { server in
            let session = try await server.session()
            let origin = (name: "Origin", value: Self.listed)
            for request in [
                session.request("GET", "/features/probe/state", [origin]), session.request("GET", "/events", [origin]),
                session.request("GET", "/features/nobody/state", [origin]), TestRequest("GET", "/nowhere", [origin]),
                TestRequest("PUT", "/sessions", [origin]), TestRequest("GET", "/features", [origin]),
                TestRequest("POST", "/sessions", [origin]),
            ] {
                let response = try await server.send(request)
                #expect(response["access-control-allow-origin"] == Self.listed, "\(request.target)")
                #expect(response["access-control-expose-headers"]?.contains("ETag, Location") == true)
                #expect(response["access-control-allow-credentials"] == nil)
                #expect(response["vary"]?.contains("Origin") == true)
            }
            let other = try await server.send(TestRequest("GET", "/features", [("Origin", "https://other.example")]))
            #expect(other["access-control-allow-origin"] == nil)
            #expect(other["vary"] == "Origin")
        }
    }

    @Test("a preflight needs no credential", arguments: Depth.allCases)
    func preflight(depth: Depth) async throws {
        try await TestServer.run(depth, Self.list) { server in
            let response = try await server.send(
                TestRequest(
                    "OPTIONS", "/features/probe/intents",
                    [
                        ("Origin", Self.listed), ("Access-Control-Request-Method", "POST"),
                        ("Access-Control-Request-Headers", "authorization, content-type"),
                    ]))
            #expect(response.status == 204)
            #expect(response["access-control-allow-origin"] == Self.listed)
            #expect(response["access-control-allow-methods"] == "POST, OPTIONS")
            let allowed = Set(response["access-control-allow-headers"]?.split(separator: ", ").map(String.init) ?? [])
            #expect(
                allowed == [
                    "Authorization", "Content-Type", "Last-Event-ID", "Idempotency-Key", "Intent-Seq", "Intent-Epoch",
                    "MVI-Session", "If-Match", "If-None-Match", "Prefer", "Cache-Control", "traceparent", "tracestate",
                    "baggage",
                ])
            #expect(response["access-control-max-age"] == "600")
            #expect(response["vary"] == "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
            let other = try await server.send(
                TestRequest(
                    "OPTIONS", "/features/probe/intents",
                    [("Origin", "https://other.example"), ("Access-Control-Request-Method", "POST")]))
            #expect(other.status == 204)
            #expect(other["allow"] == "POST, OPTIONS")
            #expect(other["access-control-allow-origin"] == nil)
            #expect(other["access-control-allow-methods"] == nil)
        }
    }

    @Test("OPTIONS lists the methods of a path and of the server", arguments: Depth.allCases)
    func options(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            for (target, allow) in [
                ("/sessions/current", "GET, HEAD, PUT, DELETE, OPTIONS"), ("/", "GET, HEAD, OPTIONS"),
                ("*", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
            ] {
                let response = try await server.send(TestRequest("OPTIONS", target))
                #expect(response.status == 204)
                #expect(response["allow"] == allow)
            }
        }
    }

    @Test("OPTIONS of an unknown path is refused, including preflights", arguments: Depth.allCases)
    func optionsOfNothing(depth: Depth) async throws {
        try await TestServer.run(depth, Self.list) { server in
            let preflight = [("Origin", Self.listed), ("Access-Control-Request-Method", "GET")]
            for (target, problem) in [
                ("/features/nobody", "feature-not-found"), ("/features/nobody/state", "feature-not-found"),
                ("/features/nobody/intents", "feature-not-found"), ("/features/nobody/events", "feature-not-found"),
                ("/features/item/state", "feature-not-found"), ("/features/probe:1/state", "feature-not-found"),
                ("/features/item:1", "feature-not-found"), ("/features/%ff", "feature-not-found"),
                ("/problems/none", "not-found"), ("/nothing.css", "not-found"),
            ] {
                for fields in [[], preflight] {
                    let response = try await server.send(TestRequest("OPTIONS", target, fields))
                    #expect(response.status == 404, "\(target)")
                    #expect(response.problem == problem, "\(target)")
                    #expect((response["access-control-allow-origin"] == Self.listed) == !fields.isEmpty)
                }
            }
        }
    }

    @Test("OPTIONS of an existing path needs no credential, also for features with keys", arguments: Depth.allCases)
    func optionsOfSomething(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            for (target, allow) in [
                ("/features/item", "GET, HEAD, OPTIONS"), ("/features/item:1/events", "GET, HEAD, OPTIONS"),
                ("/features/probe/intents", "POST, OPTIONS"), ("/problems/busy", "GET, HEAD, OPTIONS"),
                ("/style.css", "GET, HEAD, OPTIONS"),
            ] {
                let response = try await server.send(TestRequest("OPTIONS", target))
                #expect(response.status == 204, "\(target)")
                #expect(response["allow"] == allow, "\(target)")
            }
        }
    }

    @Test(
        "origins are compared in one form",
        arguments: [
            ("https://App.Example.com/", "https://app.example.com"), ("http://h:80", "http://h"),
            ("https://h:443", "https://h"), ("https://h:80", "https://h:80"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("capacitor://localhost", "capacitor://localhost"),
        ])
    func origins(address: String, text: String) {
        #expect(Origin(setting: address)?.text == text)
    }

    @Test(
        "malformed origins",
        arguments: [
            "", "*", "null", "example.com", "https://", "https://h/path", "https://h?q", "https://u@h", "://h",
            "https://h h", "https://h:", "https://h:x", "https://h:99999", "http://[::1", "http://::1", "http://[h]",
        ])
    func noOrigins(address: String) {
        #expect(Origin(setting: address) == nil)
    }

    @Test("a listed page can read refusals of the HTTP layer after the head")
    func faults() async throws {
        try await TestServer.run(
            .socket,
            {
                Self.list(&$0)
                $0.bodyLimit = 1_024
            }
        ) { server in
            let session = try await server.session()
            let response = try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                let chunk = "400\r\n" + String(repeating: " ", count: 1_024) + "\r\n"
                try connection.send(
                    "POST /features/probe/intents HTTP/1.1\r\nHost: localhost\r\nOrigin: \(Self.listed)\r\n"
                        + "Authorization: Bearer \(session.secret)\r\nContent-Type: application/json\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n" + chunk + chunk)
                return try connection.response(to: "POST")
            }
            #expect(response.problem == "body-too-large")
            #expect(response["access-control-allow-origin"] == Self.listed)
            #expect(response["access-control-expose-headers"] != nil)
            #expect(response["vary"] == "Authorization, Cookie, Origin, Prefer")
        }
    }

    @Test("a listed page can read that its head is too large, and no other page can")
    func largeHead() async throws {
        try await TestServer.run(
            .socket,
            {
                Self.list(&$0)
                $0.headLimit = 2_048
            }
        ) { server in
            for (origin, allowed) in [(Self.listed, Self.listed), ("https://other.example", nil)] as [(String, String?)]
            {
                let response = try await offThePool { [port = server.port] in
                    let connection = try Connection(port: port)
                    try connection.send(
                        "GET /features/probe/state?x HTTP/1.1\r\nHost: localhost\r\nX: "
                            + String(repeating: "x", count: 2_500) + "\r\nOrigin: \(origin)\r\n\r\n")
                    return try connection.response(to: "GET")
                }
                #expect(response.problem == "head-too-large")
                #expect(response["access-control-allow-origin"] == allowed)
                #expect((response["access-control-expose-headers"] != nil) == (allowed != nil))
                #expect(response["vary"] == "Authorization, Cookie, Origin")
            }
        }
    }
}
