import Glibc
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct ConnectionTests {
        @Test func `HEAD gets the head that GET would get, its length included`() async throws {
            try await withServer(TestHandler { _, exchange in exchange.respond(.text("twelve bytes")) }) { server in
                let client = try RawClient(port: server.port)
                for _ in 1...2 {
                    try client.send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
                    let response = try client.response(toHead: true)
                    #expect(response.status == 200)
                    #expect(response["content-length"] == "12")
                }
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "twelve bytes")
            }
        }

        @Test(arguments: [204, 304])
        func `A status without a body gets none, and the connection goes on`(_ status: Int) async throws {
            try await withServer(TestHandler { _, exchange in exchange.respond(.text("body", status: status)) }) {
                server in
                let client = try RawClient(port: server.port)
                for _ in 1...2 {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    let response = try client.response(toHead: true)
                    #expect(response.status == status)
                    #expect(response["content-length"] == (status == 304 ? "4" : nil))
                }
            }
        }

        @Test(arguments: [
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "close", true),
            ("GET / HTTP/1.1\r\nHost: x\r\nConnection: foo, Close\r\n\r\n", "close", true),
            ("GET / HTTP/1.0\r\n\r\n", "close", true),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "Keep-Alive", false),
        ])
        func `The client's wish about the connection is obeyed`(
            _ request: String, _ field: String, _ closes: Bool
        ) async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send(request)
                let response = try client.response()
                #expect(response["connection"] == field)
                if closes {
                    #expect(try client.readToEnd() == "")
                } else {
                    try client.send(request)
                    #expect(try client.response().status == 200)
                }
            }
        }

        @Test func `The handler's wish to close is obeyed`() async throws {
            let handler = TestHandler { _, exchange in
                exchange.respond(Response(status: 200, fields: [ResponseField("Connection", "close")]))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try client.response()
                #expect(response.fields.filter { $0.name == "connection" }.map(\.value) == ["close"])
                #expect(try client.readToEnd() == "")
            }
        }

        @Test func `A response's framing is ours, and a broken field is left out`() async throws {
            let handler = TestHandler { _, exchange in
                exchange.respond(
                    Response(
                        status: 200,
                        fields: [
                            ResponseField("Content-Length", "999"), ResponseField("transfer-encoding", "chunked"),
                            ResponseField("Date", "never"), ResponseField("X-Split", "a\r\nX-Injected: b"),
                            ResponseField("X Name", "v"), ResponseField("X-Nul", "a\u{0}b"),
                            ResponseField("X-Good", "v"),
                        ],
                        body: .bytes(Array("body".utf8))))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try client.response()
                #expect(response.fields.map(\.name).sorted() == ["content-length", "date", "x-good"])
                #expect(response["content-length"] == "4")
                #expect(response["date"] != "never")
            }
        }

        @Test func `A request is answered although the client has closed its side`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                client.finishSending()
                #expect(try client.response().status == 200)
                #expect(try client.readToEnd() == "")
            }
        }

        @Test(arguments: ["", "GET / HT", "GET / HTTP/1.1\r\nHost:"])
        func `A head that never ends is cut at its deadline, half-closed or dripping`(_ start: String) async throws {
            try await withServer(
                TestHandler.echo,
                configure: {
                    $0.headTimeout = .milliseconds(300)
                    $0.idleTimeout = .milliseconds(300)
                }
            ) { server in
                let halfClosed = try RawClient(port: server.port)
                try halfClosed.send(start)
                halfClosed.finishSending()
                #expect(try halfClosed.readToEnd() == "")

                let silent = try RawClient(port: server.port)
                try silent.send(start)
                #expect(try silent.readToEnd() == "")

                // Occasional bytes must not keep it open.
                let dripping = try RawClient(port: server.port)
                try dripping.send("GET /")
                while !dripping.isOver(within: 10), (try? dripping.send("x")) != nil {}
                try await eventually("all are gone") { server.statistics == HTTPServerStatistics() }
            }
        }

        @Test func `An idle connection is closed at its deadline, not a busy one`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.idleTimeout = .milliseconds(300) }) { server in
                let client = try RawClient(port: server.port)
                for _ in 1...3 {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response().status == 200)
                }
                #expect(try client.readToEnd() == "")
            }
        }

        @Test func `Connections over the limit wait, and are served as others close`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.connectionLimit = 2 }) { server in
                let clients = try (1...2).map { _ in try RawClient(port: server.port) }
                try await eventually("both are accepted") { server.statistics.openConnections == 2 }
                let surplus = try (1...5).map { _ in try RawClient(port: server.port) }
                for client in surplus { try client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n") }
                // While others wait, a response closes its connection, so that all have their turn. The first may be sent
                // before the server knows of them.
                var response: RawResponse
                repeat {
                    try clients[0].send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    response = try clients[0].response()
                    #expect(response.status == 200)
                } while response["connection"] != "close"
                #expect(try clients[0].readToEnd() == "")
                for client in surplus {
                    #expect(try client.response().status == 200)
                    #expect(server.statistics.openConnections <= 2)
                }
                try await eventually("only the other is left") { server.statistics.openConnections == 1 }
                for _ in 1...2 {
                    try clients[1].send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try clients[1].response().status == 200)
                }
            }
        }

        @Test func `A stream gives its connection's place to the next one`() async throws {
            let streams = TestHandler { _, exchange in
                exchange.respond(Response(status: 200, body: .stream(TestSource())))
            }
            try await withServer(streams, configure: { $0.connectionLimit = 1 }) { server in
                let streaming = try RawClient(port: server.port)
                try streaming.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                let next = try RawClient(port: server.port)
                try next.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                try await eventually("both are streams") { server.statistics.openStreams == 2 }
            }
        }

        @Test func `Without descriptors a connection is closed, and later ones are served`() async {
            await #expect(processExitsWith: .success) {
                try await withServer(TestHandler.echo) { server in
                    try await Self.exhaustDescriptors(server)
                }
            }
        }

        private static func exhaustDescriptors(_ server: HTTPServer) async throws {
            let first = try RawClient(port: server.port)
            try first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            guard try first.response().status == 200 else { exit(1) }
            // One is left for the client, none for the server.
            var taken: [Int32] = []
            while true {
                let descriptor = open("/dev/null", O_RDONLY)
                guard descriptor >= 0 else { break }
                taken.append(descriptor)
            }
            Glibc.close(taken.removeLast())
            let refused = try RawClient(port: server.port)
            guard try refused.readToEnd() == "" else { exit(2) }
            refused.close()
            taken.forEach { Glibc.close($0) }
            let served = try RawClient(port: server.port)
            try served.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            guard try served.response().status == 200 else { exit(3) }
        }

        @Test func `A connection has no delay, a user timeout and keep-alive`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.tcpUserTimeout = .seconds(7) }) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().status == 200)
                let socket = try #require(serverSocket(of: client))
                #expect(option(socket, Int32(IPPROTO_TCP), TCP_NODELAY) == 1)
                #expect(option(socket, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT) == 7000)
                #expect(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1)
            }
        }

        /// The descriptor in this process whose peer is the client's socket.
        private func serverSocket(of client: RawClient) -> Int32? {
            func port(_ descriptor: Int32, _ call: (Int32, UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32)
                -> UInt16?
            {
                var address = sockaddr_in()
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let result = withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
                }
                return result == 0 && address.sin_family == sa_family_t(AF_INET) ? address.sin_port : nil
            }
            let mine = port(client.descriptor) { getsockname($0, $1, &$2) }
            return (0..<1024).first { port($0) { getpeername($0, $1, &$2) } == mine }
        }

        private func option(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Int32 {
            var value: Int32 = -1
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, level, name, &value, &length)
            return value
        }
    }
}
