/// How long `Work.retry` waits before each further attempt.
public struct Backoff: Sendable, Equatable {
    private let first: Duration
    private let longest: Duration
    private let factor: Double

    /// `first` before the second attempt, then each time `factor` times as long, at most `longest`.
    public static func exponential(
        from first: Duration = .milliseconds(200), to longest: Duration = .seconds(10), factor: Double = 2
    ) -> Backoff {
        Backoff(first: first, longest: longest, factor: factor)
    }

    /// The same time before each attempt.
    public static func constant(_ delay: Duration) -> Backoff { Backoff(first: delay, longest: delay, factor: 1) }

    /// The time to wait after so many failed attempts, one or more, before the store's jitter changes it.
    public func delay(afterAttempts count: Int) -> Duration {
        var delay = first
        for _ in 1..<max(1, count) {
            // Stops before a product could overflow, and where it would not grow.
            if delay >= longest || factor <= 1 { break }
            delay = delay * factor
        }
        return max(.zero, min(delay, longest))
    }
}

extension StoreEnvironment {
    private static let backoff = Backoff.exponential(from: .milliseconds(250), to: .seconds(8))

    /// How long the store or its session waits before it tries again what has failed so often in a row.
    package func pause(afterFailures count: Int) -> Duration { self.jitter(Self.backoff.delay(afterAttempts: count)) }
}
