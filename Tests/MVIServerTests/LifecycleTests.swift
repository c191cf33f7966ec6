import TestSupport
import Logging
import MVITesting
import ServiceLifecycle
import Testing

@testable import MVIServer

@Suite("Start and stop", .timeLimit(.minutes(10)))
struct LifecycleTests {
    @Test("a stop notifies streams, answers waiting requests, and returns", .timeLimit(.minutes(10)))
    func gracefulStop() async throws {
        try await TestServer.run(.memory) { server in
            let service = HTTPService(server.assembly)
            var configuration = ServiceGroupConfiguration(services: [service], logger: server.assembly.logger)
            configuration.maximumGracefulShutdownDuration = .seconds(20)
            let group = ServiceGroup(configuration: configuration)
            async let end: Void = group.run()
            while server.port == 0 { await Task.yield() }

            let session = try await server.session()
            let tag = try #require(
                try await server.send(session.request("GET", "/features/probe/state"))["etag"])
            let client = SocketClient(port: server.port)
            let stream = try await offThePool { [port = server.port] in
                let stream = try Connection(port: port)
                try stream.send(session.request("GET", "/events"))
                _ = try stream.head()
                _ = try stream.event("hello")
                return stream
            }
            let waiting = Task {
                try await client.exchange(
                    session.request("GET", "/features/probe/state", [("If-None-Match", tag), ("Prefer", "wait=9")]))
            }
            await server.clock.sleepers(atLeast: 1)

            await group.triggerGracefulShutdown()
            let farewell = try await offThePool { try stream.event("goaway") }
            #expect(String(decoding: farewell.data, as: UTF8.self).contains(#""reason":"drain""#))
            #expect(try await offThePool { try stream.event() == nil })
            #expect(try await waiting.value.status == 304)
            try await end
            #expect(throws: (any Error).self) { try Connection(port: server.port) }
            #expect(server.sessions.environment.openStreams == 0)
        }
    }

    @Test("the admin port answers health checks, and no requests of clients")
    func admin() async throws {
        try await TestServer.run(.memory, { $0.adminPort = 0 }) { server in
            let admin = try #require(server.assembly.admin)
            try admin.start()
            let client = SocketClient(port: admin.port)
            #expect(try await client.exchange(TestRequest("GET", "/health/live")).status == 200)
            #expect(try await client.exchange(TestRequest("GET", "/health/ready")).status == 200)
            #expect(try await client.exchange(TestRequest("POST", "/sessions")).problem == "not-found")
            await admin.shutdown(grace: .zero)
        }
    }

    private func assemble(_ features: [ServedFeature], page: [PageResource] = []) throws {
        _ = try Assembly(
            ServerContent(features: features), settings: ServerSettings(), logger: Logger(label: "test"), page: page)
    }

    @Test("two features with the same name stop the start, and are named")
    func duplicateNames() {
        let error = #expect(throws: (any Error).self) {
            try assemble([ServedFeature(Probe(gate: Gate())), ServedFeature(Probe(gate: Gate()))])
        }
        #expect(error.map { "\($0)" }?.contains("two features are called 'probe'") == true)
    }

    @Test("a name or a mapping that is invalid on the wire stops the start, and is named")
    func misfits() {
        let name = #expect(throws: (any Error).self) { try assemble([ServedFeature(Misnamed())]) }
        #expect(name.map { "\($0)" }?.contains("'Bad_Name'") == true)
        let mapping = #expect(throws: (any Error).self) { try assemble([ServedFeature(Unlabelled())]) }
        #expect(mapping.map { "\($0)" }?.contains("'unlabelled'") == true)
        #expect(mapping.map { "\($0)" }?.contains("move") == true)
    }

    @Test(
        "a page's file with the path of a route stops the start, and is named",
        arguments: [
            "/features", "/features/x", "style.css", "/problems/x", "/events",
        ])
    func pageInTheWay(path: String) {
        let error = #expect(throws: PageResourceError.self) {
            try assemble([], page: [PageResource(path: path, contentType: "text/plain", bytes: [])])
        }
        #expect(error?.description.contains(path) == true)
    }

    @Test("features are listed with if, else and for")
    func builder() throws {
        @FeatureBuilder func features(_ more: Bool) -> ServerContent {
            Probe(gate: Gate())
            if more { Keyed { try Item(id: $0) } }
            if more { Misnamed() } else { Unlabelled() }
            for _ in 0..<2 { Probe(gate: Gate()) }
        }
        #expect(features(true).features.count == 5)
        #expect(features(false).features.count == 4)
    }

    @Test(
        "the address is one that a browser can open",
        arguments: [
            ("0.0.0.0", "http://localhost:80"), ("::", "http://localhost:80"), ("::1", "http://[::1]:80"),
            ("127.0.0.1", "http://127.0.0.1:80"),
        ])
    func address(host: String, url: String) {
        #expect(StartLog.url(host, 80) == url)
    }
}
