import Locking
import MVI

/// A journal in memory. Its contents end with the process.
///
/// Every method does its work on the calling thread and calls `done` before it returns; `append` always returns its
/// result. Sessions are spread over shards by key, so that appends to different sessions rarely contend; tokens and ids
/// have one table, which appends do not use.
///
/// Locks are taken in one order: the directory's, a shard's, then that of the alarms.
public final class MemoryJournal: Journal {
    private let kept = Lock(JournalSecret.random())
    let directory = Lock(MemoryDirectory())
    /// The shards. Their number is a power of two.
    let shards = (0..<64).map { _ in Lock(MemoryShard()) }
    let alarmList = Lock(MemoryAlarms())

    let limit: Int
    private let spaceLimit: Int

    /// Creates an empty journal.
    ///
    /// - Parameters:
    ///   - sessionLimit: The largest number of sessions; further ones are refused.
    ///   - spaceLimit: Likewise of spaces, which shared stores have in place of a session.
    public init(sessionLimit: Int = .max, spaceLimit: Int = 100_000) {
        (limit, self.spaceLimit) = (sessionLimit, spaceLimit)
    }

    func shard(of session: SessionKey) -> Lock<MemoryShard> {
        shards[Int(truncatingIfNeeded: session.number) & (shards.count - 1)]
    }

    package var trouble: StoreError? { directory.withLock { $0.isClosed } ? .journalClosed : nil }

    func answer<Value>(_ value: Value, _ done: Done<Value>) {
        done(trouble.map { .failure($0) } ?? .success(value))
    }

    public func close() async {
        directory.withLock {
            $0 = MemoryDirectory()
            $0.isClosed = true
        }
        for shard in shards {
            // Freed after the lock is released: there may be many.
            _ = shard.withLock { shard in
                let sessions = shard.sessions
                shard = .closed
                return sessions
            }
        }
        alarmList.withLock { $0 = MemoryAlarms() }
    }

    package func secret(done: @escaping Done<JournalSecret>) { answer(kept.withLock { $0 }, done) }

    /// Replaces the secret, as `JournalMaintenance` does for durable journals.
    package func replaceSecret(by change: (JournalSecret) -> JournalSecret?) {
        kept.withLock { $0 = change($0) ?? $0 }
    }

    // MARK: Writing

    package func create(
        _ session: SessionRecord, credential: StoredCredential?, done: @escaping Done<SessionKey>
    ) {
        let result = directory.withLock { directory in
            let added = directory.add(
                session, credential: credential?.token, limit: limit, spaceLimit: spaceLimit)
            if case .success(let key) = added {
                shard(of: key).withLock { $0.add(key, MemorySession(session, credential: credential)) }
            }
            return added
        }
        done(result)
    }

    package func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        guard let rare = batch.rare else { return append(batch, changed: []) }
        let result = append(batch, changed: changedCallers(rare.expectedCallers))
        if case .committed = result, !rare.visits.isEmpty { note(rare.visits, in: batch.session) }
        return result
    }

    private func append(_ batch: JournalBatch, changed: [Int]) -> AppendResult {
        shard(of: batch.session).withLock { shard in
            guard let session = shard.sessions[batch.session] else {
                return .failed(shard.isClosed ? .journalClosed : .sessionGone)
            }
            // A change of the log itself comes first.
            if !changed.isEmpty, session.expects(batch) { return .callersChanged(changed) }
            if !batch.reminders.isEmpty { return appendReminders(batch, to: session, in: &shard) }
            return batch.rare == nil ? session.append(batch) : shard.append(batch, to: session)
        }
    }

    private func changedCallers(_ callers: [ExpectedCaller]) -> [Int] {
        callers.indices.filter { index in
            let caller = callers[index]
            let (key, hasEnded) = directory.withLock { ($0.tokens[caller.token], $0.tombstones[caller.token] != nil) }
            guard let key, caller.session == nil || caller.session == key else {
                return caller.session != nil || hasEnded
            }
            return read(key) { $0.accessChanges } != caller.access
        }
    }

    package func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        for touch in touches {
            shard(of: touch.session).withLock { shard in
                guard let session = shard.sessions[touch.session] else { return }
                let before = session.alarmTimes
                session.note(touch)
                if !touch.reminders.isEmpty {
                    changeAlarms(of: touch.session, session, from: before, to: session.alarmTimes)
                }
            }
        }
        answer((), done)
    }

    package func record(_ recordings: [SessionRecordings], done: @escaping Done<Void>) {
        for each in recordings { shard(of: each.session).withLock { $0.sessions[each.session]?.add(each) } }
        answer((), done)
    }

    package func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        directory.withLock { $0.bury(token, until: until, limit: limit) }
        answer((), done)
    }

    package func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        remove(session, tombstoneUntil: tombstoneUntil, isExpired: false) { _ in true }
        answer((), done)
    }

    package func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        let keys = directory.withLock { directory in
            directory.visits.forget(subject)
            return directory.sessions(.subject(subject), after: SessionKey(0), limit: .max)
        }
        for key in keys {
            remove(key, tombstoneUntil: tombstoneUntil, isExpired: false) { subject.isSame(as: $0.subject) }
        }
        answer((), done)
    }

    package func expire(
        lastSeenBefore: PerLifeClass, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        guard let first = directory.withLock({ $0.isClosed ? nil : $0.nextShard }) else {
            return done(.failure(.journalClosed))
        }
        while directory.withLock({ $0.removeTombstones(now: now) }) {}
        directory.withLock { $0.visits.expire(before: lastSeenBefore.anonymous) }
        var expiry = Expiry(lastSeenBefore: lastSeenBefore, now: now, tombstoneUntil: tombstoneUntil, limit: limit)
        for shard in shards { while shard.withLock({ $0.forgetSenders(heardBefore: expiry.heardBefore) }) {} }
        for step in 0..<shards.count {
            let index = (first + step) & (shards.count - 1)
            for life in LifeClass.allCases { expire(life, shards[index], &expiry) }
            guard expiry.hasSessions else {
                // The next call continues here.
                directory.withLock { $0.nextShard = index }
                break
            }
        }
        done(.success(expiry.count))
    }

    package func reclaim(
        lastSeenBefore: Duration, usedFor: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        let expiry = Expiry(
            lastSeenBefore: lastSeenBefore, usedFor: usedFor, tombstoneUntil: tombstoneUntil, limit: limit)
        let isReclaimed: (MemorySession) -> Bool = { $0.reminders.isEmpty && $0.record.ends(by: expiry) }
        var found: [(key: SessionKey, seen: Duration)] = []
        for shard in shards {
            found += shard.withLock { shard in
                shard.sessions.lazy.filter { isReclaimed($0.value) }.map { ($0.key, $0.value.record.lastSeen) }
            }
        }
        var count = 0
        for (key, _) in found.sorted(by: { $0.seen < $1.seen }).prefix(limit) {
            if remove(key, tombstoneUntil: tombstoneUntil, isExpired: true, if: isReclaimed) { count += 1 }
        }
        answer(count, done)
    }

    private func expire(_ life: LifeClass, _ shard: Lock<MemoryShard>, _ expiry: inout Expiry) {
        while expiry.hasSessions {
            let now = expiry
            // A few at a time, since appends wait for the lock.
            let (unused, isOver) = shard.withLock {
                $0.takeUnused(
                    life, since: now.lastSeenBefore[life], dueBefore: now.dueBefore, lookingAt: now.stepSize(atMost: 64)
                )
            }
            for key in unused {
                // Checked again: it may have been used meanwhile.
                let isRemoved = remove(key, tombstoneUntil: now.tombstoneUntil, isExpired: true) {
                    $0.record.ends(by: now) && $0.lastDue.map { $0 < now.dueBefore } ?? true
                }
                if isRemoved {
                    expiry.removed(1, isLast: false)
                } else {
                    shard.withLock { shard in
                        if let session = shard.sessions[key] { shard.addUse(of: session, key) }
                    }
                }
            }
            if isOver { break }
        }
    }

    /// Removes a session if it is present and `condition` holds. Returns true if it was removed. Loads see the token
    /// and the session end at once.
    @discardableResult
    private func remove(
        _ key: SessionKey, tombstoneUntil: Duration, isExpired: Bool, if condition: (MemorySession) -> Bool
    ) -> Bool {
        let session = directory.withLock { directory in
            let session = shard(of: key).withLock { shard -> MemorySession? in
                guard let session = shard.sessions[key], condition(session) else { return nil }
                shard.remove(key)
                changeAlarms(of: key, session, from: session.alarmTimes, to: [])
                return session
            }
            guard let session else { return session }
            directory.remove(
                key, session.record, credentials: session.credentials, tombstoneUntil: tombstoneUntil, limit: limit,
                isExpired: isExpired)
            return session
        }
        return session != nil
    }

    // MARK: Reading

    package func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        let found = read({ $0.tokens[token] }) { key, session in
            session.isNamed(by: token) ? session.stored(key) : nil
        }
        if let found { return answer(.found(found), done) }
        let isRemembered = directory.withLock { directory in directory.tombstones[token].map { now < $0 } == true }
        answer(isRemembered ? .ended : .unknown, done)
    }

    package func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        answer(read(session) { $0.stored(session, since: since.number) }, done)
    }

    package func loadStores(
        _ features: [FeatureID], of session: SessionKey, named token: TokenHash, done: @escaping Done<LoadedStores>
    ) {
        let loaded = read(session) { session -> LoadedStores? in
            guard session.record.tokenHash == token else { return nil }
            return LoadedStores(session.mark, session.stores.filter { features.contains($0.summary.feature) })
        }
        answer(loaded ?? LoadedStores(nil, []), done)
    }

    package func export(_ id: String, turnsAfter number: UInt64?, done: @escaping Done<SessionExport?>) {
        answer(read({ $0.ids[id] }, { $1.exported($0, turnsAfter: number) }), done)
    }

    /// Returns the result of `body` for a session, or nil if it is gone.
    func read<Value>(_ key: SessionKey, _ body: (MemorySession) -> Value?) -> Value? {
        shard(of: key).withLock { shard in shard.sessions[key].flatMap(body) }
    }

    /// Returns the result of `body` for the session that `find` returns; nil if there is none. `body` returns nil if
    /// the session no longer matches.
    private func read<Value>(
        _ find: (MemoryDirectory) -> SessionKey?, _ body: (SessionKey, MemorySession) -> Value?
    ) -> Value? {
        while let key = directory.withLock({ find($0) }) {
            // If the session is gone or changed, the directory has changed too, so it is read again. Its lock is not
            // held while a session is copied.
            if let value = read(key, { body(key, $0) }) { return value }
        }
        return nil
    }
}

extension SessionRecord {
    fileprivate func ends(by expiry: Expiry) -> Bool {
        expiry.ends(lifeClass, created: created, lastSeen: lastSeen)
    }
}
