import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct BodyTests {
        private let refusing = TestHandler(receive: { _ in .refuse(.text("no", status: 401)) }) { _, _ in
            Issue.record("a refused request was handled")
        }

        @Test func `A body in chunks arrives whole`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n")
                try client.send("2\r\nde\r\n0\r\nTrailer: t\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "PUT\n/\n\nabcde")
                #expect(try client.response().body == "GET\n/next\n\n")
            }
        }

        @Test func `A body larger than the connection's memory arrives whole`() async throws {
            let size = 1024 * 1024
            let handler = TestHandler { request, exchange in
                let isRight = request.body.enumerated().allSatisfy { $1 == UInt8(truncatingIfNeeded: $0 / 7) }
                exchange.respond(.text("\(request.body.count) \(isRight)"))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
                try client.send((0..<size).map { UInt8(truncatingIfNeeded: $0 / 7) })
                #expect(try client.response().body == "\(size) true")
            }
        }

        @Test func `A client that waits for it gets 100 Continue, once the head was accepted`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
                #expect(try client.read(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
                try client.send("ab")
                #expect(try client.response().body == "PUT\n/\n\nab")
            }
        }

        @Test func `A refusal by the head comes instead of 100 Continue`() async throws {
            try await withServer(refusing) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
                let response = try client.response()
                #expect(response.status == 401)
                #expect(response["connection"] == "close")
                #expect(try client.readToEnd() == "")
            }
        }

        @Test func `A refusal of a request without a body keeps the connection`() async throws {
            try await withServer(refusing) { server in
                let client = try RawClient(port: server.port)
                for _ in 1...3 {
                    try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    #expect(try client.response().status == 401)
                }
            }
        }

        @Test func `A declared body over the limit is 413 before any of it is read`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.bodyLimit = 10 }) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
                let response = try client.response()
                #expect(response.status == 413)
                #expect(response.body == "bodyTooLarge")
            }
        }

        @Test func `A body of exactly the limit is served, declared and in chunks`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.bodyLimit = 10 }) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n0123456789")
                #expect(try client.response().body == "PUT\n/\n\n0123456789")
                try client.send(
                    "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n")
                #expect(try client.response().body == "PUT\n/\n\n0123456789")
            }
        }

        @Test func `A verdict may lower the limit`() async throws {
            let handler = TestHandler(receive: { _ in .accept(bodyLimit: 1) }) { _, exchange in
                exchange.respond(.text(""))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab")
                #expect(try client.response().status == 413)
            }
        }

        @Test func `An endless body in chunks is 413 while it still arrives`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.bodyLimit = 1000 }) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                let chunk = "400\r\n\(String(repeating: "x", count: 1024))\r\n"
                try client.send(chunk)
                let response = try client.response()
                #expect(response.status == 413)
                #expect(response.body == "bodyTooLarge")
                #expect(response["connection"] == "close")
                #expect(response["date"]?.hasSuffix(" GMT") == true)
                #expect(try client.readToEnd() == "")
                try await eventually("the request is over") { server.statistics.openRequests == 0 }
            }
        }

        @Test func `A refused client that sends on for megabytes still gets its answer`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.bodyLimit = 1000 }) { server in
                let size = 4 * 1024 * 1024
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
                try client.send([UInt8](repeating: 0, count: size))
                #expect(try client.response().status == 413)
                #expect(try client.readToEnd() == "")
                client.close()
                try await eventually("the socket is let go") { server.statistics.lingeringSockets == 0 }
            }
        }

        @Test func `A body cut short by a half-close is 400 and never reaches the handler`() async throws {
            let handler = TestHandler { _, _ in Issue.record("half a body was handled") }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
                client.finishSending()
                let response = try client.response()
                #expect(response.status == 400)
                #expect(response.body == "bodyCutShort")
                #expect(try client.readToEnd() == "")
            }
        }

        @Test func `A body cut short by a reset leaves nothing`() async throws {
            let handler = TestHandler { _, _ in Issue.record("half a body was handled") }
            try await withServer(handler) { server in
                for _ in 1...20 {
                    let client = try RawClient(port: server.port)
                    try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
                    client.reset()
                }
                try await eventually("all are gone") { server.statistics == HTTPServerStatistics() }
            }
        }

        @Test func `A body that is longer than its length is the next request, and refused as one`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcdef\r\n\r\n")
                #expect(try client.response().body == "PUT\n/\n\nabc")
                #expect(try !client.readToEnd().contains("200"))
            }
        }

        @Test func `A body shorter than its length is 408 when its time is over`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.bodyTimeout = .milliseconds(200) }) { server in
                let client = try RawClient(port: server.port)
                try client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
                let response = try client.response()
                #expect(response.status == 408)
                #expect(response.body == "requestTimeout")
                #expect(try client.readToEnd() == "")
            }
        }
    }
}
