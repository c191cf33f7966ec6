import DequeModule
import MVI
import SessionJournal

/// What a session remembers of the requests that were named, so that a repeated one never runs twice.
struct ReceiptBook {
    struct Receipt {
        let bodyHash: [UInt8]
        let intentID: IntentID
        /// What came of it; nil until that is committed.
        var outcome: StoredReceipt.Outcome?
        /// On the monotonic clock.
        let made: Duration
    }

    enum Lookup {
        /// The request is new and its name reserved for the caller now.
        case reserved
        /// It ran or was refused; this is its receipt.
        case done(Receipt)
        /// It is under way.
        case pending
        /// Its name was used with another body.
        case otherBody
        /// No room, and what is there is too young to go; after that time some of it is not.
        case full(retryAfter: Duration)
        /// It has a number, and this one is to come first.
        case gap(expected: UInt64)
        /// It has a number that was used, and its receipt is gone.
        case expired

        /// Whether a request with that number is under way.
        func isUnderWay(_ key: ReceiptKey) -> Bool {
            guard case .sequence = key, case .pending = self else { return false }
            return true
        }
    }

    private var receipts: [ReceiptKey: Receipt] = [:]
    /// In the order in which they were made; keys that are gone are passed over.
    private var order: Deque<(key: ReceiptKey, made: Duration)> = []
    /// The last number used of each client's own epoch.
    private var lastNumbers: [String: UInt64] = [:]
    /// The epochs in the order in which they were used last, as far as needed to drop the oldest.
    private var epochs: [String] = []
    /// What the journal need not keep any more; handed over with the next append.
    private var forgotten: [ReceiptKey] = []
    private var forgottenEpochs: [String] = []

    /// How many clients' own epochs a session remembers; the one used longest ago goes first.
    private static let epochLimit = 64

    init() {}

    /// A book as it was kept.
    init(_ stored: [StoredReceipt], lastNumbers: [String: UInt64], monotonic: (Duration) -> Duration) {
        self.lastNumbers = lastNumbers
        for receipt in stored {
            let made = monotonic(receipt.made)
            receipts[receipt.key] = Receipt(
                bodyHash: receipt.bodyHash, intentID: IntentID(receipt.intent), outcome: receipt.outcome, made: made)
            order.append((receipt.key, made))
            if case .sequence(_, let epoch) = receipt.key { use(epoch) }
        }
        epochs = lastNumbers.keys.filter { !epochs.contains($0) }.sorted() + epochs
    }

    var count: Int { receipts.count }

    /// Whether a request is under way.
    var hasPending: Bool { receipts.values.contains { $0.outcome == nil } }

    subscript(key: ReceiptKey) -> Receipt? { receipts[key] }

    mutating func reserve(
        _ key: ReceiptKey, bodyHash: [UInt8], intentID: IntentID, now: Duration, limits: SessionLimits
    ) -> Lookup {
        expire(now: now, life: limits.receiptLife)
        if let receipt = receipts[key] {
            guard let outcome = receipt.outcome else { return receipt.bodyHash == bodyHash ? .pending : .otherBody }
            // A request that was refused for its form may have had no body that was worth a hash.
            if case .ran = outcome, receipt.bodyHash != bodyHash { return .otherBody }
            return .done(receipt)
        }
        if case .sequence(let number, let epoch) = key {
            let expected = (lastNumbers[epoch] ?? 0) + 1
            if number < expected { return .expired }
            if number > expected { return .gap(expected: expected) }
        }
        while receipts.count >= limits.receiptsPerSession {
            guard let oldest = order.first else { return .full(retryAfter: limits.receiptGrace) }
            let age = now - oldest.made
            guard receipts[oldest.key]?.made == oldest.made else {
                order.removeFirst()
                continue
            }
            guard age >= limits.receiptGrace, receipts[oldest.key]?.outcome != nil else {
                return .full(retryAfter: max(.seconds(1), limits.receiptGrace - age))
            }
            forget(oldest.key)
            order.removeFirst()
        }
        receipts[key] = Receipt(bodyHash: bodyHash, intentID: intentID, outcome: nil, made: now)
        order.append((key, now))
        return .reserved
    }

    /// What came of a request is committed.
    mutating func complete(_ key: ReceiptKey, _ outcome: StoredReceipt.Outcome) {
        receipts[key]?.outcome = outcome
        if case .sequence(let number, let epoch) = key {
            lastNumbers[epoch] = max(number, lastNumbers[epoch] ?? 0)
            use(epoch)
        }
    }

    /// A receipt that was committed by another writer, or in a commit of which the outcome was not known.
    mutating func adopt(_ stored: StoredReceipt, monotonic: (Duration) -> Duration) {
        if receipts[stored.key] == nil { order.append((stored.key, monotonic(stored.made))) }
        receipts[stored.key] = Receipt(
            bodyHash: stored.bodyHash, intentID: IntentID(stored.intent), outcome: nil, made: monotonic(stored.made))
        complete(stored.key, stored.outcome)
    }

    /// The request led to nothing that is remembered: its name is free again.
    mutating func release(_ key: ReceiptKey) {
        guard let receipt = receipts[key], receipt.outcome == nil else { return }
        receipts[key] = nil
        // Released keys leave their place in the order behind; it must not outgrow what it orders.
        if order.last?.key == key {
            order.removeLast()
        } else if order.count > 2 * receipts.count + 64 {
            order.removeAll { receipts[$0.key]?.made != $0.made }
        }
    }

    /// What the journal need not keep any more; the caller sees to it.
    mutating func takeForgotten() -> (receipts: [ReceiptKey], epochs: [String]) {
        defer {
            forgotten = []
            forgottenEpochs = []
        }
        return (forgotten, forgottenEpochs)
    }

    private mutating func forget(_ key: ReceiptKey) {
        receipts[key] = nil
        forgotten.append(key)
    }

    private mutating func use(_ epoch: String) {
        if epochs.last == epoch { return }
        epochs.removeAll { $0 == epoch }
        epochs.append(epoch)
        while epochs.count > Self.epochLimit {
            let oldest = epochs.removeFirst()
            lastNumbers[oldest] = nil
            forgottenEpochs.append(oldest)
        }
    }

    private mutating func expire(now: Duration, life: Duration) {
        while let oldest = order.first, now - oldest.made >= life {
            if let receipt = receipts[oldest.key], receipt.made == oldest.made {
                // One that is still under way keeps its key, however long it takes.
                if receipt.outcome == nil { return }
                forget(oldest.key)
            }
            order.removeFirst()
        }
    }
}
