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
    /// The sessions of one part of the keys.
    private struct Shard {
        var sessions: [SessionKey: MemorySession] = [:]
        var isClosed = false
    }

    private let directory = Lock(MemoryDirectory())
    /// A power of two of them.
    private let shards: [Lock<Shard>]

    /// An empty journal.
    public init() {
        shards = (0..<64).map { _ in Lock(Shard()) }
    }

    private func shard(of session: SessionKey) -> Lock<Shard> {
        shards[Int(truncatingIfNeeded: session.number) & (shards.count - 1)]
    }

    private var isClosed: Bool { directory.withLock { $0.isClosed } }

    // MARK: Writing

    public func create(
        _ session: SessionRecord, done: @escaping @Sendable (Result<SessionKey, StoreError>) -> Void
    ) {
        let result: Result<SessionKey, StoreError> = directory.withLock { directory in
            directory.add(session).map { key in
                shard(of: key).withLock { $0.sessions[key] = MemorySession(session) }
                return key
            }
        }
        done(result)
    }

    public func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        shard(of: batch.session).withLock { shard in
            if let session = shard.sessions[batch.session] { return session.append(batch) }
            return .failed(shard.isClosed ? .journalClosed : .sessionGone)
        }
    }

    public func touch(_ touches: [SessionTouch], done: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        for touch in touches {
            shard(of: touch.session).withLock { $0.sessions[touch.session]?.note(touch) }
        }
        done(isClosed ? .failure(.journalClosed) : .success(()))
    }

    public func remove(
        _ session: SessionKey, tombstoneUntil: Duration, done: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        remove(session, tombstoneUntil: tombstoneUntil) { _ in true }
        done(isClosed ? .failure(.journalClosed) : .success(()))
    }

    public func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int,
        done: @escaping @Sendable (Result<Int, StoreError>) -> Void
    ) {
        guard let first = directory.withLock({ $0.isClosed ? nil : $0.nextShard }) else {
            return done(.failure(.journalClosed))
        }
        while directory.withLock({ $0.removeTombstones(now: now, limit: 1_000) }) == 1_000 {}
        var count = 0
        for step in 0..<shards.count {
            let index = (first + step) & (shards.count - 1)
            count += expire(lastSeenBefore, in: index, tombstoneUntil: tombstoneUntil, limit: limit - count)
            guard count < limit else {
                // The next call goes on here: walking over shards that are done costs a look at each session.
                directory.withLock { $0.nextShard = index }
                break
            }
        }
        done(.success(count))
    }

    /// Removes at most `limit` sessions of a shard; says how many.
    private func expire(_ lastSeenBefore: Duration, in shard: Int, tombstoneUntil: Duration, limit: Int) -> Int {
        let candidates = shards[shard].withLock { shard in
            Array(shard.sessions.lazy.filter { $0.value.record.lastSeen < lastSeenBefore }.map(\.key).prefix(limit))
        }
        return candidates.count { key in
            // Asked again: it may have been used in the meantime.
            remove(key, tombstoneUntil: tombstoneUntil) { $0.lastSeen < lastSeenBefore }
        }
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
            if let session { directory.remove(session.record, tombstoneUntil: tombstoneUntil) }
            return session
        }
        return session != nil
    }

    // MARK: Reading

    public func load(
        _ token: TokenHash, now: Duration, done: @escaping @Sendable (Result<SessionLoad, StoreError>) -> Void
    ) {
        done(load(token, now: now))
    }

    private func load(_ token: TokenHash, now: Duration) -> Result<SessionLoad, StoreError> {
        while true {
            let (isClosed, entry) = directory.withLock { ($0.isClosed, $0.entry(of: token, now: now)) }
            if isClosed { return .failure(.journalClosed) }
            switch entry {
            case .session(let key):
                // If it is gone, the directory was changed with it, and another look there tells what is so now; its
                // lock is not held while a session is copied.
                if let session = read(key, { $0.stored(key) }) { return .success(.found(session)) }
            case .tombstone: return .success(.ended)
            case .nothing: return .success(.unknown)
            }
        }
    }

    public func load(
        _ session: SessionKey, since: SessionHead, done: @escaping @Sendable (Result<SessionNews?, StoreError>) -> Void
    ) {
        let news = read(session) { $0.news(since: since.number) }
        done(isClosed ? .failure(.journalClosed) : .success(news))
    }

    public func loadStores(
        _ features: [FeatureID], of session: SessionKey,
        done: @escaping @Sendable (Result<[StoredStore], StoreError>) -> Void
    ) {
        let stores = read(session) { $0.stores.filter { features.contains($0.summary.feature) } }
        done(isClosed ? .failure(.journalClosed) : .success(stores ?? []))
    }

    public func export(_ id: String, done: @escaping @Sendable (Result<SessionExport?, StoreError>) -> Void) {
        while true {
            let (isClosed, key) = directory.withLock { ($0.isClosed, $0.key(ofID: id)) }
            if isClosed { return done(.failure(.journalClosed)) }
            guard let key else { return done(.success(nil)) }
            if let export = read(key, { $0.exported(key) }) { return done(.success(export)) }
        }
    }

    /// What `body` makes of a session; nil if it is gone.
    private func read<Value>(_ key: SessionKey, _ body: (MemorySession) -> Value) -> Value? {
        shard(of: key).withLock { shard in shard.sessions[key].map(body) }
    }

    // MARK: State

    public var trouble: StoreError? { isClosed ? .journalClosed : nil }

    public func close() async {
        directory.withLock { $0.close() }
        for shard in shards {
            // Freed when the lock is free again: there may be many.
            _ = shard.withLock { shard in
                let sessions = shard.sessions
                shard = Shard(isClosed: true)
                return sessions
            }
        }
    }
}
