import Locking
import Logging

/// Keeps log messages of level info and above.
public final class LogKeeper: LogHandler, Sendable {
    private let kept = Lock<[(message: String, metadata: String)]>([])

    public init() {}

    /// Each line's level and message.
    public var messages: [String] { kept.withLock { $0.map(\.message) } }
    /// The same, followed by the metadata.
    public var lines: [String] { kept.withLock { $0.map { "\($0.message) \($0.metadata)" } } }
    public var logger: Logger { Logger(label: "test", factory: { _ in self }) }

    public subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    public var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }

    public var logLevel: Logger.Level {
        get { .info }
        set {}
    }

    public func log(event: LogEvent) {
        kept.withLock { $0.append(("\(event.level) \(event.message)", "\(event.metadata ?? [:])")) }
    }
}
