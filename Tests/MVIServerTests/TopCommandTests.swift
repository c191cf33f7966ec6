import Testing
import Top

@testable import MVIServer
@testable import mvi_server

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
    func `what is no address, or has a password, is none`(text: String) { #expect(MetricsAddress(text) == nil) }

    @Test func `a server without metrics, and none at all, are said`() async throws {
        try await TestServer.run(.socket) { server in
            let client = MetricsClient(
                try #require(MetricsAddress("127.0.0.1:\(server.port)")), token: nil, patience: .seconds(60))
            let failure = await #expect(throws: MetricsFailure.self) { try await client.read() }
            #expect(failure?.reason.contains("404; it has no metrics there") == true)
        }
        // No server listens on it.
        let nowhere = MetricsClient(try #require(MetricsAddress("127.0.0.1:1")), token: nil, patience: .seconds(60))
        let failure = await #expect(throws: MetricsFailure.self) { try await nowhere.read() }
        #expect(failure == MetricsFailure(reason: "nothing listens there"))
    }

    @Test func `a server that wants a token gets it, and says so without it`() async throws {
        try await AdminPort.run(.socket) { port async throws in
            let admin = try #require(port.server.assembly.admin)
            let address = try #require(MetricsAddress("http://127.0.0.1:\(admin.port)/admin/sessions"))
            let without = MetricsClient(address, token: nil, patience: .seconds(60))
            let failure = await #expect(throws: MetricsFailure.self) { try await without.read() }
            #expect(failure?.reason.contains("MVI_ADMIN_TOKEN") == true)
            let with = MetricsClient(address, token: AdminPort.token, patience: .seconds(60))
            var watch = Watch(address: address.shown)
            await with.ask(&watch)
            #expect(watch.isAnswering)
        }
    }

    @Test func `a frame goes from the top, line by line, and erases what is left`() {
        let frame = Screen.frame([Line("ab", .bad), Line("c")], columns: 80, hasColours: false)
        #expect(String(decoding: frame, as: UTF8.self) == "\u{1B}[Hab\u{1B}[K\r\nc\u{1B}[K\u{1B}[J")
    }
}
