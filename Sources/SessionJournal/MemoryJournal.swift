import HeapModule
import Locking
import MVI

/// A journal that keeps everything in memory: nothing of it outlives the process.
///
/// Every method does what it is asked for on the calling thread and calls `done`, where it has one to call, before it
/// returns; `append` always returns its result. Sessions are spread over shards by their key, so that appends to
/// different sessions rarely wait for one another; tokens and ids have one table, which an append never asks.
///
/// Locks are taken in one order: the directory's, then a shard's.
public final class MemoryJournal: Journal {
    /// Which tokens and ids there are, and which tokens were there not long ago.
    private struct Directory {
        var isClosed = false
        /// Where the next step of expiry begins.
        var nextShard = 0
        var lastKey: Int64 = 0
        var tokens: [TokenHash: SessionKey] = [:]
        var ids: [String: SessionKey] = [:]
        /// Until when each token that is gone is remembered.
        var tombstones: [TokenHash: Duration] = [:]
        /// The same, the one whose time is over first at its top.
        var tombstoneEnds: Heap<Due<TokenHash>> = []

        mutating func bury(_ token: TokenHash, until: Duration, limit: Int) {
            // A token is buried once: it names nothing afterwards.
            guard tombstones.updateValue(until, forKey: token) == nil else { return }
            tombstoneEnds.insert(Due(time: until, of: token))
            if tombstones.count > limit { tombstones[tombstoneEnds.removeMin().of] = nil }
        }

        /// Removes at most 1,000 tombstones whose time is over; says whether there may be more.
        mutating func removeTombstones(now: Duration) -> Bool {
            for _ in 0..<1_000 {
                guard let first = tombstoneEnds.min, first.time <= now else { return false }
                tombstones[first.of] = nil
                tombstoneEnds.removeMin()
            }
            return true
        }
    }

    /// The sessions of one part of the keys.
    private struct Shard {
        var sessions: [SessionKey: MemorySession] = [:]
        /// One for each session, and for those that are gone until it is due: when it was last used, or earlier.
        var uses: Heap<Due<SessionKey>> = []
        var isClosed = false

        mutating func add(_ key: SessionKey, _ session: MemorySession) {
            sessions[key] = session
            uses.insert(Due(time: session.record.lastSeen, of: key))
            // Sessions that come and go leave entries behind.
            if uses.count > 2 * sessions.count + 64 {
                uses = Heap(sessions.map { Due(time: $0.value.record.lastSeen, of: $0.key) })
            }
        }

        /// Removes the entries of sessions that were last used before a time, at most so many are looked at; returns these
        /// sessions. The others' entries are put right.
        mutating func takeUnused(since time: Duration, lookingAt limit: Int) -> (unused: [SessionKey], isOver: Bool) {
            var unused: [SessionKey] = []
            for _ in 0..<limit {
                guard let first = uses.min, first.time < time else { return (unused, true) }
                guard let session = sessions[first.of] else {
                    uses.removeMin()
                    continue
                }
                let seen = session.record.lastSeen
                if seen < time {
                    uses.removeMin()
                    unused.append(first.of)
                } else {
                    uses.replaceMin(with: Due(time: seen, of: first.of))
                }
            }
            return (unused, false)
        }
    }

    /// What something is due by.
    private struct Due<Value: Equatable>: Comparable {
        let time: Duration
        let of: Value

        static func < (left: Due, right: Due) -> Bool { left.time < right.time }
    }

    private let kept = JournalSecret.random()
    private let directory = Lock(Directory())
    /// A power of two of them.
    private let shards = (0..<64).map { _ in Lock(Shard()) }

    private let limit: Int

    /// An empty journal.
    ///
    /// - Parameter sessionLimit: how many sessions it keeps; one more is refused.
    public init(sessionLimit: Int = .max) { limit = sessionLimit }

    private func shard(of session: SessionKey) -> Lock<Shard> {
        shards[Int(truncatingIfNeeded: session.number) & (shards.count - 1)]
    }

    public var trouble: StoreError? { directory.withLock { $0.isClosed } ? .journalClosed : nil }

    private func answer<Value>(_ value: Value, _ done: Done<Value>) {
        done(trouble.map { .failure($0) } ?? .success(value))
    }

    public func close() async {
        directory.withLock {
            $0 = Directory()
            $0.isClosed = true
        }
        for shard in shards {
            // Freed when the lock is free again: there may be many.
            _ = shard.withLock { shard in
                let sessions = shard.sessions
                shard = Shard(isClosed: true)
                return sessions
            }
        }
    }

    public func secret(done: @escaping Done<JournalSecret>) { answer(kept, done) }

    // MARK: Writing

    public func create(_ session: SessionRecord, done: @escaping Done<SessionKey>) {
        let result = directory.withLock { directory -> Result<SessionKey, StoreError> in
            if directory.isClosed { return .failure(.journalClosed) }
            guard directory.tokens[session.tokenHash] == nil, directory.ids[session.id] == nil else {
                return .failure(.sessionExists)
            }
            guard directory.tombstones[session.tokenHash] == nil else { return .failure(.sessionGone) }
            guard directory.tokens.count < limit else { return .failure(.tooManyKept) }
            directory.lastKey += 1
            let key = SessionKey(directory.lastKey)
            directory.tokens[session.tokenHash] = key
            directory.ids[session.id] = key
            shard(of: key).withLock { $0.add(key, MemorySession(session)) }
            return .success(key)
        }
        done(result)
    }

    public func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        shard(of: batch.session).withLock { shard in
            if let session = shard.sessions[batch.session] { return session.append(batch) }
            return .failed(shard.isClosed ? .journalClosed : .sessionGone)
        }
    }

    public func touch(_ touches: [SessionTouch], done: @escaping Done<Void>) {
        for touch in touches { shard(of: touch.session).withLock { $0.sessions[touch.session]?.note(touch) } }
        answer((), done)
    }

    public func bury(_ token: TokenHash, until: Duration, done: @escaping Done<Void>) {
        directory.withLock { $0.bury(token, until: until, limit: limit) }
        answer((), done)
    }

    public func remove(_ session: SessionKey, tombstoneUntil: Duration, done: @escaping Done<Void>) {
        remove(session, tombstoneUntil: tombstoneUntil) { _ in true }
        answer((), done)
    }

    public func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int, done: @escaping Done<Int>
    ) {
        guard let first = directory.withLock({ $0.isClosed ? nil : $0.nextShard }) else {
            return done(.failure(.journalClosed))
        }
        while directory.withLock({ $0.removeTombstones(now: now) }) {}
        var count = 0
        for step in 0..<shards.count {
            let index = (first + step) & (shards.count - 1)
            count += expire(
                shards[index], lastSeenBefore: lastSeenBefore, tombstoneUntil: tombstoneUntil, limit: limit - count)
            guard count < limit else {
                // The next call goes on here.
                directory.withLock { $0.nextShard = index }
                break
            }
        }
        done(.success(count))
    }

    private func expire(
        _ shard: Lock<Shard>, lastSeenBefore: Duration, tombstoneUntil: Duration, limit: Int
    ) -> Int {
        var count = 0
        while count < limit {
            // Few at a time: appends wait for the lock.
            let (unused, isOver) = shard.withLock {
                $0.takeUnused(since: lastSeenBefore, lookingAt: min(64, limit - count))
            }
            for key in unused {
                // Asked again: it may have been used in the meantime.
                if remove(key, tombstoneUntil: tombstoneUntil, if: { $0.lastSeen < lastSeenBefore }) {
                    count += 1
                } else {
                    shard.withLock { shard in
                        guard let session = shard.sessions[key] else { return }
                        shard.uses.insert(Due(time: session.record.lastSeen, of: key))
                    }
                }
            }
            if isOver { break }
        }
        return count
    }

    /// Removes a session if it is there and `condition` holds; says whether it did. To a load the token's end and the
    /// session's are one step.
    @discardableResult
    private func remove(
        _ key: SessionKey, tombstoneUntil: Duration, if condition: (SessionRecord) -> Bool
    ) -> Bool {
        let session = directory.withLock { directory in
            let session = shard(of: key).withLock { shard -> MemorySession? in
                guard let session = shard.sessions[key], condition(session.record) else { return nil }
                shard.sessions[key] = nil
                return session
            }
            guard let record = session?.record else { return session }
            directory.tokens[record.tokenHash] = nil
            directory.ids[record.id] = nil
            directory.bury(record.tokenHash, until: tombstoneUntil, limit: limit)
            return session
        }
        return session != nil
    }

    // MARK: Reading

    public func load(_ token: TokenHash, now: Duration, done: @escaping Done<SessionLoad>) {
        if let session = read({ $0.tokens[token] }, { $1.stored($0) }) { return answer(.found(session), done) }
        let isRemembered = directory.withLock { directory in directory.tombstones[token].map { now < $0 } == true }
        answer(isRemembered ? .ended : .unknown, done)
    }

    public func load(_ session: SessionKey, since: SessionHead, done: @escaping Done<StoredSession?>) {
        answer(read(session) { $0.stored(session, since: since.number) }, done)
    }

    public func loadStores(_ features: [FeatureID], of session: SessionKey, done: @escaping Done<[StoredStore]>) {
        answer(read(session) { $0.stores.filter { features.contains($0.summary.feature) } } ?? [], done)
    }

    public func export(_ id: String, done: @escaping Done<SessionExport?>) {
        answer(read({ $0.ids[id] }, { $1.exported($0) }), done)
    }

    /// What `body` makes of a session; nil if it is gone.
    private func read<Value>(_ key: SessionKey, _ body: (MemorySession) -> Value) -> Value? {
        shard(of: key).withLock { shard in shard.sessions[key].map(body) }
    }

    /// What `body` makes of the session that `find` finds; nil if there is none.
    private func read<Value>(
        _ find: (Directory) -> SessionKey?, _ body: (SessionKey, MemorySession) -> Value
    ) -> Value? {
        while let key = directory.withLock({ find($0) }) {
            // If it is gone, the directory was changed with it, and another look there tells what is so now; its lock is
            // not held while a session is copied.
            if let value = read(key, { body(key, $0) }) { return value }
        }
        return nil
    }
}
