import MVI
import MicroHTTP
import Testing

@testable import MVIServer

@Suite("Who may ask the admin port", .timeLimit(.minutes(5)))
struct AdminGuardTests {
    private static let guarded: [(method: String, target: String)] = [
        ("GET", "/admin/sessions"), ("GET", "/admin/sessions/x"), ("DELETE", "/admin/sessions/x"),
        ("GET", "/admin/sessions/x/features/probe"), ("POST", "/admin/sessions/x/features/probe/intents"),
        ("POST", "/admin/drain"), ("GET", "/metrics"),
    ]

    @Test func `every admin route is among those that are tried here`() async throws {
        try await AdminPort.run { port in
            let application = try #require(port.server.assembly.adminApplication)
            let open = ["reportLiveness", "reportReadiness", "explainProblem", "adminReadOpenAPI"]
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
    func `with a token nobody asks without it, and health is for all`(depth: Depth) async throws {
        try await AdminPort.run(depth, { $0.adminToken = AdminToken(AdminPort.token) }) { port in
            for (method, target) in Self.guarded {
                let none = try await port.send(method, target)
                #expect(none.problem == "admin-unauthorized" && none["www-authenticate"] == "Bearer realm=\"mvi\"")
                let wrong = try await port.send(method, target, [("Authorization", "Bearer \(AdminPort.token)x")])
                #expect(wrong.problem == "admin-unauthorized")
                let basic = try await port.send(method, target, [("Authorization", "Basic \(AdminPort.token)")])
                #expect(basic.problem == "admin-unauthorized")
            }
            let right = ("Authorization", "bearer  \(AdminPort.token)")
            try await #expect(port.send("GET", "/admin/sessions", [right]).status == 200)
            try await #expect(port.send("GET", "/health/ready").status == 200)
            try await #expect(port.send("GET", "/admin/openapi.yaml").status == 200)
            try await #expect(port.send("GET", "/problems/admin-unauthorized").status == 200)
        }
    }

    @Test func `an address that sends many wrong tokens has to wait, whatever it sends then`() async throws {
        try await AdminPort.run(.memory, { $0.adminToken = AdminToken(AdminPort.token) }) { port in
            let wrong = ("Authorization", "Bearer wrong-wrong-wrong-wrong")
            let right = ("Authorization", "Bearer \(AdminPort.token)")
            for _ in 0..<20 {
                try await #expect(port.send("GET", "/admin/sessions", [wrong]).status == 401)
                try await #expect(port.send("HEAD", "/health/live").status == 200)
            }
            let refused = try await port.send("GET", "/admin/sessions", [wrong])
            #expect(refused.problem == "too-many-requests" && refused["retry-after"] == "1")
            try await #expect(port.send("GET", "/admin/sessions", [right]).problem == "too-many-requests")
            port.server.time.advance(by: .seconds(2))
            try await #expect(port.send("GET", "/admin/sessions", [right]).status == 200)
        }
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1"])
    func `without a token programs on the machine may ask on its loopback address`(host: String) async throws {
        try await AdminPort.run(.memory, { $0.adminHost = host }) { port in
            let answer = try await port.send("GET", "/admin/sessions")
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: ["0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fd00::1"])
    func `without a token an address that others reach answers health only`(host: String) async throws {
        try await AdminPort.run(.memory, { $0.adminHost = host }) { port in
            for (method, target) in Self.guarded {
                let answer = try await port.send(method, target)
                #expect(answer.problem == "admin-closed")
            }
            let (ready, live) = (
                try await port.send("GET", "/health/ready"), try await port.send("GET", "/health/live")
            )
            #expect(ready.status == 200 && live.status == 200)
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
    func `without a token no page and no proxy may ask`(name: String, value: String, problem: String) async throws {
        try await AdminPort.run { port in
            try await #expect(port.send("POST", "/admin/drain", [(name, value)]).problem == problem)
            #expect(!port.server.sessions.isDraining)
            // A probe may come by any name.
            try await #expect(port.send("GET", "/health/ready", [(name, value)]).status == 200)
        }
    }

    @Test(arguments: ["localhost", "LocalHost:8081", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8081"])
    func `names of this machine are taken`(host: String) { #expect(AdminGuard.namesLoopback(host)) }

    @Test func `a page that sends a token it knows is a client as every other`() async throws {
        try await AdminPort.run(.memory, { $0.adminToken = AdminToken(AdminPort.token) }) { port in
            let fields = [("Origin", "https://admin.example"), ("Authorization", "Bearer \(AdminPort.token)")]
            let answer = try await port.send("GET", "/admin/sessions", fields)
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

    @Test func `a token is too short, too long or strange without being repeated`() async throws {
        let long = String(repeating: "a", count: 513)
        for text in ["short", "0123456789abcde", "0123456789 abcdef", long, "schlüssel-schlüssel"] {
            let error = await #expect(throws: SettingError.self) {
                _ = try await ServerSettings.load(flags: ["admin-token": text], environment: [:])
            }
            let message = try #require(error?.description)
            #expect(!message.contains(text) && message.contains("16 to 512") && message.contains("MVI_ADMIN_TOKEN"))
        }
    }

    @Test func `a token is a flag, a variable or a line of the file, and nothing prints it`() async throws {
        let given = try await ServerSettings.load(environment: ["MVI_ADMIN_TOKEN": AdminPort.token])
        #expect(given.adminToken == AdminToken(AdminPort.token))
        #expect(!"\(given)".contains(AdminPort.token) && !String(reflecting: given).contains(AdminPort.token))
        #expect(given.adminToken?.matches(Array(AdminPort.token.utf8)) == true)
        #expect(given.adminToken?.matches([]) == false)
    }

    @Test func `the start says who may ask`() {
        var settings = ServerSettings()
        #expect(StartLog.adminAccess(AdminGuard.Rule(settings)).hasPrefix("programs on this machine"))
        settings.adminHost = "0.0.0.0"
        #expect(StartLog.adminAccess(AdminGuard.Rule(settings)).hasPrefix("none"))
        settings.adminToken = AdminToken(AdminPort.token)
        #expect(StartLog.adminAccess(AdminGuard.Rule(settings)) == "with the admin token")
    }
}
