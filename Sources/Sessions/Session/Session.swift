import EventStream
import Locking
import MVI
import SessionJournal
import Synchronization

/// The stores of one client and the log that its streams show.
///
/// All methods may be called from any thread. No handler, callback or write to a socket runs under the session's lock.
package final class Session: Sendable {
    /// The id that clients see.
    package var id: String { info.id }
    /// The information that features may read.
    let info: SessionInfo
    /// The form in which the client sends its token.
    package let credential: SessionCredential
    /// The time of its creation: since 1970.
    var created: Duration { info.created.sinceEpoch }
    /// True if its subject's devices share it, each with a credential of its own.
    package let isShared: Bool
    /// The name of the space; nil for a client's session.
    package let space: SpaceName?

    /// The error in its rows. Such a session can only be ended; none of its rows is used.
    let fault: StoreError?
    let tokenHash: TokenHash
    let shared: SessionEnvironment
    /// No session's lock is taken under another's.
    let core: SoleLock<SessionCore>
    package let queue = TurnQueue()
    /// The number of access changes here, its end included, each made under the lock: what was judged before is judged
    /// again. Other sessions compare it without the lock.
    let accessGeneration = Atomic<UInt64>(0)
    /// The number of requests of its client that act in spaces now.
    let pins = Atomic<Int>(0)

    private init(
        _ record: SessionRecord, _ environment: SessionEnvironment, _ core: SessionCore, fault: StoreError? = nil
    ) {
        self.fault = fault
        info = SessionInfo(
            id: record.id, created: Timestamp(sinceEpoch: record.created), subject: record.subject)
        (credential, tokenHash) = (record.credential, record.tokenHash)
        (isShared, space) = (record.isShared, record.space)
        (shared, self.core) = (environment, SoleLock(core))
    }

    /// A session without a turn, which the journal does not have.
    convenience init(_ record: SessionRecord, environment: SessionEnvironment) {
        let now = Moment(environment.time)
        var core = SessionCore(epoch: record.epoch, now: now.monotonic(min(record.created, now.sinceEpoch)))
        (core.life, core.settings) = (record.lifeClass, record.settings)
        if record.space != nil { core.receipts = ReceiptBook(ofSpace: true) }
        self.init(record, environment, core)
    }

    /// A stored session. Its stores are loaded on demand.
    ///
    /// - Parameter lastSeen: the time of its last use, on the monotonic clock.
    package convenience init(_ stored: StoredSession, lastSeen: Duration, environment: SessionEnvironment) {
        if let fault = stored.fault {
            var core = SessionCore(epoch: Epoch.random(), now: environment.time.monotonic())
            core.lastTouch = lastSeen
            core.key = stored.key
            self.init(stored.record, environment, core, fault: fault)
            return
        }
        let now = Moment(environment.time)
        var core = SessionCore(stored, now, lastSeen: lastSeen, limits: environment.limits)
        // As if the last confirmation were long ago: the journal is asked again before the session is shown.
        if environment.lease?.confirmsReads == false { core.confirmed = now.monotonic - environment.limits.sessionLife }
        self.init(stored.record, environment, core)
    }

    /// A session of which only the token and the key can be read. It can only be ended.
    convenience init(damaged hash: TokenHash, _ key: SessionKey, _ reason: String, environment: SessionEnvironment) {
        let now = Moment(environment.time)
        let record = SessionRecord(
            id: Epoch.random(), tokenHash: hash, epoch: Epoch.random(), credential: .bearer, created: now.sinceEpoch,
            lastSeen: now.sinceEpoch)
        var core = SessionCore(epoch: record.epoch, now: now.monotonic)
        core.key = key
        self.init(record, environment, core, fault: .damaged("of a session cannot be read: \(reason)"))
    }

    /// The name of this session's log; a part of cursors and entity tags.
    package var epoch: String { core.withLock { $0.epoch } }

    /// The time since 1970 at which a client's access expires without further use: that of its credential, or of the
    /// session if it has none.
    package func expiresAt(for credential: Credential?) -> Duration {
        let now = Moment(shared.time)
        let left =
            credential?.timeLeft(now: now.monotonic, life: shared.limits.credentialLife)
            ?? timeLeft(now: now.monotonic)
        return now.sinceEpoch + left
    }

    /// True if a credential was not used for its life. Its client has to sign in again.
    package func isUnused(_ credential: Credential) -> Bool {
        credential.timeLeft(now: shared.time.monotonic(), life: shared.credentialLife) <= .zero
    }

    /// The feature instances that have a store, sorted.
    package var storeIDs: [FeatureID] {
        core.withLock { $0.stores.map(\.feature) }.sorted { $0.text < $1.text }
    }

    /// True if the feature instance has a store.
    package func hasStore(_ feature: FeatureID) -> Bool { core.withLock { $0.stores.index(of: feature) != nil } }

    /// The number of open streams.
    package var streamCount: Int { core.withLock { $0.streams.all.count } }

    /// True if its end is being committed, which may have failed.
    var isEnding: Bool { core.withLock { $0.gate == .ending && $0.isLive } }

    /// True if the session was deleted or has expired.
    package var isEnded: Bool { core.withLock { $0.phase == .ended } }

    /// Notes a request, which extends the session's life.
    package func touch() {
        let now = shared.time.monotonic()
        core.withLock { $0.lastTouch = now }
    }

    /// The meaning of a token for the session that began with it.
    enum Use {
        /// The session is live, and no client has signed in.
        case anonymous
        /// A client has signed in, and the token is its credential.
        case credential(Credential)
        /// A client has signed in, and the token is not one of the credentials.
        case forgotten
        /// The session is ended or expired.
        case over
    }

    /// True if a client has signed in.
    package var isSignedIn: Bool { core.withLock { !$0.credentials.isEmpty } }

    /// The credentials of clients that are signed in, and those that they replaced.
    var credentials: [Credential] { core.withLock { $0.credentials } }

    /// Returns the use of the session's own token, and notes a request.
    ///
    /// - Parameter isUse: true if the request extends the session's life.
    func use(now: Duration, isUse: Bool = true) -> Use {
        core.withLock { core in
            let lives = now - core.lastTouch < shared.lives[core.life] || core.isKeptAlive(now: now)
            guard lives, core.isLive else { return .over }
            if isUse { core.lastTouch = now }
            if core.credentials.isEmpty { return .anonymous }
            return core.credentials.first { $0.hash == tokenHash }.map { .credential($0) } ?? .forgotten
        }
    }

    /// The rate at which it may send intents.
    package var intentRate: Rate? { shared.limits.intentRate }

    /// Counts an intent. Returns nil if the session may send one now, otherwise the time until then.
    package func takeIntent(_ rate: Rate, _ credential: Credential? = nil) -> Duration? {
        let now = shared.time.monotonic()
        if let credential { return credential.takeIntent(rate, now: now) }
        return core.withLock { $0.intents.take(rate, now: now) }
    }

    /// True if half of the cookie's life has passed since it was last set. If so it counts as set now.
    package func cookieIsDue(_ credential: Credential? = nil) -> Bool {
        let now = shared.time.monotonic()
        if let credential { return credential.cookieIsDue(now: now, life: shared.limits.credentialLife) }
        let life = shared.limits.sessionLife
        return core.withLock { core in
            guard now - core.cookieSet >= life / 2 else { return false }
            core.cookieSet = now
            return true
        }
    }

    /// The time until the session expires without further use; zero or less if it has expired.
    func timeLeft(now: Duration) -> Duration {
        core.withLock { core in
            (core.isKeptAlive(now: now) ? now : core.lastTouch) + shared.lives[core.life] - now
        }
    }

    /// Ends the session: cancels its work, closes its streams, answers its waits and refuses its queued jobs. Jobs in
    /// flight are answered by their results. A second call does nothing.
    package func end(_ reason: GoAwayReason) {
        if stop(.ended, reason, .sessionEnded) { shared.tellEnd(of: info) }
    }

    /// Leaves memory although it is in use, since the journal has another session instead, or an unusable one. Streams
    /// are told to reconnect; the journal decides then what the token names.
    ///
    /// - Parameter error: the error for jobs that wait in the queue.
    func leave(_ error: StoreError = .evicted) {
        guard stop(.evicted, .drain, error), error.code != .evicted, error.code != .closed else { return }
        report(error, after: 0)
    }

    /// Returns false if the object was in that phase, or had ended, already.
    private func stop(_ phase: SessionCore.Phase, _ reason: GoAwayReason, _ error: StoreError) -> Bool {
        typealias Ended = (
            stores: IdentifiedArray<StoreSlot>, wakers: ShortList<any StreamWaker>, waits: [Wait], held: [IntentJob]
        )
        let now = shared.time.monotonic()
        let ended = core.withLock { core -> Ended? in
            guard core.phase != .ended, core.phase != phase else { return nil }
            core.phase = phase
            accessGeneration.add(1, ordering: .releasing)
            core.streams.finish(reason, at: core.lastPosition(now: now))
            let held = core.rare?.checks?.takeAll() ?? []
            defer { core.stores = [] }
            return (core.stores, core.streams.takeWakers(), core.waits, held)
        }
        guard let ended else { return false }
        leavePlace()
        for job in ended.held { job.end(error) }
        let stores = ended.stores.compactMap(\.store).filter { $0.endWork() }
        // Observers are told of jobs in flight first.
        let observed = FunctionJob(.server) { _ in for store in stores { store.runner.observeEnd() } }
        let (jobs, isIdle) = queue.close(error, last: observed)
        for job in jobs { job.end(error) }
        if isIdle { for store in stores { store.runner.observeEnd() } }
        for wait in ended.waits { wait.end(false) }
        for waker in ended.wakers { waker.wake() }
        // They hold stores, which hold the session.
        forgetWatchers()
        shared.note(self, isOwned: false)
        return true
    }

    /// True if this object left memory: another one has to be looked up.
    var hasLeft: Bool { core.withLock { $0.phase == .evicted } }

    /// The number of labels in the outbox.
    var labelCount: Int { core.withLock { $0.outbox.count } }

    /// The number of stores in memory.
    var liveStoreCount: Int { core.withLock { core in core.stores.count { $0.store != nil } } }

    /// The combined diagnostics of the stores in memory.
    var diagnostics: StoreDiagnostics {
        let stores = core.withLock { core in core.stores.compactMap(\.store) }
        return stores.reduce(into: StoreDiagnostics()) { sum, store in
            var diagnostics = store.diagnostics
            store.runner.addObserverCounts(to: &diagnostics)
            sum.add(diagnostics)
        }
    }

    /// Tells every stream that the server shuts down, and answers every wait.
    func drain() {
        finishStreams(.drain)
        for wait in core.withLock({ $0.waits }) { wait.end(false) }
    }

    /// Ends the streams that are meant.
    func finishStreams(_ reason: GoAwayReason, where isMeant: (StreamState) -> Bool = { _ in true }) {
        let now = shared.time.monotonic()
        changeStreams { $0.streams.finish(reason, at: $0.lastPosition(now: now), where: isMeant) }
    }

    /// Changes streams and wakes their connections.
    func changeStreams(_ change: (inout SessionCore) -> Void) {
        let wakers = core.withLock { core in
            change(&core)
            return core.streams.takeWakers()
        }
        for waker in wakers { waker.wake() }
    }

    func lookup(_ credential: Credential?) -> SessionLookup {
        fault.map { .damaged(self, $0) } ?? .live(self, credential)
    }
}
