import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

@Suite("Custom endpoints", .timeLimit(.minutes(10)))
struct CustomEndpointTests {
    private struct Payment: Codable { var session: String }
    private struct Broken: Error {}

    /// Each request fails in the way that its parameter names.
    @FeatureBuilder
    private static func hooks(_ gate: Gate) -> ServerContent {
        TestServer.probes(gate)
        Endpoint(.post, "/hooks/{way}", summary: "Fails.") { request, sessions in
            switch request.parameter {
            case "forbidden": throw Refusal(.forbidden, code: "bad-signature", "The signature is not good.")
            case "missing": throw Refusal(.notFound, "There is no such order.")
            case "conflict": throw Refusal(.conflict, "The order was paid before.")
            case "invalid": throw Refusal(.invalid, "The amount is wrong.", pointer: "/amount")
            case "many": throw Refusal(.tooMany(retryAfter: .seconds(3)), "Later.")
            case "broken": throw Broken()
            default: break
            }
            let payment = try request.decode(Payment.self)
            try await sessions.send(
                .increment, to: Probe.self, session: payment.session, makesStore: request.parameter == "make")
            return .noContent
        }
    }

    private static let ways: [(way: String, body: String, problem: ProblemType)] = [
        ("refused", "", .crossSite), ("forbidden", "", .forbidden), ("missing", "", .targetNotFound),
        ("conflict", "", .intentConflict),
        ("invalid", "", .intentRefused), ("many", "", .intentLimited), ("broken", "", .endpointFailed),
        ("pay", "{", .invalidJSON), ("pay", #"{"session":1}"#, .invalidBody),
        ("pay", #"{"session":"nobody"}"#, .sessionEnded), ("pay", #"{"session":"SESSION"}"#, .featureNotFound),
    ]

    private func ask(_ server: TestServer, _ way: String, _ body: String) async throws -> TestResponse {
        let session = try await server.session()
        _ = try await server.send(session.request("DELETE", "/features/probe/state"))
        _ = try await server.send(session.intent(#"{"type":"weigh","weight":2}"#, to: "item:1"))
        return try await server.client.exchange(
            TestRequest(
                "POST", "/hooks/\(way)", way == "refused" ? [("Sec-Fetch-Site", "cross-site")] : [],
                body: body.replacing("SESSION", with: session.id)))
    }

    @Test("a refusal, a body that cannot be read and a throw are problems", arguments: ways, Depth.allCases)
    func problems(_ expected: (way: String, body: String, problem: ProblemType), depth: Depth) async throws {
        try await TestServer.run(depth, content: Self.hooks) { server in
            let response = try await ask(server, expected.way, expected.body)
            #expect(response.status == expected.problem.status)
            #expect(response.problem == expected.problem.name)
            #expect(try await server.isServing())
        }
    }

    @Test(
        "a failed commit is a problem",
        arguments: [
            (StoreError.Code.unavailable, ProblemType.journalUnavailable), (.full, .storageFull),
            (.elsewhere, .ownerUnreachable), (.newerState, .newerState), (.tooManySpaces, .tooManySpaces),
        ])
    func unkept(code: StoreError.Code, problem: ProblemType) async throws {
        try await TestServer.run(.memory, content: Self.hooks) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"increment"}"#))
            server.journal.fail(code)
            let response = try await server.client.exchange(
                TestRequest("POST", "/hooks/pay", body: #"{"session":"\#(session.id)"}"#))
            #expect(response.problem == problem.name)
        }
    }

    @Test("the problems of openapi.yaml are those that these tests met")
    func declared() {
        let met = Set(
            Self.ways.map(\.problem)
                + [.journalUnavailable, .ownerUnreachable, .newerState, .storageFull, .tooManySpaces])
        #expect(Set(met.map(\.name)) == OpenAPIDescription.known.customEndpoints.problems)
    }

    @Test("a refusal's code and place are members of its problem")
    func members() async throws {
        try await TestServer.run(.memory, content: Self.hooks) { server in
            let forbidden = try await ask(server, "forbidden", "").json(TestResponse.Problem.self)
            #expect(forbidden.code == "bad-signature")
            let invalid = try await ask(server, "invalid", "").json(TestResponse.Problem.self)
            #expect(invalid.errors?.map(\.pointer) == ["/amount"])
        }
    }

    /// Answers with data about the request.
    private static let echoes: @Sendable (Gate) throws -> ServerContent = { gate in
        let echoes = Endpoint.Method.allCases.map { method in
            Endpoint(method, "/echo") { request, _ in
                let (user, other) = (request.field("X-Remote-User") ?? "nobody", request.field("X-Other") ?? "")
                return .text("\(request.remoteAddress) \(user) \(other)")
            }
        }
        let open = Endpoint(.post, "/returns", allowsCrossSite: true) { _, _ in .text("from another site") }
        return ServerContent(features: TestServer.probes(gate).features, endpoints: echoes + [open])
    }

    @Test(
        "pages of other sites may use them only with GET or with the author's permission", arguments: Depth.allCases)
    func crossSite(depth: Depth) async throws {
        let list: @Sendable (inout ServerSettings) -> Void = {
            $0.allowedOrigins = [Origin(setting: "https://app.example")].compactMap { $0 }
        }
        try await TestServer.run(depth, content: Self.echoes, list) { server in
            let others = [
                ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Origin", "https://evil.example"),
                ("Origin", "null"),
            ]
            for method in ["POST", "PUT", "PATCH", "DELETE"] {
                for field in others {
                    let refused = try await server.client.exchange(TestRequest(method, "/echo", [field]))
                    #expect(refused.problem == "cross-site" && refused.status == 403, "\(method) \(field)")
                }
                // A webhook; a page of the server itself; a page of a listed origin.
                for fields in [
                    [], [("Sec-Fetch-Site", "same-origin")], [("Origin", "http://localhost")],
                    [("Origin", "https://app.example")],
                ] {
                    #expect(try await server.client.exchange(TestRequest(method, "/echo", fields)).status == 200)
                }
            }
            for field in others {
                for method in ["GET", "HEAD"] {
                    #expect(try await server.client.exchange(TestRequest(method, "/echo", [field])).status == 200)
                }
                let returned = try await server.client.exchange(TestRequest("POST", "/returns", [field]))
                #expect(returned.text == "from another site")
            }
        }
    }

    @Test(
        "they get the client's address and the subject that a trusted proxy reports",
        arguments: Depth.allCases)
    func proxied(depth: Depth) async throws {
        let said = [("X-Forwarded-For", "203.0.113.9"), ("X-Remote-User", "anna"), ("X-Other", "more")]
        func told(_ settings: @Sendable (inout ServerSettings) -> Void, _ fields: [(String, String)]) async throws
            -> String
        {
            try await TestServer.run(depth, content: Self.echoes, settings) { server in
                try await server.client.exchange(TestRequest("GET", "/echo", fields)).text
            }
        }
        let trusting: @Sendable (inout ServerSettings) -> Void = {
            $0.trustedProxies = [AddressRange("127.0.0.1")].compactMap { $0 }
            $0.identityHeader = "x-remote-USER"
        }
        let named: @Sendable (inout ServerSettings) -> Void = { $0.identityHeader = "X-Remote-User" }
        #expect(try await told(trusting, said) == "203.0.113.9 anna more")
        #expect(try await told(trusting, said + [("X-Remote-User", "bob")]) == "203.0.113.9 nobody more")
        #expect(try await told(named, said) == "127.0.0.1 nobody more")
        // Without the setting the field has no meaning for the server.
        #expect(try await told({ _ in }, said) == "127.0.0.1 anna more")
    }

    @Test("their HTML and SVG have a security policy, unless they set one")
    func security() async throws {
        func answer(_ fields: [(name: String, value: String)]) async throws -> TestResponse {
            let content: (Gate) throws -> ServerContent = { gate in
                ServerContent(
                    features: TestServer.probes(gate).features,
                    endpoints: [
                        Endpoint(.get, "/own") { _, _ in EndpointResponse(status: 200, fields: fields, body: [0x3C]) }
                    ])
            }
            return try await TestServer.run(.socket, content: content) { server in
                try await server.client.exchange(TestRequest("GET", "/own"))
            }
        }
        let policy = "content-security-policy"
        let page = try await answer([("content-type", "Text/HTML; charset=utf-8")])
        #expect(page[policy]?.contains("script-src 'self'") == true && page["referrer-policy"] == "no-referrer")
        #expect(try await answer([("Content-Type", "image/svg+xml")])[policy]?.contains("sandbox") == true)
        #expect(try await answer([("Content-Type", "application/json")])[policy] == nil)
        let own = try await answer([("Content-Type", "text/html"), ("Content-Security-Policy", "default-src https:")])
        #expect(own.fields.filter { $0.name.lowercased() == policy }.map(\.value) == ["default-src https:"])
    }

    @Test("the served description lists them")
    func description() async throws {
        try await TestServer.run(.memory, content: Self.hooks) { server in
            let file = try await server.send(TestRequest("GET", "/openapi.yaml")).text
            #expect(file.contains("\n  \"/hooks/{way}\":\n    post:\n      tags: [custom]\n"))
        }
    }
}
