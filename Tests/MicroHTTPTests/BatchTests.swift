import Dispatch
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct BatchTests {
        /// The library's maximum for `epoll_wait`: `MAX_EVENTS` in its `daemon.c`. With exactly that many, a thread of
        /// the library would wait again before it serves them.
        private static let batch = 128

        @Test(arguments: [Self.batch - 1, Self.batch, 2 * Self.batch])
        func `Requests that all are there when a thread comes back are answered`(_ count: Int) async throws {
            let (isHeld, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            let handler = TestHandler { request, exchange in
                if request.head.path == Array("/hold".utf8) {
                    isHeld.signal()
                    goOn.wait()
                }
                exchange.respond(.text("done"))
            }
            try await withServer(handler, configure: { $0.threads = 1 }) { server in
                let clients = try (0..<count).map { _ in try RawClient(port: server.port) }
                // The thread knows them all before it is held up.
                for client in clients {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response().status == 200)
                }
                let holder = try RawClient(port: server.port)
                try holder.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n")
                isHeld.wait()
                for client in clients { try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n") }
                goOn.signal()
                for client in clients { #expect(try client.response().status == 200) }
            }
        }
    }
}
