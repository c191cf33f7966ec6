import Locking

/// A waiting closure, without its result type.
protocol DatabaseTask: Sendable {
    /// Runs it unless it was refused. Called once, on the database thread.
    func run(_ connection: inout Connection)
}

/// A closure and its waiting caller. The caller is resumed exactly once, never under the lock.
final class PendingTask<Value: Sendable>: DatabaseTask {
    typealias Body = @Sendable (inout Connection) throws -> Value
    private typealias Caller = CheckedContinuation<Value, any Error>

    private enum Phase {
        /// The caller does not wait yet.
        case made
        case waiting(Caller)
        /// Running or finished: later calls have no effect.
        case left
        /// Refused before the caller waited.
        case refused(any Error)
    }

    private let body: Body
    private let phase = Lock(Phase.made)

    init(_ body: @escaping Body) { self.body = body }

    /// Stores the caller. If the task was refused before, resumes the caller with the error and returns false.
    func wait(_ caller: CheckedContinuation<Value, any Error>) -> Bool {
        let refusal = phase.withLock { phase -> (any Error)? in
            switch phase {
            case .made:
                phase = .waiting(caller)
                return nil
            case .refused(let error):
                phase = .left
                return error
            case .waiting, .left: preconditionFailure("cannot wait twice for the same task")
            }
        }
        guard let refusal else { return true }
        caller.resume(throwing: refusal)
        return false
    }

    /// Refuses a task that is not running yet.
    func refuse(_ error: any Error) {
        let caller = phase.withLock { phase -> Caller? in
            switch phase {
            case .made:
                phase = .refused(error)
                return nil
            case .waiting(let caller):
                phase = .left
                return caller
            case .left, .refused: return nil
            }
        }
        caller?.resume(throwing: error)
    }

    func run(_ connection: inout Connection) {
        let caller = phase.withLock { phase -> Caller? in
            guard case .waiting(let caller) = phase else { return nil }
            phase = .left
            return caller
        }
        guard let caller else { return }
        do { caller.resume(returning: try body(&connection)) } catch { caller.resume(throwing: error) }
    }
}
