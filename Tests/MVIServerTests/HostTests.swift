import MVI
import MVITesting
import MicroHTTP
import Networks
import TestSupport
import Testing

@testable import MVIServer

@Suite("Names of the server in Host", .timeLimit(.minutes(10)))
struct HostTests {
    private static let open: @Sendable (inout ServerSettings) -> Void = { $0.host = "0.0.0.0" }
    private static let published: @Sendable (inout ServerSettings) -> Void = {
        $0.publicURL = Origin(setting: "https://app.example:8443")
        $0.nodeAddress = "10.0.0.3:8080"
    }

    private func ask(_ server: TestServer, _ host: String, _ target: String) async throws -> TestResponse {
        try await server.send(TestRequest("GET", target, [("Host", host)]))
    }

    /// Every kind of path: of sessions, documents, the page, a custom endpoint, and an unknown path.
    private static let targets = [
        ("POST", "/sessions"), ("GET", "/sessions/current"), ("DELETE", "/sessions/current"),
        ("PUT", "/sessions/current/identity"), ("DELETE", "/sessions/current/identity"), ("GET", "/features"),
        ("GET", "/features/probe"), ("GET", "/features/probe/state"), ("DELETE", "/features/probe/state"),
        ("POST", "/features/probe/intents"), ("GET", "/features/probe/events"), ("GET", "/events"),
        ("GET", "/diagnostics/request"), ("GET", "/openapi.yaml"), ("GET", "/mvi-client.js"), ("GET", "/problems/busy"),
        ("GET", "/"), ("HEAD", "/style.css"), ("OPTIONS", "/sessions"), ("GET", "/nowhere"), ("POST", "/hooks/one"),
    ]

    private static let content: @Sendable (Gate) throws -> ServerContent = { gate in
        ServerContent(
            features: TestServer.probes(gate).features,
            endpoints: [Endpoint(.post, "/hooks/one") { _, _ in .noContent }])
    }

    @Test("every path refuses another name, since browsers regard its pages as the same site", arguments: targets)
    func everyPath(_ method: String, _ target: String) async throws {
        try await TestServer.run(.socket, content: Self.content) { server in
            let response = try await server.client.exchange(TestRequest(method, target, [("Host", "evil.example")]))
            #expect(response.status == 421)
            if method != "HEAD" { #expect(response.problem == "wrong-host") }
        }
    }

    @Test("a page with DNS rebinding makes no session and reads none", arguments: Depth.allCases)
    func rebinding(_ depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let page = [
                ("Host", "evil.example:8080"), ("Origin", "http://evil.example:8080"),
                ("Sec-Fetch-Site", "same-origin"),
            ]
            #expect(try await server.send(TestRequest("POST", "/sessions", page)).problem == "wrong-host")
            let session = try await server.session()
            #expect(try await server.send(session.intent(#"{"type":"increment"}"#, page)).problem == "wrong-host")
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 0)
        }
    }

    @Test(
        "on a loopback address, loopback names and the machine's name are accepted with any port",
        arguments: [
            "localhost", "LOCALHOST:1", "localhost.", "app.localhost:80", "127.0.0.1:9", "127.1.2.3", "[::1]:9", "",
        ])
    func local(_ given: String) async throws {
        let host = given.isEmpty ? NodeAddress.machineName() : given
        try await TestServer.run(.socket) { server in
            let response = try await ask(server, host, "/features")
            #expect(response.status == 200)
        }
    }

    @Test(
        "on a loopback address other names are refused",
        arguments: [
            "localhost.evil.example", "evil.localhost.example", "notlocalhost", "192.0.2.1", "[2001:db8::1]",
            "127.0.0.1.example",
            "0x7f.1", "2130706433", "[::ffff:192.0.2.1]",
        ])
    func notLocal(_ host: String) async throws {
        try await TestServer.run(.socket) { server in
            let response = try await ask(server, host, "/features")
            #expect(response.problem == "wrong-host")
        }
    }

    @Test("with a public URL only its name, loopback names and the node's address are accepted")
    func publicURL() async throws {
        try await TestServer.run(.socket, Self.published) { server in
            for host in ["app.example", "APP.example:8443", "app.example:9", "localhost", "10.0.0.3:8080", "127.0.0.1"]
            {
                let response = try await ask(server, host, "/features")
                #expect(response.status == 200, "\(host)")
            }
            for host in ["www.app.example", "example", "10.0.0.4:8080", "[2001:db8::1]"] {
                let response = try await ask(server, host, "/features")
                #expect(response.problem == "wrong-host", "\(host)")
            }
        }
    }

    @Test("only the address that the connection came to is accepted")
    func ownAddress() async throws {
        try await TestServer.run(.memory, Self.published) { server in
            func status(_ host: String, to address: String) -> Int {
                let head = RequestHead(
                    method: "GET", path: Array("/features".utf8), fields: HeaderFields([("Host", host)]),
                    local: PeerAddress(address) ?? .unknown)
                guard case .refuse(let response) = server.assembly.application.receive(head) else { return 200 }
                return response.status
            }
            #expect(status("172.17.0.2:8080", to: "172.17.0.2") == 200)
            #expect(status("[2001:db8::1]:80", to: "2001:db8::1") == 200)
            #expect(status("172.17.0.2", to: "172.17.0.3") == 421)
            #expect(status("172.17.0.2", to: "") == 421)
        }
    }

    @Test("on a public address without a public URL, any name is accepted")
    func everyName() async throws {
        try await TestServer.run(.socket, Self.open) { server in
            let response = try await ask(server, "any.example", "/features")
            #expect(response.status == 200)
        }
    }

    @Test("health checks are answered under any name", arguments: ["/health/live", "/health/ready"])
    func health(_ target: String) async throws {
        try await TestServer.run(.socket, Self.published) { server in
            for host in ["10.244.0.17:8080", "mvi.default.svc.cluster.local", "app.example"] {
                let response = try await ask(server, host, target)
                #expect(response.status == 200, "\(host)")
            }
        }
    }

    @Test("a forwarded request has the client's Host, which the first node has checked")
    func nodes() async throws {
        try await NodePair.run(.socket, near: Self.published) { pair in
            let session = try await pair.session()
            let intent = session.intent(#"{"type":"increment"}"#, [("Host", "app.example")])
            // The other node does not have this name.
            #expect(try await pair.far.send(intent).problem == "wrong-host")
            #expect(try await pair.near.send(intent).status == 202)
        }
    }

    @Test("HTTP/1.0 without Host is served: no browser sends it")
    func noHost() async throws {
        try await TestServer.run(.socket) { server in
            let text = try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                try connection.send("GET /features HTTP/1.0\r\n\r\n")
                return try connection.head().status
            }
            #expect(text == 200)
        }
    }
}
