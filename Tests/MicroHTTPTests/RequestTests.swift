import Glibc
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct RequestTests {
        @Test func `A request is answered with the handler's status, fields and body`() async throws {
            let handler = TestHandler { request, exchange in
                exchange.respond(
                    Response(
                        status: 201, fields: [ResponseField("X-Name", "value")],
                        body: .bytes(TestHandler.describe(request))))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
                let response = try client.response()
                #expect(response.status == 201)
                #expect(response["x-name"] == "value")
                #expect(response["date"] != nil)
                #expect(response["server"] == nil)
                #expect(response["connection"] == nil)
                #expect(response.body == "POST\n/a/b\nc=d\nbody")
            }
        }

        @Test func `Requests that arrive together are answered in order on one connection`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                let requests = (1...300).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }
                try client.send(requests.joined())
                for number in 1...300 { #expect(try client.response().body == "GET\n/\(number)\n\n") }
                #expect(server.statistics.openConnections == 1)
            }
        }

        @Test func `A request may be answered later from another thread`() async throws {
            let waiting = Lock<[Exchange]>([])
            let handler = TestHandler { _, exchange in waiting.withLock { $0.append(exchange) } }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
                try await eventually("the exchange is suspended") { server.statistics.waitingExchanges == 1 }
                waiting.withLock { $0.removeFirst() }.respond(.text("later"))
                #expect(try client.response().body == "later")
                try await eventually("nothing is suspended") { server.statistics.waitingExchanges == 0 }
            }
        }
    }
}
