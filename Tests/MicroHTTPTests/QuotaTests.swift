import Locking
import Networks
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct QuotaTests {
        private static let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

        @Test func `Connections of an address beyond its limit are refused with an answer; others are served`()
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
                // A released place is assigned again.
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

        @Test func `A proxy has no limit of connections`() async throws {
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
            // The system assigns the number of a closed descriptor to the next connection.
            for _ in 1...10 { #expect(connections.accepted(7, address)) }
            #expect(connections.count == 1)
            let served = connections.started(7)
            #expect(connections.accepted(8, address))
            #expect(!connections.accepted(9, address))
            connections.refused(8)
            #expect(connections.count == 1)
            withExtendedLifetime(served) {}
        }

        @Test func `A connection that is served counts as long as its place is held`() {
            let connections = Connections(HTTPServerConfiguration())
            do {
                #expect(connections.accepted(7, PeerAddress("192.0.2.1") ?? .unknown))
                let served = connections.started(7)
                #expect(connections.count == 1)
                withExtendedLifetime(served) {}
            }
            #expect(connections.count == 0)
        }

        @Test func `When few connections are left, one of the address that has most ends for one of another`()
            async throws
        {
            try await withServer(TestHandler.echo, configure: { $0.connectionLimit = 32 }) { server in
                // Silent, in the middle of a head, and idle after a response.
                let many = try (0..<24).map { number in
                    let client = try RawClient(port: server.port, from: 2)
                    if number % 3 == 1 { try client.send("GET / HTTP/1.1\r\nHo") }
                    if number % 3 == 2 {
                        try client.send(Self.request)
                        #expect(try client.response().status == 200)
                    }
                    return client
                }
                let some = try (0..<6).map { _ in try RawClient(port: server.port, from: 3) }
                try await eventually("all are there") { server.statistics.openConnections == 30 }
                for _ in 0..<3 {
                    let user = try RawClient(port: server.port, from: 9)
                    try user.send(Self.request)
                    #expect(try user.response().status == 200)
                    user.close()
                }
                let newest = many[23]
                #expect(try newest.readToEnd() == "")
                // The address with the most gets no more while few are left.
                let others = try (0..<3).map { _ in try RawClient(port: server.port, from: 4) }
                try await eventually("they are there") { server.statistics.openConnections >= 29 }
                for client in some {
                    try client.send(Self.request)
                    #expect(try client.response().status == 200)
                }
                for client in many + some + others { client.close() }
            }
        }

        @Test func `A connection whose request is handled gives way after its answer, which comes whole`() async throws
        {
            let held = Lock<[Exchange]>([])
            let handler = TestHandler { request, exchange in
                if request.head.path == Array("/slow".utf8) {
                    held.withLock { $0.append(exchange) }
                } else {
                    exchange.respond(.text("fast"))
                }
            }
            try await withServer(handler, configure: { $0.connectionLimit = 16 }) { server in
                let many = try (0..<14).map { _ in
                    let client = try RawClient(port: server.port, from: 2)
                    try client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
                    return client
                }
                try await eventually("all are handled") { held.withLock { $0.count } == 14 }
                let users = try (3...5).map { host in
                    let user = try RawClient(port: server.port, from: UInt32(host))
                    try user.send(Self.request)
                    return user
                }
                for user in users.prefix(2) { #expect(try user.response().body == "fast") }
                let large = String(repeating: "x", count: 200_000)
                for exchange in held.withLock({ $0 }) { exchange.respond(.text(large)) }
                for client in many { #expect(try client.response().body == large) }
                // The newest one gave way, and the waiting one is served.
                #expect(try many[13].readToEnd() == "")
                #expect(try users[2].response().body == "fast")
                for client in many + users { client.close() }
            }
        }

        @Test func `An address fills all connections and a user of another is served`() async throws {
            try await withServer(
                TestHandler.echo,
                configure: { configuration in
                    configuration.connectionLimit = 16
                    // The first sixteen end by this.
                    configuration.headTimeout = .milliseconds(500)
                }
            ) { server in
                var held: [RawClient] = []
                for host in [2, 3, 4] as [UInt32] {
                    for _ in 0..<16 { held.append(try RawClient(port: server.port, from: host)) }
                }
                for _ in 0..<5 {
                    let user = try RawClient(port: server.port, from: 9)
                    try user.send(Self.request)
                    #expect(try user.response().status == 200)
                    user.close()
                }
                for client in held { client.close() }
            }
        }

        @Test
        func `A body of the address that holds most is cut for one of another; a proxy's clients count by theirs`()
            async throws
        {
            var handler = TestHandler { request, exchange in exchange.respond(.text("\(request.body.count)")) }
            handler.client = { head in head.fields["x-client"].flatMap { PeerAddress($0) } ?? head.peer }
            try await withServer(
                handler,
                configure: { configuration in
                    configuration.bodyBudget = 1_048_576
                    let proxy = PeerAddress("127.0.0.1")
                    configuration.isExempt = { $0 == proxy }
                }
            ) { server in
                func start(_ client: String, _ size: Int) throws -> RawClient {
                    let connection = try RawClient(port: server.port)
                    let head = "PUT / HTTP/1.1\r\nHost: x\r\nX-Client: \(client)\r\n"
                    try connection.send(head + "Content-Length: \(size + 1)\r\n\r\n")
                    try connection.send([UInt8](repeating: 0x78, count: size))
                    return connection
                }
                let small = HTTPServerConfiguration.smallBody
                // Nearly a quarter each; together nearly all.
                let holders = try (1...4).map { try start("192.0.2.\($0)", small + 240_000) }
                try await eventually("they are there") { server.heldBodyBytes == 960_000 }
                let refused = try start("192.0.2.1", small + 30_000)
                #expect(try refused.response().status == 503)
                try await eventually("it is gone") { server.heldBodyBytes == 960_000 }
                let other = try start("203.0.113.9", small + 70_000)
                try await eventually("one of them made room") { server.heldBodyBytes == 3 * 240_000 + 70_000 }
                try other.send("x")
                #expect(try other.response().body == "\(small + 70_001)")
                for client in holders + [refused, other] { client.close() }
            }
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

        @Test func `An announced length takes no room, and one address has a quarter of the room`() async throws {
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
                // 10,000 bytes beyond those that each body may have.
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
