extension Work {
    /// Runs `operation` in a child task and cancels it when it takes longer than `limit` on the store's clock.
    ///
    /// Returns or throws only when the operation has ended: one that ignores its cancellation is waited for, and keeps
    /// counting as running work.
    ///
    /// - Returns: what the operation returned in time.
    /// - Throws: ``WorkTimeout`` if its time was up first, whatever it returned or threw afterwards; else what it threw.
    public func timeout<Success: Sendable>(
        after limit: Duration, _ operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await context.timeout(after: limit, operation)
    }
}

/// Tells a test's clock which sleepers only look at the time while something else goes on.
package enum Patience {
    @TaskLocal package static var isPatience = false
}

extension WorkContext {
    private enum Race<Success: Sendable>: Sendable {
        case ended(Success)
        case timeUp
        /// The wait was cancelled, with all of the work.
        case calledOff
    }

    func timeout<Success: Sendable>(
        after limit: Duration, _ operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await withThrowingTaskGroup(of: Race<Success>.self) { group in
            group.addTask { .ended(try await operation()) }
            group.addTask {
                do {
                    try await Patience.$isPatience.withValue(true) { try await sleep(for: limit) }
                    return .timeUp
                } catch {
                    return .calledOff
                }
            }
            defer { group.cancelAll() }
            while let first = try await group.next() {
                switch first {
                case .ended(let value): return value
                case .timeUp: throw WorkTimeout(limit: limit)
                case .calledOff: continue
                }
            }
            throw CancellationError()
        }
    }
}

/// The error that `Work.timeout` throws.
public struct WorkTimeout: Error, Sendable, Equatable, CustomStringConvertible {
    /// The operation's time limit.
    public let limit: Duration

    /// The error as a sentence.
    public var description: String { "The operation took longer than \(limit)." }
}
