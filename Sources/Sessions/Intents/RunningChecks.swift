/// A session's asynchronous checks that run, the intents whose outcome they decide, and those that wait since a check of an earlier number of their
/// client's does.
struct RunningChecks {
    /// The numbers of each `Intent-Epoch` that are checked, and whose outcome is not known yet.
    private var numbers: [String: Set<UInt64>] = [:]
    private var held: [String: [IntentJob]] = [:]
    private var heldCount = 0
    /// Checks that run, also those that were given up and do not listen.
    private var count = 0
    /// Intents that are checked, and whose outcome is not known yet.
    private var undecided = 0

    /// Whether no check runs, and none decides about an intent.
    var isIdle: Bool { count == 0 && undecided == 0 }

    /// Begins a check; false if too many run.
    ///
    /// - Parameter isAgain: whether the intent was checked before.
    mutating func begin(_ name: ReceiptName?, isAgain: Bool, limit: Int) -> Bool {
        guard count < limit else { return false }
        count += 1
        if !isAgain { undecided += 1 }
        if case .sequence(let number, let epoch)? = name?.key { numbers[epoch, default: []].insert(number) }
        return true
    }

    /// A check does not run any more.
    mutating func ended() { count -= 1 }

    /// What became of an intent is known that was checked; the intents to enqueue that waited for it.
    mutating func decided(_ name: ReceiptName?) -> [IntentJob] {
        undecided -= 1
        guard case .sequence(let number, let epoch)? = name?.key else { return [] }
        numbers[epoch]?.remove(number)
        if numbers[epoch]?.isEmpty == true { numbers[epoch] = nil }
        let freed = held.removeValue(forKey: epoch) ?? []
        heldCount -= freed.count
        return freed
    }

    /// Whether a check of an earlier number runs.
    func isHeldUp(_ name: ReceiptName) -> Bool {
        guard case .sequence(let number, let epoch) = name.key else { return false }
        return numbers[epoch]?.contains { $0 < number } ?? false
    }

    /// Keeps an intent until the check of an earlier number is over; false if too many wait.
    mutating func hold(_ job: IntentJob, _ name: ReceiptName, limit: Int) -> Bool {
        guard case .sequence(_, let epoch) = name.key, heldCount < limit else { return false }
        heldCount += 1
        held[epoch, default: []].append(job)
        return true
    }

    /// What waits, for the session's end.
    mutating func takeAll() -> [IntentJob] {
        defer { (held, heldCount) = ([:], 0) }
        return held.values.flatMap { $0 }
    }
}
