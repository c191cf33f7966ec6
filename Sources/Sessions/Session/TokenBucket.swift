/// How often something may happen.
package struct Rate: Sendable, Equatable {
    /// So many times a second in the long run.
    package let perSecond: Int
    /// So many times at once after a while without any.
    package let burst: Int

    /// A rate with bursts of so many seconds' worth; nil for 0 a second, which means that nothing is bounded.
    package init?(perSecond: Int, burstSeconds: Int) {
        guard perSecond > 0 else { return nil }
        self.perSecond = perSecond
        burst = perSecond * burstSeconds
    }

    /// Nanoseconds from one to the next.
    fileprivate var interval: Int64 { max(1, 1_000_000_000 / Int64(perSecond)) }
}

/// A token bucket in eight bytes: the generic cell rate algorithm (ITU-T I.371), which notes when the bucket will be
/// full again.
package struct TokenBucket: Sendable {
    /// On the monotonic clock, in nanoseconds.
    private var fullAt: Int64 = .min

    package init() {}

    /// Takes a token; nil if there was one, else in how much time there will be.
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
