/// How much work of each intent runs or waits, and who wants to know when there is none.
struct Settling {
    private var counts: [IntentID: Int] = [:]
    /// Each waits for an intent that had work when it came.
    private var waiters: [(intentID: IntentID, id: UInt64, action: @Sendable () -> Void)] = []

    var hasWaiters: Bool { !waiters.isEmpty }

    /// Whether no work of any intent is running, and no waiter is to be told so.
    var isDone: Bool { counts.isEmpty && waiters.isEmpty }

    func isSettled(_ intentID: IntentID) -> Bool { counts[intentID] == nil }

    mutating func count(_ request: WorkRequest) {
        if request.origin.isCounted { counts[request.origin.intentID, default: 0] += 1 }
    }

    mutating func uncount(_ request: WorkRequest) {
        let origin = request.origin
        guard origin.isCounted, let count = counts[origin.intentID] else { return }
        counts[origin.intentID] = count == 1 ? nil : count - 1
    }

    mutating func wait(for intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        guard !isSettled(intentID) else { return false }
        waiters.append((intentID, id, action))
        return true
    }

    /// Takes the waiters whose intent has no work left.
    mutating func takeSettled() -> [@Sendable () -> Void] {
        if waiters.isEmpty { return [] }
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
