import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct QuotaTests {
        private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

        @Test func `An address has as many connections as it may, and one more is told so; others are served`()
            async throws
        {
            try await withServer(TestHandler.echo, configure: { $0.connectionsPerAddress = 3 }) { server in
                let clients = try (0..<3).map { _ in try RawClient(port: server.port) }
                for client in clients {
                    try client.send(Self.request)
                    #expect(try client.response().status == 200)
                }
                let one = try RawClient(port: server.port)
                #expect(try one.response().status == 429)
                #expect(try one.readToEnd() == "")
                let other = try RawClient(port: server.port, from: 2)
                try other.send(Self.request)
                #expect(try other.response().status == 200)
                // A place that becomes free is given again.
                clients[0].close()
                try await eventually("a connection is closed") { server.statistics.openConnections == 3 }
                let next = try RawClient(port: server.port)
                try next.send(Self.request)
                #expect(try next.response().status == 200)
                for client in clients { client.close() }
                next.close()
                other.close()
            }
        }

        @Test func `A proxy has as many as it needs`() async throws {
            try await withServer(
                TestHandler.echo,
                configure: { configuration in
                    configuration.connectionsPerAddress = 1
                    let proxy = PeerAddress("127.0.0.1")
                    configuration.isExempt = { $0 == proxy }
                }
            ) { server in
                let clients = try (0..<5).map { _ in try RawClient(port: server.port) }
                for client in clients {
                    try client.send(Self.request)
                    #expect(try client.response().status == 200)
                }
                for client in clients { client.close() }
            }
        }

        @Test func `A socket that the library closed unseen is not counted for ever`() {
            var configuration = HTTPServerConfiguration()
            configuration.connectionsPerAddress = 2
            let connections = Connections(configuration)
            let address = PeerAddress("192.0.2.1") ?? .unknown
            // The system gives the number of a closed descriptor to the next connection.
            for _ in 1...10 { #expect(connections.accepted(7, address)) }
            #expect(connections.count == 1)
            connections.started(7)
            #expect(connections.accepted(8, address))
            #expect(!connections.accepted(9, address))
            connections.closed(address)
            connections.refused(8)
            #expect(connections.count == 0)
        }

        @Test(arguments: [true, false])
        func `Bodies together take no more than their budget, and small ones always find room`(
            saysLength: Bool
        ) async throws {
            let size = 20_000
            try await withServer(
                TestHandler { request, exchange in exchange.respond(.text("\(request.body.count)")) },
                configure: { configuration in
                    configuration.bodyBudget = 2 * (size - HTTPServerConfiguration.smallBody)
                    configuration.isExempt = { _ in true }
                }
            ) { server in
                let head = "PUT / HTTP/1.1\r\nHost: x\r\n"
                let framing = saysLength ? "Content-Length: \(size)\r\n\r\n" : "Transfer-Encoding: chunked\r\n\r\n"
                let most = saysLength ? size - 1 : size
                let chunk = saysLength ? "" : String(size, radix: 16) + "\r\n"
                let end = saysLength ? "x" : "\r\n0\r\n\r\n"
                let holders = try (0..<2).map { _ in
                    let client = try RawClient(port: server.port)
                    try client.send(head + framing + chunk)
                    try client.send([UInt8](repeating: 0x78, count: most))
                    return client
                }
                let held = most - HTTPServerConfiguration.smallBody
                try await eventually("both bodies are there") { server.heldBodyBytes == 2 * held }
                let third = try RawClient(port: server.port)
                try third.send(head + framing + chunk)
                try? third.send([UInt8](repeating: 0x78, count: most))
                #expect(try third.response().status == 503)
                let small = try RawClient(port: server.port)
                try small.send(head + "Content-Length: 16384\r\n\r\n")
                try small.send([UInt8](repeating: 0x78, count: 16_384))
                #expect(try small.response().body == "16384")
                for holder in holders {
                    try holder.send(end)
                    #expect(try holder.response().body == "\(size)")
                }
                try await eventually("the room is free again") { server.heldBodyBytes == 0 }
                small.close()
                holders.forEach { $0.close() }
            }
        }

        @Test func `What is announced takes no room, and one address has a quarter of it`() async throws {
            try await withServer(
                TestHandler { request, exchange in exchange.respond(.text("\(request.body.count)")) },
                configure: { $0.bodyBudget = 40_000 }
            ) { server in
                let head = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 26384\r\n\r\n"
                let silent = try (0..<10).map { _ in
                    let client = try RawClient(port: server.port)
                    try client.send(head)
                    return client
                }
                // 10,000 bytes beyond those that each body has.
                let one = try RawClient(port: server.port)
                try one.send(head)
                try one.send([UInt8](repeating: 0x78, count: 26_383))
                try await eventually("the body is there") { server.heldBodyBytes == 9_999 }
                let more = try RawClient(port: server.port)
                try more.send(head)
                try? more.send([UInt8](repeating: 0x78, count: 20_000))
                #expect(try more.response().status == 503)
                let other = try RawClient(port: server.port, from: 2)
                try other.send(head)
                try other.send([UInt8](repeating: 0x78, count: 26_384))
                #expect(try other.response().body == "26384")
                try one.send("x")
                #expect(try one.response().body == "26384")
                for client in silent + [one, other, more] { client.close() }
            }
        }

        @Test func `A stream that is old enough is told so once, and ends by itself`() async throws {
            let source = TestSource([.write(Array("first".utf8))])
            try await withServer(
                TestHandler { _, exchange in exchange.respond(Response(status: 200, body: .stream(source))) },
                configure: { $0.streamAge = .milliseconds(200) }
            ) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.request)
                _ = try client.read(through: "first")
                _ = try client.read(through: "old")
                _ = try client.readToEnd()
                try await eventually("it is over") { source.ends == [.finished] }
                #expect(source.timesAged == 1)
            }
        }
    }
}
