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
