import Locking

/// The newest of some values, on its way to another thread: older ones that were not taken are dropped.
final class Newest<Value: Sendable>: Sendable {
    private let value = Lock<Value?>(nil)

    /// Returns whether `take` has to be scheduled: it is not, while a value waits.
    func put(_ next: Value) -> Bool {
        value.withLock { value in
            defer { value = next }
            return value == nil
        }
    }

    func take() -> Value? { value.withLock { $0.take() } }
}
