import Locking
import Logging

/// Passes lines on to another handler so that clients can neither flood a log nor forge its lines.
///
/// * At most 20 lines of each place in the code are passed on in ten seconds. Before the next line of any place, a
///   summary says how many lines of which place were dropped. Lines below `info` are not limited.
/// * Characters that end a line, are invisible or change the direction of text are escaped in the message and in
///   metadata values. Values with blanks, `=` or quotes are quoted.
struct BoundedLogHandler: LogHandler {
    /// The counts, shared by all copies of a handler.
    private let counts: Lock<LogCounts>
    private let now: @Sendable () -> Duration
    private let isBounded: Bool
    /// True if the other handler writes text. A handler that writes JSON escapes by itself.
    private let escapes: Bool
    private var base: any LogHandler

    /// Creates a handler in front of another one.
    ///
    /// - Parameter now: the time on a monotonic clock.
    init(_ base: any LogHandler, now: @escaping @Sendable () -> Duration) {
        self.base = base
        self.now = now
        (isBounded, escapes) = (true, !(base is JSONLogHandler))
        counts = Lock(LogCounts())
    }

    /// Creates a handler that escapes and does not limit.
    init(unbounded base: any LogHandler) {
        self.base = base
        now = { .zero }
        (isBounded, escapes) = (false, !(base is JSONLogHandler))
        counts = Lock(LogCounts())
    }

    var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = escapes ? newValue.mapValues(\.asOneValue) : newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { base.metadataProvider }
        set { base.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = escapes ? newValue?.asOneValue : newValue }
    }

    func log(event: LogEvent) {
        if isBounded, event.level >= .info {
            let place = LogCounts.Place(file: event.file, line: event.line)
            let now = now()
            let (isPassedOn, leftOut) = counts.withLock { $0.note(place, now: now) }
            for (place, count) in leftOut {
                var summary = event
                summary.level = .warning
                summary.message = "Log lines were dropped: too many of one place"
                summary.metadata = ["count": "\(count)", "place": "\(place.file):\(place.line)"]
                base.log(event: summary)
            }
            guard isPassedOn else { return }
        }
        guard escapes else { return base.log(event: event) }
        var event = event
        event.message = "\(event.message.description.withoutInvisibles)"
        event.metadata = event.metadata?.mapValues(\.asOneValue)
        base.log(event: event)
    }
}

/// The number of recent lines for each place in the code. Bounded, because the code has a fixed number of places.
struct LogCounts {
    struct Place: Hashable {
        let file: String
        let line: UInt
    }

    static let limit = 20
    static let period: Duration = .seconds(10)

    private var counts: [Place: (since: Duration, count: Int)] = [:]

    /// Counts a line. Returns whether it is passed on, and the dropped lines of past periods.
    mutating func note(_ place: Place, now: Duration) -> (isPassedOn: Bool, leftOut: [(Place, Int)]) {
        var leftOut: [(Place, Int)] = []
        for (other, count) in counts where now - count.since >= Self.period {
            if count.count > Self.limit { leftOut.append((other, count.count - Self.limit)) }
            counts[other] = nil
        }
        let count = counts[place] ?? (now, 0)
        counts[place] = (count.since, count.count + 1)
        return (count.count < Self.limit, leftOut)
    }
}

extension Logger.MetadataValue {
    /// The same value, quoted so that it cannot look like two values or the end of a line.
    fileprivate var asOneValue: Self {
        switch self {
        case .string(let text): .string(text.asOneValue)
        case .stringConvertible(let value): .string(value.description.asOneValue)
        case .dictionary(let values): .dictionary(values.mapValues(\.asOneValue))
        case .array(let values): .array(values.map(\.asOneValue))
        }
    }
}

extension String {
    fileprivate var asOneValue: String {
        let isPlain = !isEmpty && utf8.allSatisfy { $0 != 0x20 && $0 != 0x22 && $0 != 0x3D && $0 != 0x5C }
        if isPlain { return withoutInvisibles }
        // Backslashes first: a backslash before a quote must not end the value.
        let escaped = replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"" + escaped.withoutInvisibles + "\""
    }
}
