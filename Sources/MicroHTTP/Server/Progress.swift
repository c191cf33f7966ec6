import Locking
import Synchronization

/// Lets a stopping server wait for conditions without polling.
final class Progress: Sendable {
    private struct Waiter {
        var condition: @Sendable () -> Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [Int: Waiter] = [:]
        var last = 0
    }

    private let state = Lock(State())
    /// Avoids a lock at each change while the server is busy.
    private let isAwaited = Atomic<Bool>(false)

    /// Checks the conditions after a change. Must not be called under a lock that a condition takes.
    func changed() {
        guard isAwaited.load(ordering: .acquiring) else { return }
        let waiting = state.withLock { $0.waiters }
        for (number, waiter) in waiting where waiter.condition() { finish(number, true) }
    }

    /// Waits until `condition` holds, at most for `limit`. Returns true if it held.
    func wait(atMost limit: Duration, until condition: @escaping @Sendable () -> Bool) async -> Bool {
        isAwaited.store(true, ordering: .sequentiallyConsistent)
        if condition() { return true }
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let alarm = Lock<Task<Void, Never>?>(nil)
        defer { alarm.withLock { $0 }?.cancel() }
        return await withCheckedContinuation { continuation in
            state.withLock { $0.waiters[number] = Waiter(condition: condition, continuation: continuation) }
            // Started last, so that it finds the waiter however short the limit is.
            let task = Task {
                try? await Task.sleep(for: limit)
                finish(number, condition())
            }
            alarm.withLock { $0 = task }
            // It may have become true before the waiter was added.
            if condition() { finish(number, true) }
        }
    }

    private func finish(_ number: Int, _ result: Bool) {
        state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume(returning: result)
    }
}
