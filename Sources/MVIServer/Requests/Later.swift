import Locking

/// A value that is there, or will be.
final class Later<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [@Sendable (Value) -> Void] = []
    }

    private let state = Lock(State())

    /// The value if it is there.
    var value: Value? { state.withLock { $0.value } }

    /// Called once, by whoever owes the value.
    func resolve(_ value: Value) {
        let waiters = state.withLock { state in
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter(value) }
    }

    /// Calls `action` with the value: now, or on the thread that brings it.
    func whenReady(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state -> Value? in
            if state.value == nil { state.waiters.append(action) }
            return state.value
        }
        if let value { action(value) }
    }
}
