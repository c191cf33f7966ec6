import MVI
import MicroHTTP
import Testing

@testable import MVIServer

@Suite("Access to the admin port", .timeLimit(.minutes(5)))
struct AdminGuardTests {
    private static let guarded: [(method: String, target: String)] = [
        ("GET", "/admin/sessions"), ("GET", "/admin/sessions/x"), ("DELETE", "/admin/sessions/x"),
        ("GET", "/admin/sessions/x/features/probe"), ("POST", "/admin/sessions/x/features/probe/intents"),
        ("POST", "/admin/sessions/x/recording"), ("GET", "/admin/sessions/x/turns"),
        ("GET", "/admin/subjects/export"), ("DELETE", "/admin/subjects"), ("POST", "/admin/drain"), ("GET", "/metrics"),
    ]
    private static let acting = guarded.filter { $0.target != "/metrics" }

    @Test func `these tests cover every admin route`() async throws {
        try await AdminPort.run { port in
            let application = try #require(port.server.assembly.adminApplication)
            let open = [
                "reportLiveness", "reportReadiness", "explainProblem", "adminReadOpenAPI", "adminReadInspector",
                "adminReadInspectorStyle", "adminReadInspectorScript", "adminOpenInspectorLink",
                "adminMakeInspectorLink",
            ]
            let names = Set(application.router.endpoints.map(\.name)).subtracting(open)
            let tried = Self.guarded.compactMap { method, target -> String? in
                guard case .found(let route, _, _) = application.router.route(method: method, path: Array(target.utf8))
                else { return nil }
                return route.name
            }
            #expect(Set(tried) == names && tried.count == Self.guarded.count)
        }
    }

    @Test(arguments: Depth.allCases)
    func `with a token all requests need it, except health checks`(depth: Depth) async throws {
        try await AdminPort.run(depth) { port in
            for (method, target) in Self.guarded {
                let none = try await port.send(method, target, token: nil)
                #expect(none.problem == "admin-unauthorized" && none["www-authenticate"] == "Bearer realm=\"mvi\"")
                let policies = none.fields.filter { $0.name.lowercased().hasPrefix("cross-origin-") }
                #expect(policies.map(\.value) == ["same-origin", "same-origin"])
                let wrong = try await port.send(method, target, token: AdminPort.token + "x")
                #expect(wrong.problem == "admin-unauthorized")
                let basic = ("Authorization", "Basic \(AdminPort.token)")
                try await #expect(port.send(method, target, [basic], token: nil).problem == "admin-unauthorized")
            }
            let right = ("Authorization", "bearer  \(AdminPort.token)")
            try await #expect(port.send("GET", "/admin/sessions", [right], token: nil).status == 200)
            try await #expect(port.send("GET", "/health/ready").status == 200)
            try await #expect(port.send("GET", "/admin/openapi.yaml").status == 200)
            try await #expect(port.send("GET", "/problems/admin-unauthorized").status == 200)
        }
    }

    @Test(arguments: Depth.allCases)
    func `many wrong tokens are limited, and the right one from the same address is accepted`(
        depth: Depth
    ) async throws {
        try await AdminPort.run(depth) { port in
            let wrong = "wrong-wrong-wrong-wrong"
            for count in 1...40 {
                let refused = try await port.send("GET", "/admin/sessions", token: wrong)
                #expect(refused.problem == (count <= 20 ? "admin-unauthorized" : "too-many-requests"))
                #expect(refused["retry-after"] == (count <= 20 ? nil : "1"))
                try await #expect(port.send("GET", "/admin/sessions").status == 200)
            }
            for (method, target) in Self.guarded {
                try await #expect(port.send(method, target, token: wrong).problem == "too-many-requests")
                let right = try await port.send(method, target).problem
                #expect(right != "too-many-requests" && right != "admin-unauthorized")
            }
            port.server.time.advance(by: .seconds(2))
            try await #expect(port.send("GET", "/admin/sessions", token: wrong).problem == "admin-unauthorized")
        }
    }

    @Test(arguments: Depth.allCases)
    func `without a token, programs on the machine get health checks and metrics, and no sessions`(
        depth: Depth
    ) async throws {
        try await AdminPort.run(depth, { $0.adminToken = nil }) { port in
            for (method, target) in Self.acting {
                for token in [nil, AdminPort.token] {
                    let refused = try await port.send(method, target, token: token)
                    #expect(refused.problem == "admin-closed" && refused.text.contains("MVI_ADMIN_TOKEN"))
                }
            }
            #expect(!port.server.sessions.isDraining)
            for open in ["/metrics", "/health/live", "/health/ready", "/admin/openapi.yaml", "/problems/admin-closed"] {
                try await #expect(port.send("GET", open, token: nil).status == 200)
            }
        }
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1"])
    func `without a token metrics are shown on a loopback address`(host: String) async throws {
        try await AdminPort.run(.memory, { ($0.adminHost, $0.adminToken) = (host, nil) }) { port in
            try await #expect(port.send("GET", "/metrics", token: nil).status == 200)
        }
    }

    @Test(arguments: ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fd00::1"])
    func `without a token, a public address answers only health checks`(host: String) async throws {
        try await AdminPort.run(.memory, { ($0.adminHost, $0.adminToken) = (host, nil) }) { port in
            for (method, target) in Self.guarded {
                try await #expect(port.send(method, target, token: nil).problem == "admin-closed")
            }
            for health in ["/health/ready", "/health/live"] {
                try await #expect(port.send("GET", health, token: nil).status == 200)
            }
        }
    }

    @Test(arguments: [
        ("Origin", "http://localhost:8081", "cross-site"), ("Origin", "null", "cross-site"),
        ("Sec-Fetch-Site", "cross-site", "cross-site"), ("Sec-Fetch-Site", "same-origin", "cross-site"),
        ("X-Forwarded-For", "192.0.2.1", "admin-closed"), ("Forwarded", "for=192.0.2.1", "admin-closed"),
        ("Host", "evil.example", "admin-closed"), ("Host", "127.0.0.1.evil.example:8081", "admin-closed"),
        ("Host", "localhost.evil.example", "admin-closed"), ("Host", "localhost:80x", "admin-closed"),
        ("Host", "[::1", "admin-closed"), ("Host", "", "admin-closed"), ("Host", "192.0.2.1:8081", "admin-closed"),
    ])
    func `without a token no page and no proxy may read metrics`(
        name: String, value: String, problem: String
    ) async throws {
        try await AdminPort.run(.memory, { $0.adminToken = nil }) { port in
            try await #expect(port.send("GET", "/metrics", [(name, value)], token: nil).problem == problem)
            // A probe may use any name.
            try await #expect(port.send("GET", "/health/ready", [(name, value)], token: nil).status == 200)
        }
    }

    @Test(arguments: ["localhost", "LocalHost:8081", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8081"])
    func `names of this machine are taken`(host: String) { #expect(AdminGuard.namesLoopback(host)) }

    @Test func `a page that sends a token it knows is a client as every other`() async throws {
        try await AdminPort.run { port in
            let answer = try await port.send("GET", "/admin/sessions", [("Origin", "https://admin.example")])
            #expect(answer.status == 200 && answer["access-control-allow-origin"] == nil)
        }
    }

    @Test func `the main port has no admin routes`() async throws {
        try await AdminPort.run { port in
            for (method, target) in Self.guarded {
                try await #expect(port.server.send(TestRequest(method, target)).problem == "not-found")
            }
        }
    }

    @Test func `an invalid token is refused without being printed`() async throws {
        let long = String(repeating: "a", count: 513)
        for text in ["short", "0123456789abcde", "0123456789 abcdef", long, "schlüssel-schlüssel"] {
            let error = #expect(throws: SettingError.self) {
                _ = try ServerSettings.load(flags: ["admin-token": text], environment: [:])
            }
            let message = try #require(error?.description)
            #expect(!message.contains(text) && message.contains("16 to 512") && message.contains("MVI_ADMIN_TOKEN"))
        }
    }

    @Test func `a token is a flag, a variable or a line of the file, and nothing prints it`() async throws {
        let given = try ServerSettings.load(environment: ["MVI_ADMIN_TOKEN": AdminPort.token])
        #expect(given.adminToken == AdminToken(AdminPort.token))
        #expect(!"\(given)".contains(AdminPort.token) && !String(reflecting: given).contains(AdminPort.token))
        #expect(given.adminToken?.matches(Array(AdminPort.token.utf8)) == true)
        #expect(given.adminToken?.matches([]) == false)
    }

    @Test func `the start logs the access to the admin port`() {
        var settings = ServerSettings()
        #expect(StartLog.adminAccess(AdminGuard.Rule(settings)).hasPrefix("metrics for programs on this machine"))
        settings.adminHost = "0.0.0.0"
        #expect(StartLog.adminAccess(AdminGuard.Rule(settings)).hasPrefix("none"))
        settings.adminToken = AdminToken(AdminPort.token)
        #expect(StartLog.adminAccess(AdminGuard.Rule(settings)) == "with the admin token")
    }
}
