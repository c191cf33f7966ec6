import Logging
import MVI
import Sessions
import WireJSON

/// Writes each line as one JSON object to the standard output, for log collectors: `time` (RFC 3339), `level`,
/// `logger`, `message`, and each metadata value as a member.
///
/// Safe to call from any thread. A call never waits for the log's reader: see `LogFormat.handler(label:)`.
public struct JSONLogHandler: LogHandler {
    public var logLevel = Logger.Level.info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let write: @Sendable ([UInt8]) -> Void
    private let now: @Sendable () -> Timestamp

    /// Creates a handler for the logger with a name.
    public init(label: String) { self.init(label: label, write: LogOutput.standard.add) }

    init(
        label: String,
        now: @escaping @Sendable () -> Timestamp = { Timestamp(sinceEpoch: TimeSource.system.sinceEpoch()) },
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        (self.label, self.now, self.write) = (label, now, write)
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var line: [UInt8] = Array("{\"time\":".utf8)
        WireJSON.appendString(now().description, to: &line)
        Self.append("level", event.level.rawValue, to: &line)
        Self.append("logger", label, to: &line)
        Self.append("message", event.message.description, to: &line)
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            // Metadata must not replace the line's own members.
            let name = ["time", "level", "logger", "message"].contains(key) ? "_\(key)" : key
            line.append(UInt8(ascii: ","))
            Self.appendText(name, to: &line)
            line.append(UInt8(ascii: ":"))
            Self.append(value, to: &line)
        }
        line += Array("}\n".utf8)
        write(line)
    }

    private static func append(_ name: String, _ value: String, to line: inout [UInt8]) {
        line += Array(",\"\(name)\":".utf8)
        Self.appendText(value, to: &line)
    }

    private static func append(_ value: Logger.MetadataValue, to line: inout [UInt8]) {
        switch value {
        case .string(let text): Self.appendText(text, to: &line)
        case .stringConvertible(let value): Self.appendText(value.description, to: &line)
        case .array(let values):
            line.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                append(value, to: &line)
            }
            line.append(UInt8(ascii: "]"))
        case .dictionary(let values):
            line.append(UInt8(ascii: "{"))
            for (index, (key, value)) in values.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { line.append(UInt8(ascii: ",")) }
                Self.appendText(key, to: &line)
                line.append(UInt8(ascii: ":"))
                append(value, to: &line)
            }
            line.append(UInt8(ascii: "}"))
        }
    }

    private static func appendText(_ text: String, to line: inout [UInt8]) {
        var written: [UInt8] = []
        WireJSON.appendString(text, to: &written)
        line += written.withoutInvisiblesInJSON
    }
}

/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// Text for people, as swift-log's own handler writes it.
    case text
    /// One JSON object for each line; see `JSONLogHandler`.
    case json

    /// Returns a handler to the standard output. A thread of its own writes the lines, so a reader that is too slow
    /// stops no thread that serves: lines beyond 1 MiB are dropped, and counted in a line and in
    /// `mvi_log_lines_dropped_total`.
    public func handler(label: String) -> any LogHandler {
        LogOutput.standard.use(self)
        return handler(label: label, write: LogOutput.standard.add)
    }

    /// Returns a handler that calls `write` with each line and its end.
    func handler(label: String, write: @escaping @Sendable ([UInt8]) -> Void) -> any LogHandler {
        switch self {
        case .text: StreamLogHandler(label: label, stream: TextLines(write: write))
        case .json: JSONLogHandler(label: label, write: write)
        }
    }
}

/// Passes the texts of swift-log's handler on, one line each.
private struct TextLines: TextOutputStream, Sendable {
    let write: @Sendable ([UInt8]) -> Void

    mutating func write(_ string: String) { write(Array(string.utf8)) }
}
