/// A point in time on the wall clock. Encoded as RFC 3339 text in UTC with milliseconds, `2026-01-31T23:59:59.250Z`.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// The time since 1970-01-01T00:00:00Z, without leap seconds.
    public let sinceEpoch: Duration

    /// Creates a point in time from the time since 1970-01-01T00:00:00Z.
    public init(sinceEpoch: Duration) { self.sinceEpoch = sinceEpoch }

    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.sinceEpoch < right.sinceEpoch }

    /// Returns the time plus a duration.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(sinceEpoch: time.sinceEpoch + duration)
    }

    /// Returns the time minus a duration.
    public static func - (time: Timestamp, duration: Duration) -> Timestamp {
        Timestamp(sinceEpoch: time.sinceEpoch - duration)
    }

    /// Returns the time between two points in time.
    public static func - (left: Timestamp, right: Timestamp) -> Duration { left.sinceEpoch - right.sinceEpoch }
}

extension Timestamp: CustomStringConvertible {
    /// The time as RFC 3339 text in UTC with milliseconds.
    public var description: String {
        let (seconds, attoseconds) = sinceEpoch.components
        // The remainder of a time before 1970 is negative.
        let milliseconds = attoseconds / 1_000_000_000_000_000
        let isBefore = milliseconds < 0
        let digits = "\(1_000 + (isBefore ? milliseconds + 1_000 : milliseconds))".dropFirst()
        return "\(Self.text(isBefore ? seconds - 1 : seconds)).\(digits)Z"
    }

    /// The time as RFC 3339 text in UTC with whole seconds: `2026-01-31T23:59:59Z`.
    public var wholeSeconds: String { "\(Self.text(sinceEpoch.components.seconds))Z" }

    private static func text(_ seconds: Int64) -> String {
        let days = seconds.flooredDivision(by: 86_400)
        let rest = seconds - days * 86_400
        let (year, month, day) = civilDate(daysSinceEpoch: days)
        let digits = "\(10_000 + year)".dropFirst()
        return "\(digits)-\(two(month))-\(two(day))T\(two(rest / 3_600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
    }

    /// Computes the Gregorian date in eras of 400 years that begin on March 1, so that a leap day comes last.
    private static func civilDate(daysSinceEpoch: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = daysSinceEpoch + 719_468
        let era = days.flooredDivision(by: 146_097)
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension Timestamp {
    /// Parses an RFC 3339 date and time with any offset; nil if the text is invalid.
    public init?(_ text: some StringProtocol) {
        var rest = Substring(text).utf8[...]
        func digits(_ count: Int) -> Int64? {
            let digits = rest.prefix(count)
            guard digits.count == count, digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
            rest = rest.dropFirst(count)
            return digits.reduce(0) { $0 * 10 + Int64($1 - 48) }
        }
        func take(_ characters: String) -> UInt8? {
            guard let first = rest.first, characters.utf8.contains(first) else { return nil }
            rest = rest.dropFirst()
            return first
        }
        guard let year = digits(4), take("-") != nil, let month = digits(2), take("-") != nil, let day = digits(2),
            take("Tt ") != nil, let hour = digits(2), take(":") != nil, let minute = digits(2), take(":") != nil,
            let second = digits(2), (1...12).contains(month), hour < 24, minute < 60, second < 61
        else { return nil }
        var fraction: Int64 = 0
        if take(".") != nil {
            let part = rest.prefix { (48...57).contains($0) }
            guard !part.isEmpty else { return nil }
            rest = rest.dropFirst(part.count)
            let digits = part.prefix(9).map { Int64($0 - 48) }
            fraction = (digits + Array(repeating: 0, count: 9 - digits.count)).reduce(0) { $0 * 10 + $1 }
        }
        var offset: Int64 = 0
        if take("Zz") == nil {
            guard let sign = take("+-"), let hours = digits(2), take(":") != nil, let minutes = digits(2),
                hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 3_600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
        }
        guard rest.isEmpty else { return nil }
        let days = Self.days(year, month, day)
        // A day that does not exist in the month gives another date.
        guard day > 0, Self.civilDate(daysSinceEpoch: days) == (year, month, day) else { return nil }
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        self.init(sinceEpoch: .seconds(seconds) + .nanoseconds(fraction))
        // An offset may lead to a year that has no text.
        guard Self.writable.contains(sinceEpoch) else { return nil }
    }

    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year.flooredDivision(by: 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}

extension Timestamp: Codable {
    /// Decodes RFC 3339 text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let time = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a time is written as 2026-01-31T23:59:59Z")
        }
        self = time
    }

    /// Encodes RFC 3339 text in UTC. Fractions of a millisecond are dropped.
    ///
    /// - Throws: `EncodingError` outside the years 0000 to 9999, which RFC 3339 has no text for.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        guard Self.writable.contains(sinceEpoch) else {
            throw EncodingError.invalidValue(
                self,
                .init(
                    codingPath: encoder.codingPath,
                    debugDescription:
                        "a time must be in the years 0000 to 9999; use an optional for one that never comes"))
        }
        try container.encode(description)
    }

    /// The years 0000 to 9999.
    private static let writable =
        Duration.seconds(days(0, 1, 1) * 86_400)..<Duration.seconds(days(10_000, 1, 1) * 86_400)
}

extension Int64 {
    fileprivate func flooredDivision(by divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : -((divisor - 1 - self) / divisor)
    }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Nanoseconds since a fixed point, to measure durations. `ContinuousClock` costs ten times as much, and this is read
/// twice per turn.
@usableFromInline
package func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
}

extension Timestamp {
    /// The machine's wall-clock time.
    static var system: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(sinceEpoch: .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec)))
    }
}

extension Duration {
    /// The whole nanoseconds; 0 if negative.
    @usableFromInline var nanoseconds: UInt64 {
        UInt64(clamping: components.seconds) &* 1_000_000_000
            &+ UInt64(clamping: components.attoseconds / 1_000_000_000)
    }
}
