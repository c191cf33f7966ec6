import DequeModule
import MVI

/// Which tokens and ids there are, and which tokens were there not long ago.
struct MemoryDirectory {
    /// What a token names.
    enum Entry {
        case session(SessionKey)
        case tombstone
        case nothing
    }

    private(set) var isClosed = false
    /// Where the next step of expiry begins.
    var nextShard = 0
    private var lastKey: Int64 = 0
    private var tokens: [TokenHash: SessionKey] = [:]
    private var ids: [String: SessionKey] = [:]
    /// Until when each token that is gone is remembered.
    private var tombstones: [TokenHash: Duration] = [:]
    /// The same in the order in which they came. One whose time is over but that stands behind a younger one costs
    /// memory until that goes; no load sees it.
    private var tombstoneOrder: Deque<TokenHash> = []

    /// Gives a session its key.
    mutating func add(_ session: SessionRecord) -> Result<SessionKey, StoreError> {
        if isClosed { return .failure(.journalClosed) }
        guard tokens[session.tokenHash] == nil, ids[session.id] == nil else { return .failure(.sessionExists) }
        lastKey += 1
        let key = SessionKey(lastKey)
        tokens[session.tokenHash] = key
        ids[session.id] = key
        return .success(key)
    }

    /// Removes a session that was added.
    mutating func remove(_ session: SessionRecord, tombstoneUntil: Duration) {
        tokens[session.tokenHash] = nil
        ids[session.id] = nil
        if tombstones.updateValue(tombstoneUntil, forKey: session.tokenHash) == nil {
            tombstoneOrder.append(session.tokenHash)
        }
    }

    func entry(of token: TokenHash, now: Duration) -> Entry {
        if let key = tokens[token] { return .session(key) }
        return tombstones[token].map { now < $0 } == true ? .tombstone : .nothing
    }

    func key(ofID id: String) -> SessionKey? { ids[id] }

    /// Removes at most `limit` tombstones whose time is over; says how many.
    mutating func removeTombstones(now: Duration, limit: Int) -> Int {
        var count = 0
        while count < limit, let oldest = tombstoneOrder.first, let until = tombstones[oldest], until <= now {
            tombstones[oldest] = nil
            tombstoneOrder.removeFirst()
            count += 1
        }
        return count
    }

    mutating func close() {
        self = MemoryDirectory()
        isClosed = true
    }
}
