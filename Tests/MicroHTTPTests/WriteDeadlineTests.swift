import Glibc
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct WriteDeadlineTests {
        private static let second: UInt64 = 1_000_000_000

        /// Runs `body` with a watch on one end of a socket pair, in a phase; the other end is the client's.
        private func withWatch(
            _ phase: ConnectionWatch.Phase, _ body: (ConnectionWatch, _ client: Int32) -> Void
        ) throws {
            var pair: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            let made = ReactorThread(granularity: Self.second) {}
            let thread = try #require(made)
            let day = 86_400 * Self.second
            let timeouts = ConnectionWatch.Timeouts(
                head: day, body: day, answer: day, write: 300 * Self.second, idle: day)
            let watch = ConnectionWatch(descriptor: pair[0], timeouts: timeouts, thread: thread)
            watch.start()
            watch.enter(phase)
            defer {
                watch.close()
                thread.halt()
                pair.forEach { Glibc.close($0) }
            }
            body(watch, pair[1])
        }

        /// True if the client's side is closed.
        private func isCut(_ client: Int32) -> Bool {
            var byte: UInt8 = 0
            return recv(client, &byte, 1, Int32(MSG_DONTWAIT)) == 0
        }

        @Test func `An answer that is not taken in time is cut off, and not before`() throws {
            try withWatch(.writing) { watch, client in
                let now = monotonicNow()
                _ = watch.timeReached(now + 299 * Self.second)
                #expect(!isCut(client) && !watch.hasExpired)
                _ = watch.timeReached(now + 301 * Self.second)
                #expect(isCut(client) && watch.hasExpired)
            }
        }

        @Test func `An answer that was taken, and a stream, have no such deadline`() throws {
            for phase in [ConnectionWatch.Phase.idle, .none] {
                try withWatch(.writing) { watch, client in
                    watch.enter(phase)
                    _ = watch.timeReached(monotonicNow() + 301 * Self.second)
                    #expect(!isCut(client) && !watch.hasExpired)
                }
            }
        }

        @Test func `A client that takes a large answer a few bytes at a time does not keep its connection`()
            async throws
        {
            let large = TestHandler { _, exchange in
                exchange.respond(Response(status: 200, body: .bytes([UInt8](repeating: 0x61, count: 32 << 20))))
            }
            try await withServer(large, configure: { $0.writeTimeout = .milliseconds(300) }) { server in
                let client = try RawClient(port: server.port, receiveBuffer: 4_096)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                var byte: UInt8 = 0
                var taken = 0
                // Until the connection ends, which is a reset if bytes were in transit.
                while recv(client.descriptor, &byte, 1, 0) == 1 {
                    taken += 1
                    try #require(taken < 32 << 20, "the whole answer came")
                    if server.statistics.openConnections == 0 { break }
                }
                try await eventually("the connection is gone") { server.statistics == HTTPServerStatistics() }
            }
        }

        @Test func `A large answer that is taken in time comes whole, also on a connection that goes on`() async throws
        {
            let size = 8 << 20
            let large = TestHandler { _, exchange in
                exchange.respond(Response(status: 200, body: .bytes([UInt8](repeating: 0x61, count: size))))
            }
            try await withServer(large) { server in
                let client = try RawClient(port: server.port)
                for _ in 1...2 {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response().body.utf8.count == size)
                }
            }
        }
    }
}
