import Locking
import Testing

@testable import MicroHTTP

/// A head that must be refused, with the expected refusal.
struct BadHead: Sendable, CustomTestStringConvertible {
    var what: String
    var bytes: String
    var status = 400
    var reason: RequestFault.Reason
    var testDescription: String { what }

    init(_ what: String, _ bytes: String, _ reason: RequestFault.Reason, status: Int = 400) {
        self.what = what
        self.bytes = bytes
        self.status = status
        self.reason = reason
    }

    /// With these lines after the request line and a good Host.
    static func lines(
        _ what: String, _ lines: String, _ reason: RequestFault.Reason, status: Int = 400
    ) -> BadHead {
        BadHead(what, "POST / HTTP/1.1\r\nHost: x\r\n\(lines)\r\n\r\n", reason, status: status)
    }

    static let all: [BadHead] = [
        .lines("a length beside a coding", "Content-Length: 3\r\nTransfer-Encoding: chunked", .ambiguousLength),
        .lines("two different lengths", "Content-Length: 3\r\nContent-Length: 4", .ambiguousLength),
        .lines("the same length twice", "Content-Length: 3\r\ncontent-length: 3", .ambiguousLength),
        .lines("two codings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", .ambiguousLength),
        .lines("chunked, then identity", "Transfer-Encoding: chunked, identity", .ambiguousLength),
        .lines("chunked twice in a list", "Transfer-Encoding: chunked, chunked", .ambiguousLength),
        .lines("an empty coding", "Transfer-Encoding:", .ambiguousLength),
        .lines("a blank after the coding", "Transfer-Encoding: chunked ", .ambiguousLength),
        .lines("a tab after the coding", "Transfer-Encoding:\tchunked\t", .ambiguousLength),
        .lines(
            "blanks after the coding, before another field", "Transfer-Encoding: CHUNKED \t \r\nX: y", .ambiguousLength),
        .lines("a blank and a comma after the coding", "Transfer-Encoding: chunked ,", .ambiguousLength),
        .lines("a coding after a comma", "Transfer-Encoding: ,chunked", .ambiguousLength),
        .lines("identity", "Transfer-Encoding: identity ", .ambiguousLength),
        .lines("an unknown coding", "Transfer-Encoding: gzip, chunked", .unknownTransferCoding, status: 501),
        .lines("another unknown coding", "Transfer-Encoding: xchunked", .unknownTransferCoding, status: 501),
        // Its lowercase letter in Unicode is an ASCII k.
        .lines(
            "chunked with a Kelvin sign", "Transfer-Encoding: chun\u{212A}ed", .unknownTransferCoding, status: 501),
        BadHead(
            "a coding on HTTP/1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", .ambiguousLength
        ),
        BadHead("no Host", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n", .badHost),
        BadHead("no field at all", "GET / HTTP/1.1\r\n\r\n", .badHost),
        BadHead("two Hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", .badHost),
        BadHead("an empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", .badHost),
        BadHead("a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", .badHost),
        BadHead("a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .badHost),
        BadHead("a Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", .badHost),
        BadHead("a Host with a port that is no number", "GET / HTTP/1.1\r\nHost: a:80a\r\n\r\n", .badHost),
        BadHead("a Host that is only a port", "GET / HTTP/1.1\r\nHost: :80\r\n\r\n", .badHost),
        BadHead("a Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", .badHost),
        BadHead("a target of another host", "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n", .badHost),
        .lines("a space in a name", "Na me: v", .malformedHead),
        .lines("a space before the colon", "Name : v", .malformedHead),
        .lines("a control character in a name", "Na\u{1}me: v", .malformedHead),
        .lines("an empty name", ": v", .malformedHead),
        .lines("a bare CR in a value", "Name: a\rb", .malformedHead),
        .lines("a control character in a value", "Name: a\u{7}b", .malformedHead),
        .lines("a NUL in a value", "Name: a\u{0}b", .malformedHead),
        .lines("a NUL that hides a value's end", "Name: a\u{0}", .malformedHead),
        .lines("a NUL that hides another host", "X: a\u{0}\r\nName: b", .malformedHead),
        .lines("a folded value", "Name: a\r\n b", .malformedHead),
        .lines("a value folded to nothing", "Name: a\r\n \r\nOther: b", .malformedHead),
        .lines("a bare LF after a field", "Name: a\nOther: b", .malformedHead),
        BadHead("a bare LF after the line", "GET / HTTP/1.1\nHost: x\r\n\r\n", .malformedHead),
        BadHead("a bare LF at the head's end", "GET / HTTP/1.1\r\nHost: x\r\n\n", .malformedHead),
        BadHead("a NUL in the target", "GET /a\u{0}b HTTP/1.1\r\nHost: x\r\n\r\n", .malformedHead),
        BadHead("a NUL in the method", "G\u{0}T / HTTP/1.1\r\nHost: x\r\n\r\n", .malformedHead),
        BadHead("a method that is no token", "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", .malformedHead),
        BadHead("two spaces after the method", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", .malformedHead),
        BadHead("a space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", .malformedTarget),
        BadHead("a control character in the target", "GET /a\u{7F} HTTP/1.1\r\nHost: x\r\n\r\n", .malformedTarget),
        BadHead("a target that is no path", "GET a HTTP/1.1\r\nHost: x\r\n\r\n", .malformedTarget),
        BadHead("a target of another scheme", "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", .malformedTarget),
        BadHead("an authority as target", "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", .malformedTarget),
    ]
}

extension MicroHTTPSuites {
    @Suite struct HeadTests {
        @Test(arguments: BadHead.all)
        func `A head that can be read in two ways is refused, and the connection with it`(_ head: BadHead) async throws
        {
            let handler = TestHandler(receive: { head in
                Issue.record("the handler saw \(head.fields.all)")
                return .accept(bodyLimit: 0)
            }) { _, _ in }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send(head.bytes + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
                let response = try client.response()
                #expect(response.status == head.status)
                #expect(response.body == head.reason.rawValue)
                #expect(response["content-type"] == "application/problem+json")
                #expect(response["connection"] == "close")
                #expect(try client.readToEnd() == "")
            }
        }

        @Test(arguments: [
            ("GET http://x/a%2Fb?q#r HTTP/1.1\r\nHost: x", "GET\n/a%2Fb\nq#r\n"),
            ("GET HTTP://X:80?q HTTP/1.1\r\nHost: x:80", "GET\n/\nq\n"),
            ("GET /a%2fb%00c HTTP/1.1\r\nHost: x", "GET\n/a%2fb%00c\n\n"),
            ("GET /a?b=%26&&c+d&=?e HTTP/1.1\r\nHost: [::1]:80", "GET\n/a\nb=%26&&c+d&=?e\n"),
            ("GET /? HTTP/1.1\r\nHost: x", "GET\n/\n\n"),
            ("GET //x/../y HTTP/1.1\r\nHost: x", "GET\n//x/../y\n\n"),
            ("OPTIONS * HTTP/1.1\r\nHost: x", "OPTIONS\n*\n\n"),
            ("PURGE / HTTP/1.1\r\nHost: x", "PURGE\n/\n\n"),
            ("get / HTTP/1.1\r\nHost: x", "get\n/\n\n"),
            ("GET / HTTP/1.0", "GET\n/\n\n"),
            ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n0", "POST\n/\n\n"),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0", "POST\n/\n\n"),
            ("GET / HTTP/1.1\r\nHost: \t x \t", "GET\n/\n\n"),
        ])
        func `Method, path and query reach the handler as they were sent`(_ request: String, _ seen: String)
            async throws
        {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send(request + "\r\n\r\n")
                #expect(try client.response().body == seen)
            }
        }

        @Test(arguments: [
            "Content-Length:5", "Content-Length: 5", "Content-Length: \t 5", "Transfer-Encoding:chunked",
            "Transfer-Encoding: \t CHUNKED", "Content-Length: 5\r\nConnection: keep-alive ",
            "Content-Length: 5\r\nExpect: 100-continue\t",
        ])
        func `A body ends for the library where it ends for us, whatever blanks its fields have`(_ framing: String)
            async throws
        {
            let handler = TestHandler(receive: { _ in .accept(bodyLimit: 16) }) { request, exchange in
                exchange.respond(.text("\(request.head.method) \(String(decoding: request.body, as: UTF8.self))"))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                let body = framing.contains("Transfer") ? "5\r\nhello\r\n0\r\n\r\n" : "hello"
                try client.send("POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\r\n\(body)")
                try client.send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "POST hello")
                #expect(try client.response().body == "GET ")
            }
        }

        @Test func `Fields are found by lower-case name, trimmed, in order, as often as they were sent`() async throws {
            let seen = Lock<HeaderFields?>(nil)
            let handler = TestHandler { request, exchange in
                seen.withLock { $0 = request.head.fields }
                exchange.respond(.text(request.head.remoteAddress))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port)
                try client.send(
                    "GET / HTTP/1.1\r\nHOST: x\r\nAccept:  a, b \t\r\nX-Empty:\r\naccept: c\r\nX-Umlaut: \u{FC}\r\n\r\n"
                )
                #expect(try client.response().body == "127.0.0.1")
                let fields = try #require(seen.withLock { $0 })
                #expect(fields["host"] == "x")
                #expect(fields["accept"] == "a, b")
                #expect(fields.values(of: "accept") == ["a, b", "c"])
                #expect(fields["x-empty"] == "")
                #expect(fields["x-umlaut"] == "\u{FC}")
                #expect(fields.bytes(of: "accept").map(Array.init) == Array("a, b".utf8))
                #expect(fields.contains("x-empty"))
                #expect(!fields.contains("x-absent"))
                #expect(fields["x-absent"] == nil)
                #expect(fields.all.map(\.name) == ["HOST", "Accept", "X-Empty", "accept", "X-Umlaut"])
            }
        }

        @Test(arguments: [
            ("127.0.0.1:80", "127.0.0.1"), ("[::1]", "127.0.0.1"), ("192.0.2.1", "127.0.0.1"), ("x", "unknown"),
        ])
        func `The address that a request came to is told where Host is one`(_ host: String, _ local: String)
            async throws
        {
            let handler = TestHandler { request, exchange in
                exchange.respond(.text("\(request.head.peer) \(request.head.local)"))
            }
            try await withServer(handler) { server in
                let client = try RawClient(port: server.port, from: 5)
                try client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(try client.response().body == "127.0.0.5 \(local)")
            }
        }

        @Test func `A head up to the limit is served, one byte more is 431`() async throws {
            try await withServer(TestHandler.echo, configure: { $0.headLimit = 4096 }) { server in
                func head(_ size: Int) -> String {
                    let start = "GET / HTTP/1.1\r\nHost: x\r\nX: "
                    return start + String(repeating: "x", count: size - start.utf8.count - 4) + "\r\n\r\n"
                }
                let client = try RawClient(port: server.port)
                try client.send(head(4096))
                #expect(try client.response().status == 200)
                try client.send(head(4097))
                let refusal = try client.response()
                #expect(refusal.status == 431)
                #expect(refusal.body == "headTooLarge")
                #expect(try client.readToEnd() == "")
            }
        }

        @Test(arguments: [
            ("one long value", "GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n"),
            ("many fields", "GET / HTTP/1.1\r\nHost: x\r\n\(String(repeating: "a: b\r\n", count: 4_000))\r\n"),
            ("many cookies", "GET / HTTP/1.1\r\nHost: x\r\nCookie: \(String(repeating: "a;", count: 4_000))\r\n\r\n"),
        ])
        func `A head beyond the connection's memory is 431 from the library`(_ what: String, _ request: String)
            async throws
        {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try? client.send(request)
                #expect(RawResponse(head: try client.readToEnd()).status == 431, "\(what)")
            }
        }

        @Test func `A query of very many parts costs the library nothing`() async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                let query = String(repeating: "a&", count: 7_000)
                try client.send("GET /?\(query) HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "GET\n/\n\(query)\n")
            }
        }

        @Test(arguments: [
            ("GET / HTTP/2.0\r\n\r\n", 505), ("GET / HTTP/0.9\r\n\r\n", 505), ("GET / HTTQ/1.1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 25 \r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 25\t\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +25\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
            ("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: x\r\nNa\u{0}me: v\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        ])
        func `Requests that the library itself refuses are refused`(_ request: String, _ status: Int) async throws {
            try await withServer(TestHandler.echo) { server in
                let client = try RawClient(port: server.port)
                try client.send(request)
                #expect(try client.response().status == status)
                #expect(try !client.readToEnd().contains("smuggled"))
                let next = try RawClient(port: server.port)
                try next.send("GET /next HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try next.response().body == "GET\n/next\n\n")
            }
        }
    }
}
