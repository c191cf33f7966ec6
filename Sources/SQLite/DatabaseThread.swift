import Dispatch
import Locking

/// A thread of its own that owns one connection.
///
/// SQLite blocks: on the disk, on another process's lock. Neither a thread of the cooperative pool nor one that serves
/// HTTP may wait for that, so a task that needs the database hands over a closure and is suspended until it has run.
/// Closures run one after the other in the order in which `perform` was called; their number is bounded.
package final class DatabaseThread: Sendable {
    private struct State {
        var waiting: [any DatabaseTask] = []
        var isClosed = false
        /// Set when the connection is closed and the thread is about to end.
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// What the thread holds, so that the `DatabaseThread` itself may go.
    private final class Shared: Sendable {
        let state = Lock(State())
        /// Counts what the thread has not looked at yet. A semaphore wakes a thread without a lock being held.
        let signal = DispatchSemaphore(value: 0)
    }

    private let shared = Shared()
    private let limit: Int

    /// Moves `connection` to a thread of its own.
    ///
    /// - Parameter limit: how many closures may wait; one more is refused as `tooManyWaiting`.
    package init(owning connection: consuming sending Connection, limit: Int = 10_000) throws(DatabaseThreadError) {
        self.limit = limit
        let carrier = ConnectionCarrier(connection)
        let shared = shared
        try startThread { Self.run(shared, carrier.unload()) }
    }

    /// No caller of `perform` is left; the thread does what waits and closes.
    deinit { Self.stop(shared) }

    /// Runs `body` on the thread and returns what it returns.
    ///
    /// A caller that is cancelled while `body` waits gets `CancellationError` and `body` never runs; once it runs it
    /// runs to its end.
    ///
    /// - Throws: what `body` throws; `DatabaseThreadError` if it was not run.
    package func perform<Value: Sendable>(
        _ body: @escaping @Sendable (inout Connection) throws -> Value
    ) async throws -> Value {
        let task = PendingTask(body)
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                guard task.wait(continuation) else { return }
                if let refusal = enqueue(task) { task.refuse(refusal) }
            }
        } onCancel: {
            task.refuse(CancellationError())
        }
    }

    /// Refuses what comes from now on, runs what waits, closes the connection, and returns when that is done.
    package func close() async {
        Self.stop(shared)
        await withCheckedContinuation { continuation in
            let hasEnded = shared.state.withLock { state -> Bool in
                if !state.hasEnded { state.endWaiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    private func enqueue(_ task: any DatabaseTask) -> DatabaseThreadError? {
        let refusal = shared.state.withLock { state -> DatabaseThreadError? in
            if state.isClosed { return .closed }
            if state.waiting.count >= limit { return .tooManyWaiting(limit: limit) }
            state.waiting.append(task)
            return nil
        }
        if refusal == nil { shared.signal.signal() }
        return refusal
    }

    private static func stop(_ shared: Shared) {
        let isFirst = shared.state.withLock { state -> Bool in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        if isFirst { shared.signal.signal() }
    }

    /// The thread's life.
    private static func run(_ shared: Shared, _ owned: consuming Connection) {
        var connection = owned
        while true {
            shared.signal.wait()
            let (batch, isClosed) = shared.state.withLock { state in
                let batch = state.waiting
                state.waiting = []
                return (batch, state.isClosed)
            }
            for task in batch { task.run(&connection) }
            if isClosed { break }
        }
        _ = consume connection
        let waiters = shared.state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.hasEnded = true
            defer { state.endWaiters = [] }
            return state.endWaiters
        }
        for waiter in waiters { waiter.resume() }
    }
}

/// Why a closure was not run.
package enum DatabaseThreadError: Error, Sendable, Equatable {
    /// The database is closed, or about to.
    case closed
    /// More wait already than the thread is allowed to owe.
    case tooManyWaiting(limit: Int)
    /// The system gave no thread; the number is from errno.h.
    case noThread
}

extension DatabaseThreadError: CustomStringConvertible {
    /// A sentence, for a log.
    package var description: String {
        switch self {
        case .closed: "the database is closed"
        case .tooManyWaiting(let limit): "\(limit) operations wait for the database already; try again later"
        case .noThread: "the system gave no thread for the database"
        }
    }
}
