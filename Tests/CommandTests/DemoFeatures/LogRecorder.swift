import Locking
import Logging

/// Keeps log lines as "message key=value …" with sorted keys. The intent's id is kept separately.
final class LogRecorder: Sendable {
    private let kept = Lock((entries: [String](), intents: [String]()))

    var entries: [String] { kept.withLock { $0.entries } }
    var intents: [String] { kept.withLock { $0.intents } }

    var logger: Logger { Logger(label: "test") { _ in Handler(recorder: self) } }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            var values = event.metadata ?? [:]
            let intent = values.removeValue(forKey: "intent")
            let pairs = values.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            let entry = "\(event.message)\(pairs.joined())"
            recorder.kept.withLock { kept in
                kept.entries.append(entry)
                if let intent { kept.intents.append("\(intent)") }
            }
        }
    }
}
