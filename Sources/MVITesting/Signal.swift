import Locking

/// Wakes tasks that wait for a change of other data. Read `version`, check the data, then wait.
package final class Signal: Sendable {
    private struct State {
        var version: UInt64 = 0
        var lastWaiter: UInt64 = 0
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Lock(State())

    var version: UInt64 { state.withLock { $0.version } }

    /// Creates a signal without waiting tasks.
    package init() {}

    /// Signals a change. Call it after the change, without locks held.
    package func send() {
        let waiters = state.withLock { state in
            state.version += 1
            let waiters = state.waiters
            state.waiters = [:]
            return waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Returns when there was a change since `version` was read, or when the calling task is canceled.
    func changed(since version: UInt64) async {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    // Read under the lock. `onCancel` runs after the flag is set, so one of the two sees the other.
                    let waits = state.version == version && !Task.isCancelled
                    if waits { state.waiters[id] = continuation }
                    return waits
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Returns true when `condition` holds, false if the calling task is canceled first. Tests `condition` after each
    /// `send`.
    func wait(until condition: () -> Bool) async -> Bool {
        while true {
            let seen = version
            if condition() { return true }
            if Task.isCancelled { return false }
            await changed(since: seen)
        }
    }

    /// Waits with a deadline. Returns true if the condition holds at its end, even without a signal.
    package func wait(atMost limit: Duration, until condition: @escaping @Sendable () -> Bool) async -> Bool {
        if condition() { return true }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask { await self.wait(until: condition) }
            group.addTask {
                try? await ContinuousClock().sleep(for: limit)
                return false
            }
            let isMet = await group.next() ?? false
            group.cancelAll()
            // On a busy machine the waiting task may not have run since the signal.
            return isMet || condition()
        }
    }
}
