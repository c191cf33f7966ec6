import Locking

/// Runs asynchronous calls one after the other, in the order in which they were added.
final class CallChain: Sendable {
    private let last = Lock<Task<Void, Never>?>(nil)

    /// Adds a call. Called by one thread at a time.
    func add(_ call: @escaping @Sendable () async -> Void) {
        let last = last.withLock(\.self)
        let next = Task {
            await last?.value
            await call()
        }
        self.last.withLock { $0 = next }
    }
}
