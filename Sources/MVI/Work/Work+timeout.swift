extension Work {
    /// Runs `operation` in a child task and cancels it if it takes longer than `limit` on the store's clock.
    ///
    /// Returns only when the operation has ended, even if it ignores its cancellation. Until then it counts as running
    /// work.
    ///
    /// - Returns: the result of the operation.
    /// - Throws: ``WorkTimeout`` if the limit was reached, whatever the operation's result; otherwise the operation's
    ///   error.
    public func timeout<Success: Sendable>(
        after limit: Duration, _ operation: @escaping @Sendable () async throws -> Success
    ) async throws -> Success {
        try await context.timeout(after: limit, operation)
    }
}

/// Tells a test's clock that some sleepers only limit the time of other work.
package enum Patience {
    @TaskLocal package static var isPatience = false
}

extension WorkContext {
    private enum Race<Success: Sendable>: Sendable {
        case ended(Success)
        case timeUp
        /// The wait was canceled together with the work.
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

/// The error of `Work.timeout` when the limit is reached.
public struct WorkTimeout: Error, Sendable, Equatable, CustomStringConvertible {
    /// The time limit.
    public let limit: Duration

    /// A description of the error.
    public var description: String { "The operation took longer than \(limit)." }
}
