/// How much work of each intent runs or waits, and who wants to know when there is none.
struct Settling {
    private struct Waiter {
        let id: UInt64
        let action: @Sendable () -> Void
    }

    private var counts: [IntentID: Int] = [:]
    private var waiters: [IntentID: [Waiter]] = [:]
    /// Intents with waiters whose last work ended since waiters were last taken; they may have launched more since.
    private var candidates: [IntentID] = []

    var hasWaiters: Bool { !waiters.isEmpty }

    /// Whether no work of any intent is running, and nobody is to be told so.
    var isDone: Bool { counts.isEmpty && candidates.isEmpty }

    func isSettled(_ intentID: IntentID) -> Bool { counts[intentID] == nil }

    mutating func count(_ intentID: IntentID) { counts[intentID, default: 0] += 1 }

    mutating func uncount(_ isCounted: Bool, _ intentID: IntentID) {
        guard isCounted, let count = counts[intentID] else { return }
        counts[intentID] = count == 1 ? nil : count - 1
        if count == 1, waiters[intentID] != nil { candidates.append(intentID) }
    }

    mutating func wait(for intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        guard counts[intentID] != nil else { return false }
        waiters[intentID, default: []].append(Waiter(id: id, action: action))
        return true
    }

    /// Returns what was to be called, so that it dies after the lock.
    mutating func stopWaiting(for intentID: IntentID, id: UInt64) -> [@Sendable () -> Void] {
        guard let all = waiters.removeValue(forKey: intentID) else { return [] }
        let others = all.filter { $0.id != id }
        if !others.isEmpty { waiters[intentID] = others }
        return all.filter { $0.id == id }.map { $0.action }
    }

    /// The waiters whose intent has no work left.
    mutating func takeSettled() -> [@Sendable () -> Void] {
        guard !candidates.isEmpty else { return [] }
        var actions: [@Sendable () -> Void] = []
        for intentID in candidates where counts[intentID] == nil {
            actions += waiters.removeValue(forKey: intentID)?.map { $0.action } ?? []
        }
        candidates = []
        return actions
    }

    mutating func removeAll() -> [@Sendable () -> Void] {
        let actions = waiters.values.flatMap { $0.map { $0.action } }
        self = Settling()
        return actions
    }
}
