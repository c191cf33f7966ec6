import DequeModule
import SessionJournal

/// A receipt's place in an order: its turn, and the time on the monotonic clock.
typealias ReceiptPlace = (key: ReceiptKey, number: UInt64, made: Duration)

/// The receipts of each caller of a space, and which caller has the most. No operation reads all callers, but one that
/// follows at least as many others. A class, so that a book without it has only a pointer.
final class ReceiptsByCaller {
    private typealias Entry = (caller: String, change: UInt64)

    private(set) var callers: [String: Deque<ReceiptPlace>] = [:]
    /// The last change of each caller's number of receipts.
    private var changes: [String: UInt64] = [:]
    /// For each number of receipts from one, the callers in the order in which they came to have so many. An entry of
    /// another change than its caller's last is out of date.
    private var ranks: [Deque<Entry>] = []
    private(set) var entryCount = 0
    private var change: UInt64 = 0

    /// Adds a caller's newest receipt.
    func add(_ place: ReceiptPlace, of caller: String) {
        callers[caller, default: []].append(place)
        rank(caller)
    }

    /// Removes a caller's oldest receipt.
    func removeFirst(of caller: String) {
        callers[caller]?.removeFirst()
        rank(caller)
    }

    /// The caller with most receipts; of several, the one that has had so many for the longest time.
    func most() -> String? {
        while let rank = ranks.last {
            guard let first = rank.first else {
                ranks.removeLast()
                continue
            }
            if isCurrent(first) { return first.caller }
            ranks[ranks.count - 1].removeFirst()
            entryCount -= 1
        }
        return nil
    }

    private func isCurrent(_ entry: Entry) -> Bool { changes[entry.caller] == entry.change }

    private func rank(_ caller: String) {
        let count = callers[caller]?.count ?? 0
        if count == 0 {
            (callers[caller], changes[caller]) = (nil, nil)
        } else {
            change += 1
            changes[caller] = change
            if ranks.count < count { ranks.append([]) }
            ranks[count - 1].append((caller, change))
            entryCount += 1
        }
        guard entryCount > 2 * callers.count + 1_024 else { return }
        for index in ranks.indices { ranks[index].removeAll { !isCurrent($0) } }
        entryCount = callers.count
    }
}
