import Locking
import Logging

/// Keeps log lines.
final class TestLog: Sendable {
    private struct Handler: LogHandler {
        let log: TestLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            let line = (["\(event.level):", "\(event.message)"] + details).joined(separator: " ")
            log.kept.withLock { $0.append(line) }
        }
    }

    private let kept = Lock<[String]>([])

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    /// All lines, each with its level first.
    var lines: [String] { kept.withLock { $0 } }

    /// Returns the number of lines that contain a text.
    func count(_ text: String) -> Int { lines.filter { $0.contains(text) }.count }
}
