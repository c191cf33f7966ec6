import Locking
import Logging
import Testing

@testable import MVIServer

@Suite("A log that clients can neither flood nor forge")
struct BoundedLogTests {
    /// Records messages.
    private struct Recorder: LogHandler {
        let events: Lock<[LogEvent]>
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { events.withLock { $0.append(event) } }
    }

    private let events = Lock<[LogEvent]>([])
    private let time = Lock(Duration.seconds(100))

    private var logger: Logger {
        Logger(label: "test") { [events, time] _ in
            BoundedLogHandler(Recorder(events: events)) { time.withLock { $0 } }
        }
    }

    private var messages: [String] { events.withLock { $0.map(\.message.description) } }

    @Test("lines of one place are limited, and a summary counts the dropped ones")
    func flood() {
        let logger = logger
        func complain() { logger.error("The disk is full") }
        for _ in 0..<500 { complain() }
        logger.error("Something else")
        #expect(messages == Array(repeating: "The disk is full", count: LogCounts.limit) + ["Something else"])
        time.withLock { $0 += LogCounts.period }
        logger.info("Later")
        let summary = events.withLock { $0[LogCounts.limit + 1] }
        #expect(summary.level == .warning)
        #expect(summary.metadata?["count"] == "\(500 - LogCounts.limit)")
        #expect(summary.metadata?["place"].map { "\($0)".contains("BoundedLogTests.swift:") } == true)
        #expect(messages.last == "Later" && messages.count == LogCounts.limit + 3)
        complain()
        #expect(messages.last == "The disk is full")
    }

    @Test("copies of a logger share the limit, and debug lines have none")
    func copies() {
        let logger = logger
        for number in 0..<100 {
            var copy = logger
            copy[metadataKey: "number"] = "\(number)"
            copy.warning("of one place")
            copy.debug("asked for")
        }
        #expect(messages.count { $0 == "of one place" } == LogCounts.limit)
        #expect(messages.count { $0 == "asked for" } == 100)
    }

    @Test(
        "line ends, invisible characters and direction marks are escaped, and ambiguous values are quoted",
        arguments: [
            ("plain", "plain"), ("two words", "\"two words\""), ("a=b", "\"a=b\""), ("say \"x\"", "\"say \\\"x\\\"\""),
            ("a\\", "\"a\\\\\""), ("a\\\" b", "\"a\\\\\\\" b\""), ("", "\"\""), ("a\nb", "a\\u{a}b"),
            ("a\u{85}b", "a\\u{85}b"), ("a\u{2028}b", "a\\u{2028}b"),
            ("a\u{202E}b", "a\\u{202e}b"), ("a\u{7F}b", "a\\u{7f}b"), ("größe", "größe"),
            ("a\u{200B}b", "a\\u{200b}b"), ("a\u{2060}b", "a\\u{2060}b"), ("a\u{AD}b", "a\\u{ad}b"),
            ("a\u{200D}b", "a\\u{200d}b"), ("a\u{FE0F}b", "a\\u{fe0f}b"), ("a\u{3164}b", "a\\u{3164}b"),
            ("a\u{2800}b", "a\\u{2800}b"), ("a\u{E0041}b", "a\\u{e0041}b"), ("a\u{2067}b", "a\\u{2067}b"),
            // Blanks for a reader, but not for a parser.
            ("a\u{A0}level=b", "\"a\\u{a0}level=b\""), ("a\u{2003}b", "a\\u{2003}b"), ("猫 🐈", "\"猫 🐈\""),
        ])
    func values(_ value: String, _ shown: String) {
        var logger = logger
        logger[metadataKey: "own"] = "\(value)"
        logger.info("about \(value)", metadata: ["value": "\(value)", "list": ["\(value)"]])
        let event = events.withLock { $0[0] }
        #expect(event.metadata?["value"] == .string(shown))
        #expect(event.metadata?["list"] == .array([.string(shown)]))
        #expect(
            !event.message.description.unicodeScalars.contains { $0.value < 0x20 || (0x7F..<0xA0).contains($0.value) })
    }
}
