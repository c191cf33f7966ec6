import Logging
import MVI
import WireJSON

/// Logs the events of every store: one line for each event, with the event's kind as message and the rest as metadata.
///
/// Values are written as JSON, on one line and cut to a length. If the logger's level hides the lines, nothing is
/// observed.
public struct LoggingMiddleware: CommonMiddleware {
    private let logger: Logger
    private let level: Logger.Level
    private let valueLength: Int

    /// Creates a middleware that logs to `logger`.
    ///
    /// - Parameters:
    ///   - logger: the destination of the lines.
    ///   - level: the level of all events but refusals, which are `info` if that is higher. A server logs failures by
    ///     itself, as errors.
    ///   - valueLength: the number of bytes of a value to log; 0 hides values, for features with private states or
    ///     intents.
    public init(logger: Logger, level: Logger.Level = .debug, valueLength: Int = 200) {
        self.logger = logger
        self.level = level
        self.valueLength = valueLength
    }

    public func middleware<F: Feature>(for feature: F.Type) -> Middleware<F> {
        guard logger.logLevel <= level else { return Middleware() }
        return .observing { log($0) }
    }

    private func log<F: Feature>(_ observation: StoreObservation<F>) {
        let line = describe(observation.event)
        var metadata: Logger.Metadata = [
            "feature": .string(observation.instance), "session": .string(observation.session.id),
            "intent": .string(observation.intentID.text),
        ]
        if let value = line.value { metadata["value"] = .string(value) }
        logger.log(level: line.level, "\(line.kind)", metadata: metadata)
    }

    private func describe<F: Feature>(
        _ event: StoreObservation<F>.Event
    ) -> (kind: String, level: Logger.Level, value: String?) {
        switch event {
        case .started(let life): ("started", level, "\(life)")
        case .intent(let intent): ("intent", level, text(intent))
        case .refused(let intent, _): ("refused", max(level, .info), text(intent))
        case .action(let action): ("action", level, text(action))
        case .message(let message, _, _): ("message", level, text(message))
        case .label(let label): ("label", level, text(label))
        case .failed(let failure): ("failed", level, text(describe(failure)))
        case .ended: ("ended", level, nil)
        }
    }

    private func describe(_ failure: Failure) -> String {
        let intent = failure.intentName.map { " of \($0)" } ?? ""
        return "\(failure.stage)\(intent): \(failure.error)"
    }

    /// A value as JSON without secrets; the quoted description of a value that is not `Encodable`.
    private func text<Value>(_ value: Value) -> String? {
        guard valueLength > 0 else { return nil }
        let encodable = value as? any Encodable ?? String(describing: value)
        guard let json = try? WireJSON.encode(encodable, userInfo: SecretCoding.hiding) else {
            return "not encodable as JSON"
        }
        guard json.count > valueLength else { return String(decoding: json, as: UTF8.self) }
        return String(decoding: json.prefix(valueLength), as: UTF8.self) + "…"
    }
}
