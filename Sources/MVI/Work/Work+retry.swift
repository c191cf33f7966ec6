extension Work {
    /// Runs `operation` until it succeeds, at most `attempts` times, and waits on the store's clock in between.
    ///
    /// ```swift
    /// let number = try await work.retry(attempts: 3) { try await numbers.next() }
    /// ```
    ///
    /// - Parameters:
    ///   - attempts: how often it runs at most; fewer than 1 count as 1.
    ///   - backoff: how long to wait after each failure. The environment's `jitter` varies it.
    ///   - isRetried: asked with each failure but the last; false gives up at once.
    ///   - operation: what is tried.
    /// - Returns: what the first successful attempt returned.
    /// - Throws: what the last attempt threw; `CancellationError` if the work is cancelled during a wait. Once the task is
    ///   cancelled no further attempt is made.
    public nonisolated(nonsending) func retry<Success>(
        attempts: Int, backoff: Backoff = .exponential(), if isRetried: (any Error) -> Bool = { _ in true },
        _ operation: nonisolated(nonsending) () async throws -> Success
    ) async throws -> Success {
        try await context.retry(attempts: attempts, backoff: backoff, if: isRetried, operation)
    }
}

extension WorkContext {
    nonisolated(nonsending) func retry<Success>(
        attempts: Int, backoff: Backoff, if isRetried: (any Error) -> Bool,
        _ operation: nonisolated(nonsending) () async throws -> Success
    ) async throws -> Success {
        var failed = 0
        while true {
            do {
                return try await operation()
            } catch {
                failed += 1
                if failed >= attempts || Task.isCancelled || !isRetried(error) { throw error }
            }
            try await sleep(for: host.environment.jitter(backoff.delay(afterAttempts: failed)))
        }
    }
}

/// The pauses of `Work.retry` before each further attempt.
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

    /// Returns the pause after this many failures in a row.
    package func pause(afterFailures count: Int) -> Duration { self.jitter(Self.backoff.delay(afterAttempts: count)) }
}
