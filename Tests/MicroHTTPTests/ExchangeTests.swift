import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct ExchangeTests {
        private static let post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody"

        @Test func `A second answer traps in a debug build`() async {
            await #expect(processExitsWith: .failure) {
                let exchange = MicroHTTP.Exchange(WaitingExchanges {}, nil)
                exchange.respond(Response(status: 200))
                exchange.respond(Response(status: 200))
            }
        }

        @Test func `A status that is none traps`() async {
            await #expect(processExitsWith: .failure) {
                MicroHTTP.Exchange(WaitingExchanges {}, nil).respond(Response(status: 100))
            }
        }

        @Test func `Answers from many threads at every moment reach their requests`() async throws {
            // Some respond at once, some while the handler returns, some after.
            let handler = TestHandler { request, exchange in
                let body = request.body
                if body.first == UInt8(ascii: "0") {
                    exchange.respond(Response(status: 200, body: .bytes(body)))
                } else {
                    Task { exchange.respond(Response(status: 200, body: .bytes(body))) }
                }
            }
            try await withServer(handler) { server in
                let port = server.port
                let failures = Lock<[String]>([])
                let threads = (0..<8).compactMap { thread in
                    SystemThread {
                        do {
                            let client = try RawClient(port: port)
                            for number in 0..<500 {
                                let body = "\(number % 10)-\(thread)-\(number)"
                                try client.send(
                                    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                                let answer = try client.response().body
                                if answer != body { failures.withLock { $0.append("\(answer) to \(body)") } }
                            }
                        } catch {
                            failures.withLock { $0.append("\(error)") }
                        }
                    }
                }
                threads.forEach { $0.join() }
                #expect(failures.withLock { $0 } == [])
                try await eventually("nothing waits") { server.statistics.waitingExchanges == 0 }
            }
        }

        @Test func `Requests behind a waiting one wait for it`() async throws {
            let waiting = Lock<[Exchange]>([])
            let handler = TestHandler { request, exchange in
                if request.body.isEmpty { return exchange.respond(.text("second")) }
                waiting.withLock { $0.append(exchange) }
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.post + "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                try await eventually("the first waits") { server.statistics.waitingExchanges == 1 }
                waiting.withLock { $0.removeFirst() }.respond(.text("first"))
                #expect(try client.response().body == "first")
                #expect(try client.response().body == "second")
            }
        }

        @Test func `A client that leaves while its request waits harms nothing`() async throws {
            let waiting = Lock<[Exchange]>([])
            try await withServer(TestHandler { _, exchange in waiting.withLock { $0.append(exchange) } }) { server in
                for _ in 1...50 {
                    let client = try RawClient(port: server.port)
                    try client.send(Self.post)
                    try await eventually("the exchange waits") { server.statistics.waitingExchanges > 0 }
                    client.reset()
                    while let exchange = waiting.withLock({ $0.popLast() }) { exchange.respond(.text("nobody")) }
                }
                try await eventually("all are gone") {
                    while let exchange = waiting.withLock({ $0.popLast() }) { exchange.respond(.text("nobody")) }
                    return server.statistics == HTTPServerStatistics()
                }
            }
        }

        @Test func `A request that nobody answers is 503 in time, and the late answer is dropped`() async throws {
            let waiting = Lock<[Exchange]>([])
            let handler = TestHandler { _, exchange in waiting.withLock { $0.append(exchange) } }
            try await withServer(handler, configure: { $0.answerTimeout = .milliseconds(200) }) { server in
                let client = try RawClient(port: server.port)
                try client.send(Self.post)
                let response = try client.response()
                #expect(response.status == 503)
                #expect(response.body == "answerTimeout")
                let source = TestSource()
                waiting.withLock { $0.removeFirst() }.respond(Response(status: 200, body: .stream(source)))
                #expect(source.ends == [.shutdown])
                try client.send(Self.post)
                #expect(try client.response().status == 503)
                waiting.withLock { $0.removeFirst() }.respond(Response(status: 200))
            }
        }
    }
}
