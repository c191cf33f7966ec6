import HeapModule

/// The sessions of one part of the keys.
struct MemoryShard {
    private(set) var sessions: [SessionKey: MemorySession] = [:]
    /// For each class of lifetime, one entry for each session that may expire, also for removed ones and those of another
    /// class until their entry is due: the time of the last use, or an earlier one.
    private var uses = [Heap<Due<SessionKey>>](repeating: [], count: LifeClass.allCases.count)
    /// One entry for each session that expiry skips: the due time of its last reminder, or an earlier one.
    private var passedOver: Heap<Due<SessionKey>> = []
    /// One entry for each sender of messages to a session, and for those of removed ones until it is due: the time of its
    /// last message, or an earlier one.
    private var heard: Heap<Due<Heard>> = []
    private(set) var isClosed = false

    private struct Heard: Equatable {
        let session: SessionKey
        let sender: [UInt8]
    }

    /// An empty shard that accepts nothing.
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

    /// Schedules a check of a session for when it was unused for long.
    mutating func addUse(of session: MemorySession, _ key: SessionKey) {
        let life = session.record.lifeClass
        uses[life.rawValue].insert(Due(time: session.record.lastSeen, of: key))
        // Removed sessions leave entries behind.
        guard uses[life.rawValue].count > 2 * sessions.count + 64 else { return }
        uses[life.rawValue] = Heap(
            sessions.lazy.filter { !$0.value.isPassedOver && $0.value.record.lifeClass == life }
                .map { Due(time: $0.value.record.lastSeen, of: $0.key) })
    }

    /// Appends to a session that can expire again once it has no reminders, and notes new senders.
    mutating func append(_ batch: JournalBatch, to session: MemorySession) -> AppendResult {
        let new = batch.senders.filter { session.sender($0.last.sender) == nil }
        let result = session.append(batch)
        if case .committed = result {
            for sender in new {
                heard.insert(Due(time: sender.time, of: Heard(session: batch.session, sender: sender.last.sender)))
            }
        }
        if session.isPassedOver, session.reminders.isEmpty {
            session.isPassedOver = false
            addUse(of: session, batch.session)
        }
        return result
    }

    /// Looks at some senders whose last message was received before a time, and forgets them. Returns true if there may be
    /// more.
    mutating func forgetSenders(heardBefore time: Duration) -> Bool {
        for _ in 0..<64 {
            guard let first = heard.min, first.time < time else { return false }
            if let last = sessions[first.of.session]?.sender(first.of.sender)?.time, last >= time {
                heard.replaceMin(with: Due(time: last, of: first.of))
            } else {
                heard.removeMin()
                sessions[first.of.session]?.set(nil, first.of.sender)
            }
        }
        return true
    }

    /// Makes sessions eligible for expiry whose reminders were all due before a time.
    private mutating func endPassingOver(dueBefore: Duration, lookingAt limit: Int) {
        for _ in 0..<limit {
            guard let first = passedOver.min, first.time < dueBefore else { return }
            guard let session = sessions[first.of], session.isPassedOver else {
                passedOver.removeMin()
                continue
            }
            if let last = session.lastDue, last >= dueBefore {
                passedOver.replaceMin(with: Due(time: last, of: first.of))
                continue
            }
            passedOver.removeMin()
            session.isPassedOver = false
            addUse(of: session, first.of)
        }
    }

    /// Excludes a session from expiry while its reminders keep it alive.
    private mutating func passOver(_ session: MemorySession, _ key: SessionKey, until due: Duration) {
        session.isPassedOver = true
        passedOver.insert(Due(time: due, of: key))
        // Sessions with changed reminders leave entries behind.
        guard passedOver.count > 2 * sessions.count + 64 else { return }
        passedOver = Heap(
            sessions.lazy.filter(\.value.isPassedOver).compactMap { key, session in
                session.lastDue.map { Due(time: $0, of: key) }
            })
    }

    /// Takes at most `limit` entries of a class's sessions that were last used before a time. Returns these sessions,
    /// except those that a reminder due at `dueBefore` or later keeps alive. Corrects the entries of the others.
    mutating func takeUnused(
        _ life: LifeClass, since time: Duration, dueBefore: Duration, lookingAt limit: Int
    ) -> (unused: [SessionKey], isOver: Bool) {
        endPassingOver(dueBefore: dueBefore, lookingAt: limit)
        var unused: [SessionKey] = []
        for _ in 0..<limit {
            guard let first = uses[life.rawValue].min, first.time < time else { return (unused, true) }
            guard let session = sessions[first.of], !session.isPassedOver, session.record.lifeClass == life else {
                uses[life.rawValue].removeMin()
                continue
            }
            let seen = session.record.lastSeen
            if seen >= time {
                uses[life.rawValue].replaceMin(with: Due(time: seen, of: first.of))
                continue
            }
            uses[life.rawValue].removeMin()
            // An entry that stayed would be checked in each step.
            if let last = session.lastDue, last >= dueBefore {
                passOver(session, first.of, until: last)
            } else {
                unused.append(first.of)
            }
        }
        return (unused, false)
    }
}
