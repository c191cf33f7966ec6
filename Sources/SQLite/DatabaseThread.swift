import Dispatch
import Locking

/// A thread that owns one connection.
///
/// ```swift
/// let orders = try DatabaseThread(owning: Connection(.file("orders.sqlite")))
/// let count = try await orders.perform { try $0.first("SELECT count(*) FROM orders") { row in try row.int(0) } }
/// ```
///
/// SQLite blocks on the disk and on other processes' locks. Threads of the cooperative pool and of the HTTP server must
/// not wait for that, so a task passes a closure and is suspended until it has run. Closures run one at a time in the
/// order of the calls of `perform`; the number of waiting ones is bounded.
public final class DatabaseThread: Sendable {
    private struct State {
        var waiting: [any DatabaseTask] = []
        var isClosed = false
        /// Set when the connection is closed and the thread is about to end.
        var hasEnded = false
        var endWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The state that the thread retains, so that the `DatabaseThread` itself can be released.
    private final class Shared: Sendable {
        let state = Lock(State())
        /// Counts entries that the thread has not examined. A semaphore wakes a thread without holding a lock.
        let signal = DispatchSemaphore(value: 0)
    }

    private let shared = Shared()
    private let limit: Int

    /// Moves `connection` to a new thread.
    ///
    /// - Parameters:
    ///   - connection: The connection, which nobody else can use afterwards.
    ///   - limit: The number of closures that may wait; further ones are refused as `tooManyWaiting`.
    /// - Throws: `DatabaseThreadError.noThread`.
    public init(owning connection: consuming sending Connection, limit: Int = 10_000) throws(DatabaseThreadError) {
        self.limit = limit
        let carrier = ConnectionCarrier(connection)
        let shared = shared
        try startThread { Self.run(shared, carrier.unload()) }
    }

    /// No caller of `perform` is left: the thread runs the waiting closures and closes the connection.
    deinit { Self.stop(shared) }

    /// Runs `body` on the thread and returns its result.
    ///
    /// If the caller is canceled while `body` waits, `perform` throws `CancellationError` and `body` never runs. Once
    /// started, `body` runs to its end.
    ///
    /// - Parameter body: Uses the connection; may block.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`, or `DatabaseThreadError` if it was not run.
    public func perform<Value: Sendable>(
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

    /// Refuses further closures, runs the waiting ones, closes the connection, and returns when that is done.
    public func close() async {
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

    /// The thread's main function.
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

/// The reason why a closure was not run.
public enum DatabaseThreadError: Error, Sendable, Equatable {
    /// The database is closed or closing.
    case closed
    /// Too many closures are waiting.
    case tooManyWaiting(limit: Int)
    /// The system could not create a thread; the number is from errno.h.
    case noThread
}

extension DatabaseThreadError: CustomStringConvertible {
    /// A sentence, for a log.
    public var description: String {
        switch self {
        case .closed: "the database is closed"
        case .tooManyWaiting(let limit): "\(limit) operations are waiting for the database; try again later"
        case .noThread: "the system has no thread for the database"
        }
    }
}
