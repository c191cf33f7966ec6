import TestSupport
import Testing

@testable import MVIServer

/// Bytes that a normal client never sends: each gets its answer as a problem, and the next request is served.
@Suite("Requests that break HTTP", .timeLimit(.minutes(10)))
struct BadRequestTests {
    struct Abuse: Sendable, CustomTestStringConvertible {
        let what: String
        let bytes: String
        let status: Int
        let problem: String

        var testDescription: String { what }

        init(_ what: String, _ bytes: String, _ status: Int, _ problem: String) {
            self.what = what
            self.bytes = bytes
            self.status = status
            self.problem = problem
        }
    }

    private static let post = "POST /sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

    static let abuses = [
        Abuse("no Host", "GET /features HTTP/1.1\r\n\r\n", 400, "bad-request"),
        Abuse("two Hosts", "GET /features HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n", 400, "bad-request"),
        Abuse(
            "two credentials",
            "GET /features HTTP/1.1\r\nHost: localhost\r\nAuthorization: a\r\nAUTHORIZATION: b\r\n\r\n", 400,
            "bad-request"),
        Abuse(
            "two fields of cookies", "GET /features HTTP/1.1\r\nHost: localhost\r\nCookie: a=1\r\ncookie: b=2\r\n\r\n",
            400, "bad-request"),
        Abuse(
            "two Origins", "GET /features HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\nX: y\r\nOrigin: null\r\n\r\n",
            400, "bad-request"),
        Abuse(
            "a Sec-Fetch-Site twice",
            "GET /features HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n\r\n",
            400,
            "bad-request"),
        Abuse(
            "a Sec-Fetch-Mode twice",
            "GET /features HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Mode: navigate\r\n\r\n",
            400,
            "bad-request"),
        Abuse("two lengths", "\(post)Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400, "bad-request"),
        Abuse(
            "a length beside chunks", "\(post)Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
            "bad-request"),
        Abuse("a coding that is unknown", "\(post)Transfer-Encoding: gzip\r\n\r\n", 501, "unknown-transfer-coding"),
        Abuse("a body over the limit by its length", "\(post)Content-Length: 5000\r\n\r\n", 413, "body-too-large"),
        Abuse(
            "a body over the limit in chunks",
            "\(post)Transfer-Encoding: chunked\r\n\r\n1000\r\n\(String(repeating: " ", count: 4096))\r\n0\r\n\r\n", 413,
            "body-too-large"),
        Abuse(
            "a head over the limit",
            "GET /features HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 2500))\r\n\r\n",
            431, "head-too-large"),
        Abuse(
            "a method that no path has", "BREW /features HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method-not-allowed"
        ),
        Abuse(
            "a method in small letters", "get /features HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, "method-not-allowed"),
        Abuse("an encoded slash", "GET /features%2Fprobe HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "not-found"),
        Abuse("an encoded NUL", "GET /features%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "not-found"),
        Abuse("an encoded line end", "GET /problems/x%0D%0Ay HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "not-found"),
        Abuse("a slash at the end", "GET /features/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, "not-found"),
        Abuse(
            "an absolute target of another host", "GET http://b/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400,
            "bad-request"),
    ]

    @Test("is refused", arguments: abuses)
    func refused(abuse: Abuse) async throws {
        try await TestServer.run(
            .socket,
            {
                $0.bodyLimit = 1_024
                $0.headLimit = 2_048
            }
        ) { server in
            let response = try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                try connection.send(abuse.bytes)
                return try connection.response(to: "GET")
            }
            #expect(response.status == abuse.status)
            #expect(response.problem == abuse.problem)
            #expect(response["x-content-type-options"] == "nosniff")
            #expect(try await server.isServing())
        }
    }

    @Test("a problem names the path if it was read")
    func instance() async throws {
        try await TestServer.run(.socket, { $0.headLimit = 2_048 }) { server in
            func problem(_ bytes: String) async throws -> TestResponse.Problem {
                try await offThePool { [port = server.port] in
                    let connection = try Connection(port: port)
                    try connection.send(bytes)
                    return try connection.response(to: "GET").json(TestResponse.Problem.self)
                }
            }
            let read = try await problem("GET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(read.type == "/problems/not-found" && read.instance == "/nowhere")
            let unread = try await problem("GET /nowhere HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n")
            #expect(unread.type == "/problems/bad-request" && unread.instance == nil)
        }
    }

    @Test("an absolute target is its path")
    func absoluteTarget() async throws {
        try await TestServer.run(.socket) { server in
            let response = try await server.send(TestRequest("GET", "/health/live"))
            let absolute = try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                try connection.send("GET http://localhost/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return try connection.response(to: "GET")
            }
            #expect(absolute.status == 200)
            #expect(absolute.body == response.body)
        }
    }

    @Test("an incomplete body and a disconnected client have no effect")
    func cutShort() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                try connection.send(
                    "POST /features/probe/intents HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(session.secret)\r\n"
                        + "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"type\":\"incre")
            }
            #expect(try await server.isServing())
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 0)
        }
    }

    @Test("a refusal by the head comes before the body is sent")
    func earlyRefusal() async throws {
        try await TestServer.run(.socket) { server in
            let response = try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                try connection.send(
                    "POST /features/probe/intents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
                return try connection.response(to: "POST")
            }
            #expect(response.problem == "unauthorized")
            #expect(try await server.isServing())
        }
    }
}
