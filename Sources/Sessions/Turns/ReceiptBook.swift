import DequeModule
import MVI
import SessionJournal

/// The receipts of named requests of a session, so that a repeated request does not run twice.
struct ReceiptBook {
    enum Lookup {
        /// The request is new, and its name is reserved for the caller now.
        case reserved
        /// It ran or was refused; this is its receipt.
        case done(StoredReceipt)
        case refused(StoreError)
    }

    private var receipts: [ReceiptKey: StoredReceipt] = [:]
    /// The approximate memory of the receipts.
    private(set) var bytes = 0
    /// In the order of their turns. In a space's book some are gone.
    private var order: Deque<ReceiptPlace> = []
    /// The receipts of each caller of a space, in the order of their turns; nil for a session's book.
    private var callers: ReceiptsByCaller?
    /// For each client's own epoch: the last number used, the number of its stored receipts, and the number of its
    /// requests under way. An epoch is removed when both are zero.
    private var epochs: [String: (last: UInt64, count: Int, pending: Int)] = [:]
    /// The hashes of requests that are under way.
    private var pending: [ReceiptKey: [UInt8]] = [:]
    /// The receipts that the journal may delete. The next append tells the journal, and is repeated if it fails.
    private(set) var forgotten: [ReceiptKey] = []

    /// - Parameter isOfSpace: true to limit the receipts of each caller.
    init(ofSpace isOfSpace: Bool = false) { if isOfSpace { callers = ReceiptsByCaller() } }

    /// Removes all receipts, since the journal lost its log; requests under way keep their names.
    mutating func lose() {
        (receipts, bytes, order, forgotten) = ([:], 0, [], [])
        if callers != nil { callers = ReceiptsByCaller() }
        epochs = epochs.compactMapValues { $0.pending > 0 ? (0, 0, $0.pending) : nil }
    }

    var count: Int { receipts.count + pending.count }

    /// True if a request is under way.
    var hasPending: Bool { !pending.isEmpty }

    func isPending(_ key: ReceiptKey) -> Bool { pending[key] != nil }

    subscript(key: ReceiptKey) -> StoredReceipt? { receipts[key] }

    /// The last number used in a client's own epoch; 0 if unknown.
    func lastNumber(_ epoch: String) -> UInt64 { epochs[epoch]?.last ?? 0 }

    /// Reserves a request's name at its arrival. The order of numbers is checked at its turn.
    mutating func reserve(
        _ key: ReceiptKey, bodyHash: [UInt8], now: Duration, limits: SessionLimits
    ) -> Lookup {
        // Before others are removed: otherwise the epoch of its own next number could be removed.
        notePending(key, 1)
        let lookup = lookUp(key, bodyHash: bodyHash, now: now, limits: limits)
        if case .reserved = lookup { pending[key] = bodyHash } else { notePending(key, -1) }
        return lookup
    }

    private mutating func lookUp(
        _ key: ReceiptKey, bodyHash: [UInt8], now: Duration, limits: SessionLimits
    ) -> Lookup {
        expire(now: now, life: limits.receiptLife)
        if let known = known(key, bodyHash) { return known }
        if let hash = pending[key] { return .refused(hash == bodyHash ? .receiptPending : .otherBody) }
        if case .sequence(let number, let epoch) = key, number <= lastNumber(epoch) {
            return .refused(.receiptExpired)
        }
        let size = StoredReceipt.size(key)
        if callers != nil {
            return makeRoom(for: key, size, now: now, limits: limits).map { .refused($0) } ?? .reserved
        }
        while count >= limits.receiptsPerSession || (count > 0 && bytes + size > limits.receiptBytes) {
            let age = order.first.map { now - $0.made } ?? .zero
            guard !order.isEmpty, age >= limits.receiptGrace else {
                return .refused(.tooManyReceipts(retryAfter: max(.seconds(1), limits.receiptGrace - age)))
            }
            forgetFirst()
        }
        return .reserved
    }

    /// Drops receipts of a space's book: those of the caller beyond its number, and of the caller with the most where
    /// all together take too many bytes. Returns the refusal if they are too young.
    private mutating func makeRoom(
        for key: ReceiptKey, _ size: Int, now: Duration, limits: SessionLimits
    ) -> StoreError? {
        while let own = callers?.callers[key.caller], own.count >= limits.receiptsPerSession {
            if let refusal = forgetFirst(of: key.caller, now: now, grace: limits.receiptGrace) { return refusal }
        }
        while bytes + size > limits.spaceReceiptBytes, let most = callers?.most() {
            if let refusal = forgetFirst(of: most, now: now, grace: limits.spaceReceiptGrace) { return refusal }
        }
        return nil
    }

    private mutating func forgetFirst(of caller: String, now: Duration, grace: Duration) -> StoreError? {
        guard let oldest = callers?.callers[caller]?.first else { return .tooManyReceipts(retryAfter: .seconds(1)) }
        let age = now - oldest.made
        guard age >= grace else { return .tooManyReceipts(retryAfter: max(.seconds(1), grace - age)) }
        forget(oldest.key)
        // Its place in the order of all stays until it is the first, or until there are too many such places.
        if order.count > 2 * receipts.count + 1_024 { order.removeAll { [receipts] in !Self.isThere($0, receipts) } }
        return nil
    }

    private static func isThere(_ place: ReceiptPlace, _ receipts: [ReceiptKey: StoredReceipt]) -> Bool {
        receipts[place.key]?.number == place.number
    }

    /// The lookup of a request; nil if it is unknown.
    func known(_ key: ReceiptKey, _ bodyHash: [UInt8]) -> Lookup? {
        guard let receipt = receipts[key] else { return nil }
        // A request that was refused for its form may have no body to hash.
        if case .ran = receipt.outcome, receipt.bodyHash != bodyHash { return .refused(.otherBody) }
        return .done(receipt)
    }

    /// Releases a request's name, since no receipt was stored.
    mutating func release(_ key: ReceiptKey) {
        if pending.removeValue(forKey: key) != nil { notePending(key, -1) }
    }

    private mutating func notePending(_ key: ReceiptKey, _ change: Int) {
        if case .sequence(_, let epoch) = key { note(epoch) { $0.pending += change } }
    }

    private mutating func note(_ epoch: String, _ change: (inout (last: UInt64, count: Int, pending: Int)) -> Void) {
        var known = epochs[epoch] ?? (0, 0, 0)
        change(&known)
        epochs[epoch] = known.count + known.pending > 0 ? known : nil
    }

    /// Adds a committed receipt.
    mutating func add(_ receipt: StoredReceipt, made: Duration) {
        defer { release(receipt.key) }
        guard receipts.updateValue(receipt, forKey: receipt.key) == nil else { return }
        order.append((receipt.key, receipt.number, made))
        callers?.add((receipt.key, receipt.number, made), of: receipt.key.caller)
        bytes += receipt.size
        if case .sequence(let number, let epoch) = receipt.key {
            note(epoch) { ($0.last, $0.count) = (max($0.last, number), $0.count + 1) }
        }
    }

    /// Notes that the journal was told of so many deletions.
    mutating func told(forgotten count: Int) { forgotten.removeFirst(min(count, forgotten.count)) }

    /// Removes the oldest receipt.
    private mutating func forgetFirst() {
        let place = order.removeFirst()
        if callers == nil || Self.isThere(place, receipts) { forget(place.key) }
    }

    /// Removes the oldest receipt of its caller.
    private mutating func forget(_ key: ReceiptKey) {
        callers?.removeFirst(of: key.caller)
        bytes -= receipts.removeValue(forKey: key)?.size ?? 0
        forgotten.append(key)
        if case .sequence(_, let epoch) = key { note(epoch) { $0.count -= 1 } }
    }

    /// Removes the receipts of all clients of these sessions, as callers of a space. Returns their keys, also those that
    /// an earlier call removed and that the journal may still have.
    mutating func forget(callersOf sessions: [String]) -> [ReceiptKey] {
        let sessions = Set(sessions)
        func isTheirs(_ caller: String) -> Bool {
            caller.lastIndex(of: ".").map { sessions.contains(String(caller[..<$0])) } ?? false
        }
        for (caller, places) in callers?.callers ?? [:] where isTheirs(caller) {
            for place in places { forget(place.key) }
        }
        return forgotten.filter { isTheirs($0.caller) }
    }

    /// Removes expired receipts.
    mutating func expire(now: Duration, life: Duration) {
        while let oldest = order.first, now - oldest.made >= life { forgetFirst() }
    }
}

extension StoreError {
    static let otherBody = StoreError(.receiptConflict, "The name was used with another body.")
    static let receiptExpired = StoreError(.receiptExpired, "The number was used, and its receipt is gone.")

    fileprivate static func tooManyReceipts(retryAfter: Duration) -> StoreError {
        StoreError(.tooManyReceipts, "The session has too many recent receipts.", retryAfter: retryAfter)
    }
}

extension SessionClient {
    /// Ends the client in a name that is scoped by it. No client can write this character.
    static let scopeEnd: Character = "\u{1F}"
}

extension ReceiptKey {
    /// The caller of a space, as `SessionClient.scoped` writes it before the name; empty for the server's own code.
    fileprivate var caller: String {
        let text =
            switch self {
            case .key(let text, _): text
            case .sequence(_, let epoch): epoch
            }
        return text.firstIndex(of: SessionClient.scopeEnd).map { String(text[..<$0]) } ?? ""
    }
}

extension StoredReceipt {
    /// The approximate memory of a receipt with that key: here, and in a journal in memory.
    fileprivate static func size(_ key: ReceiptKey) -> Int {
        // The intent's id repeats the key.
        switch key {
        case .key(let text, _): 400 + 2 * text.utf8.count
        case .sequence(_, let epoch): 400 + epoch.utf8.count
        }
    }

    fileprivate var size: Int {
        if case .refused(_, let body) = outcome { Self.size(key) + body.count } else { Self.size(key) }
    }
}
