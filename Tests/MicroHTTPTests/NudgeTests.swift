import Dispatch
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct NudgeTests {
        /// The library's maximum for `epoll_wait`: exactly then it waits again before it serves them.
        @Test(arguments: [WorkerNudge.batch - 1, WorkerNudge.batch, 2 * WorkerNudge.batch])
        func `Requests that all are there when a worker comes back are answered`(_ count: Int) async throws {
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
                // The worker knows them all before it is held up.
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
