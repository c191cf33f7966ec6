import Glibc
import Networks
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct StartTests {
        @Test func `This libmicrohttpd lets a handed-over socket live`() throws {
            try HandOverTest.run()
        }

        @Test func `An address in use is told as such`() async throws {
            try await withServer(TestHandler.echo) { server in
                var configuration = HTTPServerConfiguration()
                configuration.port = server.port
                let second = HTTPServer(configuration: configuration, logger: silent, handler: TestHandler.echo)
                let error = #expect(throws: HTTPServerError.self) { try second.start() }
                #expect(error?.code == .addressInUse)
                #expect(
                    error?.message == "Cannot bind to 127.0.0.1 port \(server.port): another process listens there. "
                        + "Stop it or choose another port.")
                await second.shutdown(grace: .zero)
            }
        }

        @Test(arguments: ["localhost", "", "127.0.0", "::1%", "[::1]"])
        func `A host that is no address is refused`(_ host: String) {
            let configuration = HTTPServerConfiguration(host: host)
            let server = HTTPServer(configuration: configuration, logger: silent, handler: TestHandler.echo)
            let error = #expect(throws: HTTPServerError.self) { try server.start() }
            #expect(error?.code == .invalidConfiguration)
        }

        @Test func `An address of another machine is refused with what to do`() {
            let configuration = HTTPServerConfiguration(host: "192.0.2.1")
            let server = HTTPServer(configuration: configuration, logger: silent, handler: TestHandler.echo)
            let error = #expect(throws: HTTPServerError.self) { try server.start() }
            #expect(error?.code == .cannotListen)
            #expect(error?.message.contains("this machine has no such address") == true)
        }

        @Test(arguments: ["0.0.0.0", "::", "::1"])
        func `Every kind of address can be listened on`(_ host: String) async throws {
            do {
                try await withServer(TestHandler.echo, configure: { $0.host = host }) { server in
                    #expect(server.port != 0)
                    guard host != "::1" else { return }
                    let client = try RawClient(port: server.port)
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response().status == 200)
                }
            } catch let error as HTTPServerError {
                // A machine may have no IPv6.
                #expect(host != "0.0.0.0", "\(error)")
            }
        }

        @Test func `An IPv4 client of a socket for both is told by its IPv4 address`() async throws {
            let handler = TestHandler { request, exchange in exchange.respond(.text(request.head.remoteAddress)) }
            try await withServer(handler, configure: { $0.host = "::" }) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "127.0.0.1")
            }
        }

        @Test func `All interfaces are those of IPv4 if the kernel has no IPv6, and another address is not replaced`()
            throws
        {
            let (descriptor, port) = try ListenSocket.open(host: "::", port: 0, hasIPv6: { false })
            defer { close(descriptor) }
            #expect(port != 0 && PeerAddress(localOf: descriptor) == PeerAddress("0.0.0.0"))
            #expect(throws: HTTPServerError.self) {
                try ListenSocket.open(host: "2001:db8::1", port: 0, hasIPv6: { false })
            }
        }

        @Test func `A limit that makes no sense is refused by name`() {
            var configuration = HTTPServerConfiguration()
            configuration.headLimit = 100
            let server = HTTPServer(configuration: configuration, logger: silent, handler: TestHandler.echo)
            let error = #expect(throws: HTTPServerError.self) { try server.start() }
            #expect(error?.message == "headLimit is 100; it must be at least 1024.")
        }

        @Test func `A server starts once`() async throws {
            try await withServer(TestHandler.echo) { server in
                let error = #expect(throws: HTTPServerError.self) { try server.start() }
                #expect(error?.code == .alreadyStarted)
            }
        }

        @Test func `A server that never started can be shut down`() async {
            let configuration = HTTPServerConfiguration()
            let server = HTTPServer(configuration: configuration, logger: silent, handler: TestHandler.echo)
            await server.shutdown(grace: .seconds(1))
            #expect(server.port == 0)
            #expect(server.statistics == HTTPServerStatistics())
        }

        @Test func `Starting and stopping leaves no descriptor`() async throws {
            let before = openDescriptors()
            for _ in 1...5 {
                try await withServer(TestHandler.echo) { server in
                    let client = try RawClient(port: server.port)
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response().status == 200)
                }
            }
            try await eventually("\(openDescriptors()) are open, not \(before)") { openDescriptors() <= before }
        }
    }
}
