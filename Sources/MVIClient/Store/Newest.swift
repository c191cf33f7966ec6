import Locking

/// Passes values to another thread. Only the newest is kept; older ones that were not taken are dropped.
final class Newest<Value: Sendable>: Sendable {
    private let value = Lock<Value?>(nil)

    /// Stores a value. Returns true if `take` must be scheduled, which is not so while a value waits.
    func put(_ next: Value) -> Bool {
        value.withLock { value in
            defer { value = next }
            return value == nil
        }
    }

    func take() -> Value? { value.withLock { $0.take() } }
}
