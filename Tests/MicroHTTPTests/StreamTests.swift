import Glibc
import Locking
import Testing

@testable import MicroHTTP

extension MicroHTTPSuites {
    @Suite struct StreamTests {
        @Test func `A stream sends what its source gives, chunk by chunk, and ends cleanly`() async throws {
            let source = TestSource([.write(Array("one".utf8)), .wait])
            let handler = TestHandler { _, exchange in
                exchange.respond(
                    Response(status: 200, fields: [("Content-Type", "text/event-stream")], body: .stream(source)))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
                let head = RawResponse(head: try client.read(through: "\r\n\r\n"))
                #expect(head.status == 200)
                #expect(head["transfer-encoding"] == "chunked")
                #expect(head["connection"] == "close")
                #expect(try client.read(through: "one\r\n") == "3\r\none\r\n")
                source.add([.write(Array("second".utf8))])
                #expect(try client.read(through: "second\r\n") == "6\r\nsecond\r\n")
                source.add([.finish(Array("end".utf8))])
                #expect(try client.readToEnd() == "3\r\nend\r\n0\r\n\r\n")
                try await eventually("the source is closed") { source.ends == [.finished] }
            }
        }
    }
}
