import Locking
import Logging

/// Passes lines on to another handler so that clients can neither flood a log nor forge its lines.
///
/// * Of each place in the code at most 20 lines are passed on in ten seconds. The next line that is passed on, of whatever
///   place, follows one that says how many were left out and where. Lines below `info` are all passed on: they are there
///   for who asked for them.
/// * Characters that end a line, hide or turn text are written as escapes, in the message and in the values of metadata;
///   a value with blanks, `=` or quotes is put in quotes.
struct BoundedLogHandler: LogHandler {
    /// The counts shared by all copies of a handler.
    private let counts: Lock<LogCounts>
    private let now: @Sendable () -> Duration
    private let isBounded: Bool
    /// True if the handler behind writes JSON, which has escapes of its own.
    private let escapes: Bool
    private var base: any LogHandler

    /// A handler before another one.
    ///
    /// - Parameter now: the time on a monotonic clock.
    init(_ base: any LogHandler, now: @escaping @Sendable () -> Duration) {
        self.base = base
        self.now = now
        (isBounded, escapes) = (true, !(base is JSONLogHandler))
        counts = Lock(LogCounts())
    }

    /// A handler that passes all lines on, as ones that nobody can forge.
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
                summary.message = "Lines of one kind were left out: there were too many"
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

/// The numbers of recently logged lines by their place in the code. The code has a fixed number of places, so this is
/// bounded.
struct LogCounts {
    struct Place: Hashable {
        let file: String
        let line: UInt
    }

    static let limit = 20
    static let period: Duration = .seconds(10)

    private var counts: [Place: (since: Duration, count: Int)] = [:]

    /// Counts a line. Whether it is passed on, and which lines were left out in periods that are over.
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
    /// The same as text that cannot be taken for two values, or for a line's end.
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
        // Backslashes first: one before a quote must not make the quote the value's end.
        let escaped = replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"" + escaped.withoutInvisibles + "\""
    }

    /// Without characters that end a line, hide or turn text: they are written as `\u{…}`.
    fileprivate var withoutInvisibles: String {
        guard unicodeScalars.contains(where: \.isInvisible) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isInvisible {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

extension Unicode.Scalar {
    /// True if a reader of a log does not see the character, or takes it for a blank: controls, separators, marks that turn
    /// the direction of text (UAX 9), and all that Unicode says may be shown as nothing, such as zero-width spaces, soft
    /// hyphens and variation selectors. The blank of ASCII is none of them.
    var isInvisible: Bool {
        if value < 0x7F { return value < 0x20 }
        // A Braille pattern without dots is a symbol to Unicode.
        if properties.isDefaultIgnorableCodePoint || value == 0x2800 { return true }
        switch properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: return true
        default: return false
        }
    }
}
