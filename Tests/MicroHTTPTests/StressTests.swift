import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct StressTests {
        /// New streams, woken by any thread.
        private final class Audience: Sendable {
            let sources = Lock<[ObjectIdentifier: TestSource]>([:])

            func join(_ source: TestSource) { sources.withLock { $0[ObjectIdentifier(source)] = source } }

            /// Writes to a few streams, like a turn.
            func tell() {
                let some = sources.withLock { sources in
                    for (key, source) in sources where !source.ends.isEmpty { sources[key] = nil }
                    return Array(sources.values.prefix(20))
                }
                for source in some { source.add([.write(Array("event".utf8))]) }
            }
        }

        @Test func `Clients that come and vanish while events are written leave nothing`() async throws {
            let audience = Audience()
            let all = Lock<[TestSource]>([])
            let handler = Self.handler(audience, all)
            try await withServer(handler) { server in
                let before = openDescriptors()
                let port = server.port
                let threads = (0..<4).compactMap { seed in SystemThread { Self.clients(port, seed: seed, count: 150) } }
                threads.forEach { $0.join() }
                try await eventually("everything is let go, but \(server.statistics)") {
                    server.statistics == HTTPServerStatistics()
                }
                try await eventually("no descriptor is left") { openDescriptors() <= before }
                #expect(all.withLock { $0 }.allSatisfy { $0.ends.count == 1 && $0.handle == nil })
                let client = try RawClient(port: port)
                try client.send("POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                #expect(try client.response().status == 200)
            }
        }

        @Test(arguments: 1...3)
        func `A server stops under load`(_ round: Int) async throws {
            let audience = Audience()
            let all = Lock<[TestSource]>([])
            try await withServer(Self.handler(audience, all)) { server in
                let port = server.port
                let threads = (0..<4).compactMap { seed in
                    SystemThread { Self.clients(port, seed: seed + round, count: 400) }
                }
                try await eventually("it is busy") { all.withLock { $0.count } > 20 * round }
                await server.shutdown(grace: .milliseconds(20))
                threads.forEach { $0.join() }
                #expect(all.withLock { $0 }.allSatisfy { $0.ends.count == 1 && $0.handle == nil })
            }
        }

        private static func handler(_ audience: Audience, _ all: Lock<[TestSource]>) -> TestHandler {
            TestHandler { request, exchange in
                switch request.head.path {
                case Array("/events".utf8):
                    let source = TestSource([.write([UInt8](repeating: 0, count: 1000))])
                    all.withLock { $0.append(source) }
                    audience.join(source)
                    exchange.respond(Response(status: 200, body: .stream(source)))
                case Array("/now".utf8):
                    audience.tell()
                    exchange.respond(.text("now"))
                default:
                    Task {
                        audience.tell()
                        exchange.respond(.text("later"))
                    }
                }
            }
        }

        /// Runs clients that stream, post and leave in every way; failures come from a stopped server.
        private static func clients(_ port: UInt16, seed: Int, count: Int) {
            var random = seed &* 7919 &+ 17
            for _ in 0..<count {
                random = (random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407)
                guard let client = try? RawClient(port: port) else { return }
                switch (random >> 33) & 7 {
                case 0: try? client.send("GET /ev")
                case 1, 2:
                    try? client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                    _ = try? client.read(through: "\r\n\r\n")
                case 3: try? client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                case 4: try? client.send("POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
                case 5: try? client.send("POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                default:
                    for path in ["now", "later", "now"] {
                        try? client.send("POST /\(path) HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
                        _ = try? client.response()
                    }
                }
                if (random >> 40) & 1 == 0 { client.reset() } else { client.close() }
            }
        }
    }
}
