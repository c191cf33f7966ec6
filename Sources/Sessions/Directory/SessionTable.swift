import DequeModule
import EventStream
import Locking
import MVI
import SessionJournal

/// The sessions of a server, by the hash of their token. Sessions in use are in memory, sessions with a turn are in the
/// journal, and the others exist only in their tokens.
///
/// All methods may be called from any thread.
package final class SessionTable: Sendable {
    /// The environment that all sessions share.
    package let environment: SessionEnvironment

    /// The reason for a look-up.
    enum Purpose {
        /// A client's request. The token must be valid for the session.
        case client
        /// Use of the session from outside. The token is only a name.
        case use
        /// A look-up that does not count as use.
        case look
    }

    struct Shard {
        var sessions = SessionsByToken()
        /// The credentials of sessions in memory whose clients are signed in.
        var credentials: [TokenHash: Credential] = [:]
        /// Requests that wait for a session that is being loaded.
        var loading: [TokenHash: [(purpose: Purpose, done: @Sendable (SessionLookup) -> Void)]] = [:]
        /// Ended sessions and the time until which their end is recorded.
        var tombstones: [TokenHash: Duration] = [:]
        var tombstoneOrder: Deque<(hash: TokenHash, until: Duration)> = []

        func remembersEnd(of hash: TokenHash, now: Duration) -> Bool { (tombstones[hash] ?? .zero) > now }

        /// True if a request that counts as use waits for the session to load.
        func isUse(_ hash: TokenHash) -> Bool { loading[hash]?.contains { $0.purpose != .look } ?? false }

        /// Records the end of a session.
        mutating func bury(_ hash: TokenHash, until: Duration, limit: Int) {
            tombstones[hash] = until
            tombstoneOrder.append((hash, until))
            if tombstoneOrder.count > limit { forgetOldestTombstone() }
        }

        /// Removes the oldest recorded end. The journal keeps its own record for as long as needed.
        mutating func forgetOldestTombstone() {
            let oldest = tombstoneOrder.removeFirst()
            // Not if it ended again since then.
            if tombstones[oldest.hash] == oldest.until { tombstones[oldest.hash] = nil }
        }
    }

    struct Totals {
        var isDraining = false
        /// The shard that the next sweep begins with.
        var nextShard = 0
        /// The shard in which the next search for room begins, and the time before which none begins.
        var nextRoom = 0
        var isFullUntil: Duration = .zero
        var expiryClock = ExpiryClock()
        /// The seal with the journal's secret, after the first query.
        var seal: SessionSeal?
        /// True while the journal deletes expired sessions.
        var isExpiring = false
        /// The subjects whose data is being deleted, with the number of requests.
        var forgetting: [SubjectBytes: Int] = [:]
        /// The search for stores whose lifetime is over.
        var search = StoreSearch()
        /// The time of the next look for what deleted subjects left in spaces, on the monotonic clock.
        var nextForgetting: Duration = .zero
    }

    static let shardCount = 64
    let shards: [Lock<Shard>]
    let totals = Lock(Totals())
    let places: Places

    /// Creates an empty table.
    package init(environment: SessionEnvironment) {
        self.environment = environment
        places = Places(limit: environment.limits.sessions)
        shards = (0..<Self.shardCount).map { _ in Lock(Shard()) }
        connectMessages()
    }

    // Their places hold them.
    deinit { for session in sessions { session.leavePlace() } }

    /// The number of sessions in memory.
    package var count: Int { places.taken }

    /// The number of records about sessions that have left memory. It is bounded.
    package var traceCount: Int {
        shards.reduce(0) { count, lock in
            count + lock.withLock { $0.tombstones.count + $0.tombstoneOrder.count }
        }
    }

    /// The number of stores in memory, in all sessions.
    package var liveStoreCount: Int { sessions.reduce(0) { $0 + $1.liveStoreCount } }

    /// The number of labels in memory, in all sessions.
    package var labelCount: Int { sessions.reduce(0) { $0 + $1.labelCount } }

    /// The combined diagnostics of the stores in memory.
    package var diagnostics: StoreDiagnostics {
        sessions.reduce(into: StoreDiagnostics()) { $0.add($1.diagnostics) }
    }

    /// The sessions in memory, one shard at a time.
    var sessions: some Sequence<Session> {
        shards.lazy.flatMap { lock in lock.withLock { $0.sessions.all } }
    }

    /// True after `drain`: no new stream should begin.
    package var isDraining: Bool { totals.withLock { $0.isDraining } }

    /// Creates a session's token. Nothing is stored until the session is used: see `SessionSeal`.
    package func create(
        _ credential: SessionCredential, settings: ClientSettings? = nil,
        completion: @escaping @Sendable (Result<NewSession, StoreError>) -> Void
    ) {
        guard hasRoom else { return completion(.failure(.tooManySessions)) }
        withSeal { [self] result in
            completion(
                result.map { seal in
                    let life = environment.limits.sessionLife
                    let token = seal.token(credential, until: environment.time.sinceEpoch() + life, settings)
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

    /// Reads the journal's secret again, since tools may change it beside servers that share it. If that fails, the
    /// last one stays. Called every few seconds.
    package func refreshSeal() { readSeal { _ in } }

    private func readSeal(_ body: @escaping @Sendable (Result<SessionSeal, StoreError>) -> Void) {
        environment.journal.secret { [self] result in
            body(
                result.map { secret in
                    let seal = SessionSeal(secret, now: environment.time.sinceEpoch())
                    totals.withLock { $0.seal = seal }
                    environment.storeLimits.pseudonyms.use(secret.key)
                    return seal
                })
        }
    }

    /// Returns the session of a token if the journal need not be asked. Touches a live session, which extends its life.
    package func lookup(_ token: SessionToken) -> SessionLookup? {
        let now = environment.time.monotonic()
        let found = lookup(token.hash, .client, now: now)
        guard environment.lease != nil, let session = found?.session else { return found }
        if found?.isUnused == true { return nil }
        return session.timeUnconfirmed(now: now) < Self.confirmation ? found : nil
    }

    /// Looks up a token: before this returns if its session is in memory, otherwise perhaps later, on another thread.
    package func find(_ token: SessionToken, completion: @escaping @Sendable (SessionLookup) -> Void) {
        if environment.lease?.isComing == true { return completion(.failed(.noLease)) }
        find(token.hash, token, for: .client) { [self] in confirm($0, token, completion) }
    }

    /// Looks up the hash of a token.
    ///
    /// - Parameters:
    ///   - token: a token that may prove itself; nil if the session must be in the journal.
    func find(
        _ hash: TokenHash, _ token: SessionToken? = nil, for purpose: Purpose = .use,
        _ completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        if let found = lookup(hash, purpose, now: environment.time.monotonic()) { return completion(found) }
        let (found, isFirst) = shard(hash).withLock { shard -> (Session?, Bool) in
            // Another request may have loaded it meanwhile.
            if let session = shard.sessions[hash] { return (session, false) }
            shard.loading[hash, default: []].append((purpose, completion))
            return (nil, shard.loading[hash]?.count == 1)
        }
        if found != nil { return find(hash, token, for: purpose, completion) }
        guard isFirst else { return }
        environment.journal.load(hash, now: lifeTime(Moment(environment.time))) { [self] in
            loaded(hash, token, $0)
        }
    }

    func lookup(_ hash: TokenHash, _ purpose: Purpose, now: Duration) -> SessionLookup? {
        let (found, use) = shard(hash).withLock { shard -> (SessionLookup?, Session.Use?) in
            guard let session = shard.sessions[hash] else {
                if let credential = shard.credentials[hash] { return (nil, .credential(credential)) }
                return (shard.remembersEnd(of: hash, now: now) ? .ended : nil, nil)
            }
            // Under the table's lock, so that it cannot leave memory before its use.
            return (session.lookup(nil), session.use(now: now, isUse: purpose != .look))
        }
        switch use {
        case nil, .anonymous?: return found
        case .forgotten?: return purpose == .client ? .ended : found
        case .credential(let credential)?:
            return purpose == .client ? lookup(credential, now: now) : found ?? lookup(credential, now: now)
        case .over?: return found?.session.map { lookUpExpired($0) } ?? .ended
        }
    }

    /// Looks up a credential of a session whose client is signed in; nil if the session has left memory.
    private func lookup(_ credential: Credential, now: Duration) -> SessionLookup? {
        let root = credential.root
        let isUse = credential.use(now: now, life: environment.credentialLife)
        let (session, use) = shard(root).withLock { shard in
            (shard.sessions[root], shard.sessions[root]?.use(now: now, isUse: isUse))
        }
        guard let session else { return nil }
        if case .over? = use { return lookUpExpired(session, credential) }
        return session.lookup(credential)
    }

    private func loaded(
        _ hash: TokenHash, _ token: SessionToken?, _ result: Result<SessionLoad, StoreError>
    ) {
        switch result {
        case .failure(let failure): found(hash, .failed(failure))
        case .success(.ended): found(hash, .ended)
        case .success(.unknown):
            if let token { proven(token) } else { found(hash, .unknown) }
        case .success(.damaged(let key, let reason)):
            enterAgain()
            let session = Session(damaged: hash, key, reason, environment: environment)
            found(hash, session.lookup(nil))
        case .success(.found(let stored)):
            let entered = enter(stored)
            guard let session = entered.session, !stored.credentials.isEmpty else { return found(hash, entered) }
            found(hash, insert(session, hash))
        }
    }

    /// Registers a loaded session with credentials unless it is already registered. Returns the lookup of the requested
    /// token.
    private func insert(_ session: Session, _ hash: TokenHash) -> SessionLookup {
        let root = session.tokenHash
        let now = environment.time.monotonic()
        let there = shard(root).withLock { shard -> Session? in
            if let there = shard.sessions[root] { return there }
            // It ended while it was loading.
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
            // The session's own token: no client that is signed in has it, but reminders find the session by it.
            return there.lookup(nil)
        }
        return there.lookup(credential)
    }

    /// Registers the session's key, by which other nodes' reports name it.
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

    /// Removes the credentials of a session that leaves memory.
    func unregister(_ credentials: [Credential]) {
        for credential in credentials {
            shard(credential.hash).withLock { shard in
                if shard.credentials[credential.hash] === credential { shard.credentials[credential.hash] = nil }
            }
        }
    }

    private func enter(_ stored: StoredSession) -> SessionLookup {
        let now = environment.time.monotonic()
        let lived = lifeTime(Moment(environment.time)) - stored.record.lastSeen
        let session = Session(stored, lastSeen: now - lived, environment: environment)
        if session.timeLeft(now: now) + lag(of: stored.record.lifeClass) <= .zero {
            bury(stored.record.tokenHash)
            forget(session)
            return .ended
        }
        enterAgain()
        return session.lookup(nil)
    }

    /// Looks up a token that the journal does not know: it may prove itself.
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
        session.core.withLock { $0.makeRare().generation = seal.generation }
        session.touch()
        return session.lookup(nil)
    }

    private func found(_ hash: TokenHash, _ outcome: SessionLookup) {
        // Requests that came since the session was loaded count as well.
        let now = environment.time.monotonic()
        if case .live(let session, let credential) = outcome, shard(hash).withLock({ $0.isUse(hash) }) {
            // A client whose credential has expired does not keep its session.
            let isUse = credential?.use(now: now, life: environment.credentialLife) != false
            if isUse { session.touch() }
        }
        let (waiters, wasEnded) = shard(hash).withLock { shard in
            var wasEnded = false
            if let session = outcome.session, session.tokenHash == hash, !session.isSignedIn {
                // While it was loading, or its token proved itself.
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

    /// Tells every stream that the server shuts down, and answers every request that waits.
    package func drain() {
        totals.withLock { $0.isDraining = true }
        for session in sessions { session.drain() }
    }

    func shard(_ hash: TokenHash) -> Lock<Shard> { shards[hash.shard % Self.shardCount] }
}

/// The result of a look-up of a token.
package enum SessionLookup: Sendable {
    /// A session and the credential of the token; nil if no client has signed in.
    case live(Session, Credential?)
    /// A session that was deleted or expired recently.
    case ended
    /// No session.
    case unknown
    /// A session with invalid rows in the journal, and the reason. It can only be ended.
    case damaged(Session, StoreError)
    /// A failed look-up: the journal cannot be read.
    case failed(StoreError)
}

extension SessionLookup {
    /// The session that was found, in any condition.
    package var session: Session? {
        switch self {
        case .live(let session, _), .damaged(let session, _): session
        case .ended, .unknown, .failed: nil
        }
    }

    /// True for a credential that was not used for its life, as far as this node knows.
    var isUnused: Bool {
        if case .live(let session, let credential?) = self { session.isUnused(credential) } else { false }
    }

    /// The lookup for a client: a session's own token is invalid after a sign-in.
    var forClient: SessionLookup {
        if case .live(let session, nil) = self, session.isSignedIn { .ended } else { self }
    }
}
