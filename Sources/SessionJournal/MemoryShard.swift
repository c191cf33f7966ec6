import HeapModule

/// The sessions of one part of the keys.
struct MemoryShard {
    private(set) var sessions: [SessionKey: MemorySession] = [:]
    /// One for each session that may expire, and for those that are gone until it is due: when it was last used, or
    /// earlier.
    private var uses: Heap<Due<SessionKey>> = []
    private(set) var isClosed = false

    /// Nothing is in it, or comes into it.
    static var closed: MemoryShard {
        var shard = MemoryShard()
        shard.isClosed = true
        return shard
    }

    mutating func add(_ key: SessionKey, _ session: MemorySession) {
        sessions[key] = session
        addUse(of: session, key)
    }

    mutating func remove(_ key: SessionKey) { sessions[key] = nil }

    mutating func replace(_ key: SessionKey, by session: MemorySession) { sessions[key] = session }

    /// Sees to it that a session is looked at when it was not used for long.
    mutating func addUse(of session: MemorySession, _ key: SessionKey) {
        uses.insert(Due(time: session.record.lastSeen, of: key))
        // Sessions that come and go leave entries behind.
        guard uses.count > 2 * sessions.count + 64 else { return }
        uses = Heap(
            sessions.lazy.filter { !$0.value.isPassedOver }.map { Due(time: $0.value.record.lastSeen, of: $0.key) })
    }

    /// Appends to a session that expires again once it has no reminders.
    mutating func append(_ batch: JournalBatch, to session: MemorySession) -> AppendResult {
        let result = session.append(batch)
        if session.isPassedOver, session.reminders.isEmpty {
            session.isPassedOver = false
            addUse(of: session, batch.session)
        }
        return result
    }

    /// Removes the entries of sessions that were last used before a time, at most so many are looked at; returns these
    /// sessions, without those that have reminders. The others' entries are put right.
    mutating func takeUnused(since time: Duration, lookingAt limit: Int) -> (unused: [SessionKey], isOver: Bool) {
        var unused: [SessionKey] = []
        for _ in 0..<limit {
            guard let first = uses.min, first.time < time else { return (unused, true) }
            guard let session = sessions[first.of], !session.isPassedOver else {
                uses.removeMin()
                continue
            }
            let seen = session.record.lastSeen
            if seen >= time {
                uses.replaceMin(with: Due(time: seen, of: first.of))
                continue
            }
            uses.removeMin()
            // An entry that stayed would be looked at in each step.
            if session.reminders.isEmpty { unused.append(first.of) } else { session.isPassedOver = true }
        }
        return (unused, false)
    }
}
