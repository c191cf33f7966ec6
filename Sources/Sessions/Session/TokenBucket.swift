/// A rate limit.
package struct Rate: Sendable, Equatable {
    /// The number of events per second in the long run.
    package let perSecond: Int
    /// The number of events at once after a pause.
    package let burst: Int

    /// A rate with bursts of so many seconds' worth; nil for 0 per second, which means no limit.
    package init?(perSecond: Int, burstSeconds: Int) {
        guard perSecond > 0 else { return nil }
        self.perSecond = perSecond
        burst = perSecond * burstSeconds
        interval = max(1, 1_000_000_000 / Int64(perSecond))
    }

    /// A rate of less than one event per second, with bursts of an hour's worth.
    package init(perHour: Int) {
        (perSecond, burst) = (0, perHour)
        interval = 3_600_000_000_000 / Int64(perHour)
    }

    /// Nanoseconds between two events.
    fileprivate let interval: Int64
}

/// A token bucket in eight bytes: the generic cell rate algorithm (ITU-T I.371), which stores the time when the bucket
/// will be full again.
package struct TokenBucket: Sendable {
    /// On the monotonic clock, in nanoseconds.
    private var fullAt: Int64 = .min

    package init() {}

    /// Takes a token. Returns nil if there was one, otherwise the time until there is one.
    package mutating func take(_ rate: Rate, now: Duration) -> Duration? {
        let now = now.nanoseconds
        let next = max(fullAt, now) + rate.interval
        let wait = next - now - rate.interval * Int64(rate.burst)
        guard wait <= 0 else { return .nanoseconds(wait) }
        fullAt = next
        return nil
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
