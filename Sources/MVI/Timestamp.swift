import RFC3339

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
        return RFC3339.text(
            seconds: isBefore ? seconds - 1 : seconds, milliseconds: isBefore ? milliseconds + 1_000 : milliseconds)
    }

    /// The time as RFC 3339 text in UTC with whole seconds: `2026-01-31T23:59:59Z`.
    public var wholeSeconds: String { RFC3339.text(seconds: sinceEpoch.components.seconds) }
}

extension Timestamp {
    /// Parses an RFC 3339 date and time with any offset; nil if the text is invalid.
    public init?(_ text: some StringProtocol) {
        guard let (seconds, nanoseconds) = RFC3339.parse(Substring(text)) else { return nil }
        self.init(sinceEpoch: .seconds(seconds) + .nanoseconds(nanoseconds))
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
        Duration.seconds(RFC3339.seconds.lowerBound)..<Duration.seconds(RFC3339.seconds.upperBound)
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
    package static var system: Timestamp {
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
