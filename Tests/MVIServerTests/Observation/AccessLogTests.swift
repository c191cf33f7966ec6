import Locking
import Logging
import MVI
import TestSupport
import Testing

@testable import MVIServer

@Suite("Access log and log formats")
struct AccessLogTests {
    @Test("each answer is a line with client, request and outcome, without a token", arguments: Depth.allCases)
    func lines(_ depth: Depth) async throws {
        let keeper = LogKeeper()
        try await TestServer.run(depth, accessLog: keeper.logger) { server in
            let session = try await server.session()
            _ = try await server.send(
                TestRequest(
                    "POST", "/features/probe/intents?secret=1",
                    [
                        session.field, ("Content-Type", "application/json"), ("X-Request-Id", "req-1"),
                        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
                    ], body: #"{"type":"increment"}"#))
            _ = try await server.send(TestRequest("GET", "/nowhere"))
            let lines = keeper.lines
            #expect(lines.count == 3)
            let line = try #require(lines.dropFirst().first)
            for part in [
                "\"method\": POST", "\"path\": /features/probe/intents", "\"status\": 202", "\"request\": req-1",
                "\"session\": \(session.id)", "\"feature\": probe", "\"intent\": ",
                "\"trace\": 0af7651916cd43dd8448eb211c80319c", "\"client\": 127.0.0.1",
            ] { #expect(line.contains(part), "\(line) lacks \(part)") }
            #expect(!line.contains("secret"))
            #expect(!lines.contains { $0.contains(session.secret) })
            #expect(lines.last?.contains("\"problem\": not-found") == true)
        }
    }

    @Test("a request id that could forge a line is not used")
    func forgedID() async throws {
        let keeper = LogKeeper()
        try await TestServer.run(.memory, accessLog: keeper.logger) { server in
            _ = try await server.send(TestRequest("GET", "/features", [("X-Request-Id", "a b\u{1B}[2J")]))
            let line = try #require(keeper.lines.first)
            #expect(line.contains("\"request\": "))
            #expect(!line.contains("a b"))
        }
    }

    @Test(
        "a malformed or repeated traceparent is ignored",
        arguments: [
            [
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            ],
            ["00-00000000000000000000000000000000-b7ad6b7169203331-01"],
            ["00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"],
            ["00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"],
            ["ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
            ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"],
            ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"], ["forged"],
            ["01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-" + String(repeating: "x", count: 100)],
        ])
    func badTraceParent(_ values: [String]) async throws {
        let keeper = LogKeeper()
        try await TestServer.run(.memory, accessLog: keeper.logger) { server in
            _ = try await server.send(TestRequest("GET", "/features", values.map { ("traceparent", $0) }))
            let line = try #require(keeper.lines.first)
            #expect(!line.contains("\"trace\""))
        }
    }

    @Test(
        "lines about client data have no invisible characters, as text and as JSON",
        arguments: LogFormat.allCases)
    func invisible(_ format: LogFormat) async throws {
        let written = Lock<[String]>([])
        let json = JSONLogHandler(label: "mvi", now: { Timestamp(sinceEpoch: .seconds(1)) }) { bytes in
            written.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        let keeper = LogKeeper()
        let base: any LogHandler = format == .json ? json : keeper
        let logger = Logger(label: "mvi") { _ in BoundedLogHandler(unbounded: base) }
        try await TestServer.run(.socket, accessLog: logger) { server in
            _ = try await server.send(TestRequest("GET", "/a\u{202E}\u{200B}b\u{85}c\u{FEFF}\u{E0041}"))
        }
        let line = try #require((keeper.lines + written.withLock { $0 }).first)
        #expect(!line.unicodeScalars.contains { $0.isInvisible && $0 != "\n" })
        #expect(
            line.contains(
                format == .json ? #"/a\u202e\u200bb\u0085c\ufeff\udb40\udc41"# : #"/a\u{202e}\u{200b}b\u{85}c"#))
    }

    @Test("lines of the access log are not limited, those of other logs are")
    func unbounded() {
        let keeper = LogKeeper()
        let access = Logger(label: "a") { _ in BoundedLogHandler(unbounded: keeper) }
        for _ in 0..<50 { access.info("Answered", metadata: ["path": "/a b"]) }
        #expect(keeper.lines.count == 50)
        #expect(keeper.lines[0].contains(#""/a b""#))
    }

    @Test("a JSON line is one object with the metadata as members, whatever they hold")
    func json() {
        let written = Lock<[String]>([])
        let handler = JSONLogHandler(label: "mvi", now: { Timestamp(sinceEpoch: .seconds(1)) }) { bytes in
            written.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
        let logger = Logger(label: "mvi") { _ in BoundedLogHandler(handler) { .zero } }
        logger.info(
            "two\nlines", metadata: ["b": ["x", "y"], "a": "q\"\u{1B}", "level": "forged", "c": ["k": "v"]])
        let line = """
            {"time":"1970-01-01T00:00:01.000Z","level":"info","logger":"mvi","message":"two\\nlines",\
            "a":"q\\"\\u001b","b":["x","y"],"c":{"k":"v"},"_level":"forged"}

            """
        #expect(written.withLock { $0 } == [line])
    }
}
