import DequeModule
import EventStream
import Locking
import MVI
import SessionJournal

/// What a token names.
package enum SessionLookup: Sendable {
    /// A session.
    case live(Session)
    /// A session that was deleted or has expired not long ago.
    case ended
    /// Nothing.
    case unknown
    /// A session of which the journal has rows that no server wrote, and what is wrong with them: it can be ended.
    case damaged(Session, StoreError)
    /// It is not known: what sessions are kept in cannot be read.
    case failed(StoreError)
}

extension SessionLookup {
    /// The session that is there, in whatever condition.
    fileprivate var session: Session? {
        switch self {
        case .live(let session), .damaged(let session, _): session
        case .ended, .unknown, .failed: nil
        }
    }
}

extension Session {
    fileprivate var lookup: SessionLookup { fault.map { .damaged(self, $0) } ?? .live(self) }
}

/// A server's sessions, by the hash of their token: those in use in memory, all of them in the journal.
///
/// All methods may be called from any thread.
package final class SessionTable: Sendable {
    /// What all the sessions share.
    package let environment: SessionEnvironment

    struct Shard {
        var sessions: [TokenHash: Session] = [:]
        /// Requests that wait for a session that is being loaded.
        var loading: [TokenHash: [@Sendable (SessionLookup) -> Void]] = [:]
        /// Ended sessions and when to forget them.
        var tombstones: [TokenHash: Duration] = [:]
        var tombstoneOrder: Deque<(hash: TokenHash, until: Duration)> = []
    }

    struct Totals {
        var isDraining = false
        /// The shard that the next sweep begins with.
        var nextShard = 0
        /// The shard in which the next session that needs room looks for it first, and when that is worth it again.
        var nextRoom = 0
        var isFullUntil: Duration = .zero
        var lifeClock = LifeClock()
        /// Whether the journal is forgetting sessions whose time is over.
        var isExpiring = false
    }

    static let shardCount = 64
    let shards: [Lock<Shard>]
    let totals = Lock(Totals())
    let places: Places

    /// An empty table.
    package init(environment: SessionEnvironment) {
        self.environment = environment
        places = Places(limit: environment.limits.sessions)
        shards = (0..<Self.shardCount).map { _ in Lock(Shard()) }
    }

    /// How many sessions are in memory.
    package var count: Int { places.taken }

    /// How many notes it holds about sessions that are gone: bounded, whatever clients do.
    package var traceCount: Int {
        shards.reduce(0) { count, lock in
            count + lock.withLock { $0.tombstones.count + $0.tombstoneOrder.count }
        }
    }

    /// How many stores are in memory, in all sessions.
    package var liveStoreCount: Int { sessions.reduce(0) { $0 + $1.liveStoreCount } }

    /// How many labels are in memory, in all sessions.
    package var labelCount: Int { sessions.reduce(0) { $0 + $1.labelCount } }

    /// What the stores in memory tell of their condition, together.
    package var diagnostics: StoreDiagnostics {
        sessions.reduce(into: StoreDiagnostics()) { $0.add($1.diagnostics) }
    }

    /// The sessions in memory, a shard's at a time.
    var sessions: some Sequence<Session> {
        shards.lazy.flatMap { lock in lock.withLock { Array($0.sessions.values) } }
    }

    /// Whether `drain` was called: no new stream should begin.
    package var isDraining: Bool { totals.withLock { $0.isDraining } }

    /// Makes a session and its token, and hands them over when they are kept.
    package func create(
        _ credential: Session.Credential,
        completion: @escaping @Sendable (Result<(session: Session, token: SessionToken), StoreError>) -> Void
    ) {
        guard enter() else { return completion(.failure(.tooManySessions)) }
        let token = SessionToken.random()
        let now = environment.time.sinceEpoch()
        let record = SessionRecord(
            id: Epoch.random(), tokenHash: token.hash, epoch: Epoch.random(), credential: credential, created: now,
            lastSeen: now)
        environment.journal.create(record) { [self] result in
            switch result {
            case .success(let key):
                let session = Session(record, key: key, environment: environment)
                shard(record.tokenHash).withLock { $0.sessions[record.tokenHash] = session }
                // The server may have begun to stop meanwhile.
                completion(.success((session, token)))
            case .failure(let failure):
                places.leave()
                completion(.failure(failure))
            }
        }
    }

    /// What a token names, if that is known without asking the journal. A live session is touched: it lives on from now.
    package func lookup(_ token: SessionToken) -> SessionLookup? {
        lookup(token.hash, now: environment.time.monotonic())
    }

    /// Hands over what a token names: before this returns if it is in memory, else perhaps later, on another thread.
    package func find(_ token: SessionToken, completion: @escaping @Sendable (SessionLookup) -> Void) {
        let hash = token.hash
        if let found = lookup(hash, now: environment.time.monotonic()) { return completion(found) }
        let (found, isFirst) = shard(hash).withLock { shard -> (Session?, Bool) in
            // Another may have brought it since the look above.
            if let session = shard.sessions[hash] { return (session, false) }
            shard.loading[hash, default: []].append(completion)
            return (nil, shard.loading[hash]?.count == 1)
        }
        if found != nil { return find(token, completion: completion) }
        guard isFirst else { return }
        environment.journal.load(hash, now: environment.time.sinceEpoch()) { [self] in loaded(hash, $0) }
    }

    private func lookup(_ hash: TokenHash, now: Duration) -> SessionLookup? {
        let (found, isAlive) = shard(hash).withLock { shard -> (SessionLookup?, Bool) in
            guard let session = shard.sessions[hash] else {
                return ((shard.tombstones[hash] ?? .zero) > now ? .ended : nil, false)
            }
            // Under the table's lock, so that it cannot leave memory between this and its use.
            return (session.lookup, session.use(now: now))
        }
        guard let session = found?.session, !isAlive else { return found }
        expire(session)
        return .ended
    }

    private func loaded(_ hash: TokenHash, _ result: Result<SessionLoad, StoreError>) {
        let now = environment.time.monotonic()
        var outcome: SessionLookup
        switch result {
        case .failure(let failure): outcome = .failed(failure)
        case .success(.ended): outcome = .ended
        case .success(.unknown): outcome = .unknown
        case .success(.found(let stored)):
            let lived = lifeTime(Moment(environment.time)) - stored.record.lastSeen
            let session = Session(stored, lastSeen: now - lived, environment: environment)
            if session.timeLeft(now: now) <= .zero {
                bury(hash)
                forget(session)
                outcome = .ended
            } else {
                enterAgain()
                session.touch()
                outcome = session.lookup
            }
        }
        let waiters = shard(hash).withLock { shard -> [@Sendable (SessionLookup) -> Void] in
            if let session = outcome.session { shard.sessions[hash] = session }
            return shard.loading.removeValue(forKey: hash) ?? []
        }
        for waiter in waiters { waiter(outcome) }
    }

    /// Ends a session as soon as the journal has forgotten it, and remembers for a while that it was there.
    package func end(_ session: Session, completion: @escaping @Sendable (Result<Void, StoreError>) -> Void) {
        environment.journal.remove(session.key, tombstoneUntil: tombstoneUntil) { [self] result in
            switch result {
            case .success:
                remove(session, .ended)
                completion(.success(()))
            case .failure(let failure): completion(.failure(failure))
            }
        }
    }

    /// Ends a session whose time is over. If the journal cannot forget it now it will later, by itself.
    func expire(_ session: Session) {
        remove(session, .expired)
        forget(session)
    }

    private func forget(_ session: Session) {
        environment.journal.remove(session.key, tombstoneUntil: tombstoneUntil) { _ in }
    }

    var tombstoneUntil: Duration { environment.time.sinceEpoch() + environment.limits.tombstoneLife }

    private func remove(_ session: Session, _ reason: GoAwayReason) {
        let hash = session.tokenHash
        let isRemoved = shard(hash).withLock { shard in
            guard shard.sessions[hash] === session else { return false }
            shard.sessions[hash] = nil
            return true
        }
        if isRemoved {
            bury(hash)
            places.leave()
        }
        session.end(reason)
    }

    private func bury(_ hash: TokenHash) {
        let until = environment.time.monotonic() + environment.limits.tombstoneLife
        let bound = max(1, environment.limits.sessions / Self.shardCount)
        shard(hash).withLock { shard in
            shard.tombstones[hash] = until
            shard.tombstoneOrder.append((hash, until))
            if shard.tombstoneOrder.count > bound {
                shard.tombstones[shard.tombstoneOrder.removeFirst().hash] = nil
            }
        }
    }

    /// Tells every stream that the server goes away, and answers every request that waits.
    package func drain() {
        totals.withLock { $0.isDraining = true }
        for session in sessions { session.drain() }
    }

    func shard(_ hash: TokenHash) -> Lock<Shard> { shards[hash.shard % Self.shardCount] }
}
