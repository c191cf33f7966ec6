import TestSupport
import Testing

@testable import mvi_tools

@Suite("mvi-server top", .timeLimit(.minutes(5)))
struct TopCommandTests {
    @Test(arguments: [
        ("127.0.0.1:8081", "http://127.0.0.1:8081/metrics", "http://127.0.0.1:8081"),
        ("http://[::1]:8081/", "http://[::1]:8081/metrics", "http://[::1]:8081"),
        ("https://a.example/mvi/metrics?x=1#y", "https://a.example/mvi/metrics", "https://a.example"),
    ])
    func `an address is one with or without scheme and path`(text: String, url: String, shown: String) {
        #expect(MetricsAddress(text)?.url == url && MetricsAddress(text)?.shown == shown)
    }

    @Test(arguments: ["", "http://", "ftp://a", "http://a b", "http://user:secret@a.example", "/metrics"])
    func `malformed addresses and passwords are refused`(text: String) { #expect(MetricsAddress(text) == nil) }

    @Test(arguments: [("404 Not Found", "404; there are no metrics"), ("401 Unauthorized", "MVI_ADMIN_TOKEN")])
    func `a refusing server and a missing one are reported`(status: String, words: String) async throws {
        let server = try RawServer(.whole("HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"))
        defer { server.stop() }
        let client = MetricsClient(
            try #require(MetricsAddress(server.address)), token: nil, patience: .seconds(60))
        let failure = await #expect(throws: MetricsFailure.self) { try await client.read() }
        #expect(failure?.reason.contains(words) == true)
        // No server listens on it.
        let nowhere = MetricsClient(try #require(MetricsAddress("127.0.0.1:1")), token: nil, patience: .seconds(60))
        let none = await #expect(throws: MetricsFailure.self) { try await nowhere.read() }
        #expect(none == MetricsFailure(reason: "the connection failed"))
    }

    @Test func `the token is sent, and the answer is read`() async throws {
        let server = try RawServer(.content(Array("mvi_intents_total 3\n".utf8)))
        defer { server.stop() }
        let address = try #require(MetricsAddress(server.address))
        let client = MetricsClient(address, token: "secret", patience: .seconds(60))
        var watch = Watch(address: address.shown)
        await client.ask(&watch)
        #expect(watch.isAnswering)
        let request = try #require(server.requests.first)
        #expect(request.hasPrefix("GET /metrics HTTP/1.1\r\n") && request.contains("Authorization: Bearer secret\r\n"))
    }

    @Test(arguments: [
        ("2s", Duration.seconds(2)), ("500ms", .milliseconds(500)), ("100ms", .milliseconds(100)),
        ("3600s", .seconds(3_600)),
        ("99ms", nil), ("3601s", nil), ("2", nil), ("", nil), ("s", nil), ("-1s", nil), ("9223372036854775807s", nil),
    ])
    func `an interval is a time from a tenth of a second to an hour`(text: String, time: Duration?) {
        #expect(TopCommand.time(text) == time)
    }

    @Test func `a frame goes from the top, line by line, and erases what is left`() {
        let frame = Screen.frame([TableLine("ab", .bad), TableLine("c")], columns: 80, hasColours: false)
        #expect(String(decoding: frame, as: UTF8.self) == "\u{1B}[Hab\u{1B}[K\r\nc\u{1B}[K\u{1B}[J")
    }
}
