extension Work {
    /// Runs `operation` until it succeeds, at most `attempts` times, and waits on the store's clock in between.
    ///
    /// ```swift
    /// let number = try await work.retry(attempts: 3) { try await numbers.next() }
    /// ```
    ///
    /// - Parameters:
    ///   - attempts: the maximum number of attempts, at least 1.
    ///   - backoff: the delays after failures. The environment's `jitter` varies them.
    ///   - isRetried: called with each failure except the last; returns false to give up.
    ///   - operation: the operation.
    /// - Returns: the result of the first successful attempt.
    /// - Throws: the error of the last attempt; `CancellationError` if the work is canceled during a delay. After a
    ///   cancellation of the task there are no further attempts.
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

/// The delays between the attempts of `Work.retry`.
public struct Backoff: Sendable, Equatable {
    private let first: Duration
    private let longest: Duration
    private let factor: Double

    /// Returns a back-off with the delay `first`, multiplied by `factor` for each further attempt up to `longest`.
    public static func exponential(
        from first: Duration = .milliseconds(200), to longest: Duration = .seconds(10), factor: Double = 2
    ) -> Backoff {
        Backoff(first: first, longest: longest, factor: factor)
    }

    /// Returns a back-off with a constant delay.
    public static func constant(_ delay: Duration) -> Backoff { Backoff(first: delay, longest: delay, factor: 1) }

    /// Returns the delay after a number of failed attempts, one or more, before the store's jitter is applied.
    public func delay(afterAttempts count: Int) -> Duration {
        var delay = first
        for _ in 1..<max(1, count) {
            // Stops before a product overflows, and if the delay no longer grows.
            if delay >= longest || factor <= 1 { break }
            delay = delay * factor
        }
        return max(.zero, min(delay, longest))
    }
}

extension StoreEnvironment {
    private static let backoff = Backoff.exponential(from: .milliseconds(250), to: .seconds(8))

    /// The delay before the store or its session retries an operation that has failed several times in a row.
    package func pause(afterFailures count: Int) -> Duration { self.jitter(Self.backoff.delay(afterAttempts: count)) }
}
