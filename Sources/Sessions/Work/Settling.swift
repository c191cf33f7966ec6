import Locking
import MVI

/// The counts of the work that runs or waits for each intent, over all stores of a queue, and the requests that wait until
/// an intent has none.
struct Settling {
    private var counts: [IntentID: Int] = [:]
    /// Each waits for an intent that had work when it came.
    private var waiters: [(intentID: IntentID, id: UInt64, action: @Sendable () -> Void)] = []
    /// Whether a batch is being applied that ends some work and begins other: who waits is told after both.
    var isHeld = false

    /// Whether no work of any intent is running, and no waiter is to be told so.
    var isDone: Bool { counts.isEmpty && waiters.isEmpty }

    func isSettled(_ intentID: IntentID) -> Bool { counts[intentID] == nil }

    mutating func note(_ changes: [WorkCount]) {
        for change in changes {
            let count = (counts[change.intentID] ?? 0) + change.difference
            counts[change.intentID] = count > 0 ? count : nil
        }
    }

    mutating func wait(for intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        guard !isSettled(intentID) else { return false }
        waiters.append((intentID, id, action))
        return true
    }

    /// Takes the waiters whose intent has no work left.
    mutating func takeSettled() -> [@Sendable () -> Void] {
        if waiters.isEmpty || isHeld { return [] }
        let counts = counts
        return remove { intentID, _ in counts[intentID] == nil }
    }

    /// Removes and returns the waiters of which the condition holds, for the caller to call, or to let die after the lock.
    mutating func remove(where isRemoved: (_ intentID: IntentID, _ id: UInt64) -> Bool) -> [@Sendable () -> Void] {
        let taken = waiters.filter { isRemoved($0.intentID, $0.id) }
        waiters.removeAll { isRemoved($0.intentID, $0.id) }
        return taken.map(\.action)
    }
}

/// A change of an intent's count of work.
struct WorkCount: Sendable {
    let intentID: IntentID
    let difference: Int
}

/// The work of each intent, counted once over all stores of the queue that the intent reached. All may be called from any
/// thread.
extension TurnQueue {
    /// Notes changes of a store's work; returns what is to be called now, under no lock.
    func note(_ changes: [WorkCount]) -> [@Sendable () -> Void] {
        if changes.isEmpty { return [] }
        return state.withLock { state in
            state.settling.note(changes)
            return state.settling.takeSettled()
        }
    }

    /// The same for changes that a committed batch makes: what is to be called is taken when all of them are noted.
    func noteOfBatch(_ changes: [WorkCount]) {
        if !changes.isEmpty { state.withLock { $0.settling.note(changes) } }
    }

    /// Holds news of settled intents back until `takeSettled`: stores end with a batch in which other stores may begin work of
    /// the same intents.
    package func holdSettled() { state.withLock { $0.settling.isHeld = true } }

    /// Takes what is to be called after a committed batch, and says whether no intent has work.
    func takeSettled() -> (isDone: Bool, actions: [@Sendable () -> Void]) {
        state.withLock { state in
            state.settling.isHeld = false
            if state.settling.isDone { return (true, []) }
            let actions = state.settling.takeSettled()
            return (state.settling.isDone, actions)
        }
    }

    /// Whether no work that the intent launched is running.
    func isSettled(_ intentID: IntentID) -> Bool { state.withLock { $0.settling.isSettled(intentID) } }

    /// Calls `action` once when no work that the intent launched is running: false, and no call, if that is so now.
    package func whenSettled(_ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { $0.settling.wait(for: intentID, id: id, action) }
    }

    /// Takes `whenSettled` back. The call may be under way already.
    package func stopWaiting(for intentID: IntentID, id: UInt64) {
        let actions = state.withLock { state in state.settling.remove { $0 == intentID && $1 == id } }
        withExtendedLifetime(actions) {}
    }
}
