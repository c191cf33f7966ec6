import DequeModule
import EventStream
import Locking
import MVI
import SessionJournal

/// A server's sessions, by the hash of their token: those in use in memory, those in which something has happened in the
/// journal, and the others nowhere but in their tokens.
///
/// All methods may be called from any thread.
package final class SessionTable: Sendable {
    /// What all the sessions share.
    package let environment: SessionEnvironment

    /// What a session is looked up for.
    enum Purpose {
        /// A client's request: its token has to be good for it.
        case client
        /// Something that uses the session from outside. Its token is only a name.
        case use
        /// Something that may turn out to be no use of the session.
        case look
    }

    struct Shard {
        var sessions: [TokenHash: Session] = [:]
        /// Those of the sessions in memory in which somebody is signed in.
        var credentials: [TokenHash: Credential] = [:]
        /// Requests that wait for a session that is being loaded.
        var loading: [TokenHash: [(purpose: Purpose, done: @Sendable (SessionLookup) -> Void)]] = [:]
        /// Ended sessions and when to forget them.
        var tombstones: [TokenHash: Duration] = [:]
        var tombstoneOrder: Deque<(hash: TokenHash, until: Duration)> = []

        func remembersEnd(of hash: TokenHash, now: Duration) -> Bool { (tombstones[hash] ?? .zero) > now }

        /// Whether a session that is being loaded lives on from now.
        func isUse(_ hash: TokenHash) -> Bool { loading[hash]?.contains { $0.purpose != .look } ?? false }

        /// Remembers an end.
        mutating func bury(_ hash: TokenHash, until: Duration, limit: Int) {
            tombstones[hash] = until
            tombstoneOrder.append((hash, until))
            if tombstoneOrder.count > limit { forgetOldestTombstone() }
        }

        /// Forgets the oldest end. The journal remembers it for as long as it should be.
        mutating func forgetOldestTombstone() {
            let oldest = tombstoneOrder.removeFirst()
            // Not if it ended again since.
            if tombstones[oldest.hash] == oldest.until { tombstones[oldest.hash] = nil }
        }
    }

    struct Totals {
        var isDraining = false
        /// The shard that the next sweep begins with.
        var nextShard = 0
        /// The shard in which the next session that needs room looks for it first, and when that is worth it again.
        var nextRoom = 0
        var isFullUntil: Duration = .zero
        var lifeClock = LifeClock()
        /// The journal's, once it was asked.
        var seal: SessionSeal?
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

    /// Makes a session's token. Nothing is kept of it until it is used: see `SessionSeal`.
    package func create(
        _ credential: SessionCredential, completion: @escaping @Sendable (Result<NewSession, StoreError>) -> Void
    ) {
        guard hasRoom else { return completion(.failure(.tooManySessions)) }
        withSeal { [self] result in
            completion(
                result.map { seal in
                    let life = environment.limits.sessionLife
                    let token = seal.token(credential, until: environment.time.sinceEpoch() + life)
                    // As a later request will read it.
                    let record = seal.claim(of: token).map { seal.record(token, $0, life: life) }
                    guard let record else { preconditionFailure("a seal reads its own tokens") }
                    return NewSession(
                        id: record.id, token: token, credential: credential, expiresAt: record.created + life)
                })
        }
    }

    func withSeal(_ body: @escaping @Sendable (Result<SessionSeal, StoreError>) -> Void) {
        if let seal = totals.withLock({ $0.seal }) { return body(.success(seal)) }
        readSeal(body)
    }

    /// Asks the journal for its secret again, which tools may change beside servers that share it. If it cannot be read the
    /// last one stays. Called every few seconds.
    package func refreshSeal() { readSeal { _ in } }

    private func readSeal(_ body: @escaping @Sendable (Result<SessionSeal, StoreError>) -> Void) {
        environment.journal.secret { [self] result in
            body(
                result.map { secret in
                    let seal = SessionSeal(secret, now: environment.time.sinceEpoch())
                    totals.withLock { $0.seal = seal }
                    return seal
                })
        }
    }

    /// What a token names, if that is known without asking the journal. A live session is touched: it lives on from now.
    package func lookup(_ token: SessionToken) -> SessionLookup? {
        let now = environment.time.monotonic()
        let found = lookup(token.hash, .client, now: now)
        guard environment.lease != nil, let session = found?.session else { return found }
        return session.timeUnconfirmed(now: now) < Self.confirmation ? found : nil
    }

    /// Hands over what a token names: before this returns if it is in memory, else perhaps later, on another thread.
    package func find(_ token: SessionToken, completion: @escaping @Sendable (SessionLookup) -> Void) {
        if environment.lease?.isComing == true { return completion(.failed(.noLease)) }
        find(token.hash, token, for: .client) { [self] in confirm($0, token, completion) }
    }

    /// The same by the hash of a token.
    ///
    /// - Parameter token: what may prove itself; nil if the journal has to have the session.
    func find(
        _ hash: TokenHash, _ token: SessionToken? = nil, for purpose: Purpose = .use,
        _ completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        if let found = lookup(hash, purpose, now: environment.time.monotonic()) { return completion(found) }
        let (found, isFirst) = shard(hash).withLock { shard -> (Session?, Bool) in
            // Another may have brought it since the look above.
            if let session = shard.sessions[hash] { return (session, false) }
            shard.loading[hash, default: []].append((purpose, completion))
            return (nil, shard.loading[hash]?.count == 1)
        }
        if found != nil { return find(hash, token, for: purpose, completion) }
        guard isFirst else { return }
        environment.journal.load(hash, now: lifeTime(Moment(environment.time))) { [self] in loaded(hash, token, $0) }
    }

    private func lookup(_ hash: TokenHash, _ purpose: Purpose, now: Duration) -> SessionLookup? {
        let (found, use) = shard(hash).withLock { shard -> (SessionLookup?, Session.Use?) in
            guard let session = shard.sessions[hash] else {
                if let credential = shard.credentials[hash] { return (nil, .credential(credential)) }
                return (shard.remembersEnd(of: hash, now: now) ? .ended : nil, nil)
            }
            // Under the table's lock, so that it cannot leave memory between this and its use.
            return (session.lookup(nil), session.use(now: now, isUse: purpose != .look))
        }
        switch use {
        case nil, .anonymous?: return found
        case .forgotten?: return purpose == .client ? .ended : found
        case .credential(let credential)?:
            return purpose == .client ? lookup(credential, now: now) : found ?? lookup(credential, now: now)
        case .over?: return found?.session.map { over($0) } ?? .ended
        }
    }

    /// By a credential of a session in which somebody is signed in; nil if that has left memory.
    private func lookup(_ credential: Credential, now: Duration) -> SessionLookup? {
        let root = credential.root
        let (session, use) = shard(root).withLock { shard in
            (shard.sessions[root], shard.sessions[root]?.use(now: now))
        }
        guard let session else { return nil }
        if case .over? = use { return over(session, credential) }
        return session.lookup(credential)
    }

    private func loaded(_ hash: TokenHash, _ token: SessionToken?, _ result: Result<SessionLoad, StoreError>) {
        switch result {
        case .failure(let failure): found(hash, .failed(failure))
        case .success(.ended): found(hash, .ended)
        case .success(.unknown): if let token { proven(token) } else { found(hash, .unknown) }
        case .success(.damaged(let key, let reason)):
            enterAgain()
            let session = Session(damaged: hash, key, reason, environment: environment)
            found(hash, session.lookup(nil))
        case .success(.found(let stored)):
            let isUse = shard(hash).withLock { $0.isUse(hash) }
            let entered = enter(stored, isUse: isUse)
            guard let session = entered.session, !stored.credentials.isEmpty else { return found(hash, entered) }
            found(hash, insert(session, hash))
        }
    }

    /// Puts a session that was loaded in which somebody is signed in into its place, unless it is there by now; returns
    /// what the token that was asked for names.
    private func insert(_ session: Session, _ hash: TokenHash) -> SessionLookup {
        let root = session.tokenHash
        let now = environment.time.monotonic()
        let there = shard(root).withLock { shard -> Session? in
            if let there = shard.sessions[root] { return there }
            // It was ended while it was being loaded.
            if shard.remembersEnd(of: root, now: now) { return nil }
            shard.sessions[root] = session
            noteKey(of: session)
            return session
        }
        if there !== session { places.leave() }
        guard let there else { return .ended }
        let credentials = there.credentials
        for credential in credentials { register(credential) }
        guard let credential = credentials.first(where: { $0.hash == hash }) else {
            // The session's own token: nobody has it who is signed in, but reminders find the session by it.
            return there.lookup(nil)
        }
        return there.lookup(credential)
    }

    /// News of a session come by its key.
    private func noteKey(of session: Session) {
        guard environment.sharedJournal != nil, let key = session.core.withLock({ $0.key }) else { return }
        environment.index.withLock { $0[key] = session.tokenHash }
    }

    func forgetKey(of session: Session) {
        guard environment.sharedJournal != nil, let key = session.core.withLock({ $0.key }) else { return }
        environment.index.withLock { $0[key] = nil }
    }

    func register(_ credential: Credential) {
        shard(credential.hash).withLock { $0.credentials[credential.hash] = credential }
    }

    /// A session leaves memory, and its credentials with it.
    func unregister(_ credentials: [Credential]) {
        for credential in credentials {
            shard(credential.hash).withLock { shard in
                if shard.credentials[credential.hash] === credential { shard.credentials[credential.hash] = nil }
            }
        }
    }

    /// - Parameter isUse: whether the session lives on from now.
    private func enter(_ stored: StoredSession, isUse: Bool) -> SessionLookup {
        let now = environment.time.monotonic()
        let lived = lifeTime(Moment(environment.time)) - stored.record.lastSeen
        let session = Session(stored, lastSeen: now - lived, environment: environment)
        if session.timeLeft(now: now) + lag <= .zero {
            bury(stored.record.tokenHash)
            forget(session)
            return .ended
        }
        enterAgain()
        if isUse { session.touch() }
        return session.lookup(nil)
    }

    /// The journal does not know the token. It may prove itself.
    private func proven(_ token: SessionToken) {
        guard token.proof != nil else { return found(token.hash, .unknown) }
        withSeal { [self] result in
            switch result {
            case .failure(let failure): found(token.hash, .failed(failure))
            case .success(let seal): found(token.hash, enter(token, seal))
            }
        }
    }

    private func enter(_ token: SessionToken, _ seal: SessionSeal) -> SessionLookup {
        guard let claim = seal.claim(of: token) else { return .unknown }
        let late = lifeTime(Moment(environment.time)) - claim.until
        guard late < .zero else { return late < environment.limits.tombstoneLife ? .ended : .unknown }
        guard enter() else { return .failed(.tooManySessions) }
        let session = Session(
            seal.record(token, claim, life: environment.limits.sessionLife), environment: environment)
        session.core.withLock { $0.generation = seal.generation }
        session.touch()
        return session.lookup(nil)
    }

    private func found(_ hash: TokenHash, _ outcome: SessionLookup) {
        // Those that came since the session was loaded count as well.
        if let session = outcome.session, shard(hash).withLock({ $0.isUse(hash) }) { session.touch() }
        let now = environment.time.monotonic()
        let (waiters, wasEnded) = shard(hash).withLock { shard in
            var wasEnded = false
            if let session = outcome.session, session.tokenHash == hash, !session.isSignedIn {
                // While it was being loaded, or its token proved itself.
                wasEnded = shard.remembersEnd(of: hash, now: now)
                if !wasEnded {
                    shard.sessions[hash] = session
                    noteKey(of: session)
                }
            }
            return (shard.loading.removeValue(forKey: hash) ?? [], wasEnded)
        }
        if wasEnded { places.leave() }
        let outcome = wasEnded ? .ended : outcome
        for (purpose, done) in waiters { done(purpose == .client ? outcome.forClient : outcome) }
    }

    /// Tells every stream that the server goes away, and answers every request that waits.
    package func drain() {
        totals.withLock { $0.isDraining = true }
        for session in sessions { session.drain() }
    }

    func shard(_ hash: TokenHash) -> Lock<Shard> { shards[hash.shard % Self.shardCount] }
}

/// What a token names.
package enum SessionLookup: Sendable {
    /// A session, and the credential that the token is; nil if nobody has signed in.
    case live(Session, Credential?)
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
    package var session: Session? {
        switch self {
        case .live(let session, _), .damaged(let session, _): session
        case .ended, .unknown, .failed: nil
        }
    }
}

extension SessionLookup {
    /// A session's own token is not good for a client any more when somebody has signed in.
    var forClient: SessionLookup {
        if case .live(let session, nil) = self, session.isSignedIn { .ended } else { self }
    }
}

extension Session {
    func lookup(_ credential: Credential?) -> SessionLookup {
        fault.map { .damaged(self, $0) } ?? .live(self, credential)
    }
}
