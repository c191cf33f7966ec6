import EventStream
import Locking
import MVI
import SessionJournal

/// One client's stores and everything that its streams may have to be told.
///
/// All methods may be called from any thread. No handler, callback or write to a socket runs under the session's lock.
package final class Session: Sendable {
    /// The id that clients see.
    package var id: String { info.id }
    /// What its features may know of it.
    let info: SessionInfo
    /// How the client proves whose it is.
    package let credential: SessionCredential
    /// When it was made: time since 1970.
    let created: Duration
    /// Whether its subject's devices share it, each with a credential of its own.
    package let isShared: Bool

    /// What is wrong with its rows; such a session is there to be ended, and none of them is used.
    let fault: StoreError?
    let tokenHash: TokenHash
    let shared: SessionEnvironment
    let core: Lock<SessionCore>
    package let queue = TurnQueue()

    private init(
        _ record: SessionRecord, _ environment: SessionEnvironment, _ core: SessionCore, fault: StoreError? = nil
    ) {
        self.fault = fault
        info = SessionInfo(
            id: record.id, created: Timestamp(sinceEpoch: record.created), subject: record.subject)
        (credential, tokenHash, created) = (record.credential, record.tokenHash, record.created)
        isShared = record.isShared
        (shared, self.core) = (environment, Lock(core))
    }

    /// A session that the journal does not have: nothing has happened in it yet.
    convenience init(_ record: SessionRecord, environment: SessionEnvironment) {
        let now = Moment(environment.time)
        self.init(
            record, environment,
            SessionCore(epoch: record.epoch, now: now.monotonic(min(record.created, now.sinceEpoch))))
    }

    /// A session as it was kept; its stores come when they are asked for.
    ///
    /// - Parameter lastSeen: when it was last used, on the monotonic clock.
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
        // As if that had been long ago: it is asked for again before it is shown.
        if environment.lease?.confirmsReads == false { core.confirmed = now.monotonic - environment.limits.sessionLife }
        self.init(stored.record, environment, core)
    }

    /// A session of which nothing can be read but its token and its key: it is there to be ended.
    convenience init(damaged hash: TokenHash, _ key: SessionKey, _ reason: String, environment: SessionEnvironment) {
        let now = Moment(environment.time)
        let record = SessionRecord(
            id: Epoch.random(), tokenHash: hash, epoch: Epoch.random(), credential: .bearer, created: now.sinceEpoch,
            lastSeen: now.sinceEpoch)
        var core = SessionCore(epoch: record.epoch, now: now.monotonic)
        core.key = key
        self.init(record, environment, core, fault: .damaged("of a session cannot be read: \(reason)"))
    }

    /// Names this session's log; a part of cursors and entity tags.
    package var epoch: String { core.withLock { $0.epoch } }

    /// When the session ends if nothing comes any more: time since 1970. It moves with every request.
    package var expiresAt: Duration {
        let left = timeLeft(now: shared.time.monotonic())
        return shared.time.sinceEpoch() + left
    }

    /// The feature instances that have a store, sorted.
    package var storeIDs: [FeatureID] {
        core.withLock { $0.stores.map(\.feature) }.sorted { $0.text < $1.text }
    }

    /// Whether the feature instance has a store.
    package func hasStore(_ feature: FeatureID) -> Bool { core.withLock { $0.stores.index(of: feature) != nil } }

    /// How many streams are open.
    package var streamCount: Int { core.withLock { $0.streams.all.count } }

    /// Whether its end is to be kept, which may have failed.
    var isEnding: Bool { core.withLock { $0.gate == .ending && $0.isLive } }

    /// Whether the session was deleted or has expired.
    package var isEnded: Bool { core.withLock { $0.phase == .ended } }

    /// Notes a request: the session lives on from now.
    package func touch() {
        let now = shared.time.monotonic()
        core.withLock { $0.lastTouch = now }
    }

    /// What a token is for the session that it began with.
    enum Use {
        /// The session is neither ended nor expired, and nobody has signed in.
        case anonymous
        /// Somebody has signed in.
        case credential(Credential)
        /// Somebody has signed in, and the token is of nobody who is.
        case forgotten
        /// The session is ended or expired.
        case over
    }

    /// Whether anybody has signed in.
    package var isSignedIn: Bool { core.withLock { !$0.credentials.isEmpty } }

    /// The credentials of clients that are signed in, and those that they replaced.
    var credentials: [Credential] { core.withLock { $0.credentials } }

    /// Says what its own token is, and notes a request.
    ///
    /// - Parameter isUse: whether the session lives on from now.
    func use(now: Duration, isUse: Bool = true) -> Use {
        core.withLock { core in
            let lives = now - core.lastTouch < shared.limits.sessionLife || core.isKeptAlive(now: now)
            guard lives, core.isLive else { return .over }
            if isUse { core.lastTouch = now }
            if core.credentials.isEmpty { return .anonymous }
            return core.credentials.first { $0.hash == tokenHash }.map { .credential($0) } ?? .forgotten
        }
    }

    /// How often it may send intents.
    package var intentRate: Rate? { shared.limits.intentRate }

    /// Counts an intent; nil if the session may send one now, else in how much time.
    package func takeIntent(_ rate: Rate, _ credential: Credential? = nil) -> Duration? {
        let now = shared.time.monotonic()
        if let credential { return credential.takeIntent(rate, now: now) }
        return core.withLock { $0.intents.take(rate, now: now) }
    }

    /// Whether half of the cookie's life has passed since it was last set; if so it counts as set now.
    package func cookieIsDue(_ credential: Credential? = nil) -> Bool {
        let now = shared.time.monotonic()
        let life = shared.limits.sessionLife
        if let credential { return credential.cookieIsDue(now: now, life: life) }
        return core.withLock { core in
            guard now - core.cookieSet >= life / 2 else { return false }
            core.cookieSet = now
            return true
        }
    }

    /// How long until the session expires if nothing comes; zero or less if it has.
    func timeLeft(now: Duration) -> Duration {
        core.withLock { $0.isKeptAlive(now: now) ? now : $0.lastTouch } + shared.limits.sessionLife - now
    }

    /// The entity tag of a version, without quotes.
    package func entityTag(version: UInt64) -> String { "\(epoch).\(version)" }

    /// Ends the session: its work is cancelled, its streams are told and closed, its waits answered, what waits in its
    /// queue is refused. What is in flight is answered by its result. A second call does nothing.
    package func end(_ reason: GoAwayReason) {
        if stop(.ended, reason, .sessionEnded) { shared.tellEnd(of: info) }
    }

    /// Leaves memory although it is in use: what the journal has of it is another session, or cannot be used. Streams are
    /// told to come again; what the token names then the journal says.
    ///
    /// - Parameter error: what those are told that wait in the queue.
    func leave(_ error: StoreError = .evicted) {
        guard stop(.evicted, .drain, error), error.code != .evicted, error.code != .closed else { return }
        report(error, after: 0)
    }

    /// Whether the object was not in that phase, or ended, already.
    private func stop(_ phase: SessionCore.Phase, _ reason: GoAwayReason, _ error: StoreError) -> Bool {
        typealias Ended = (
            stores: [StoreSlot], wakers: ShortList<any StreamWaker>, waits: [Wait], held: [IntentJob]
        )
        let now = shared.time.monotonic()
        let ended = core.withLock { core -> Ended? in
            guard core.phase != .ended, core.phase != phase else { return nil }
            core.phase = phase
            core.streams.finish(reason, at: core.lastPosition(now: now))
            let held = core.checks?.takeAll() ?? []
            defer { core.stores = [] }
            return (core.stores, core.streams.takeWakers(), Array(core.waits.values), held)
        }
        guard let ended else { return false }
        for job in ended.held { job.end(error) }
        let stores = ended.stores.compactMap(\.store).filter { $0.endWork() }
        // Of what is in flight observers are told first.
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

    /// Whether its object left memory: another one is to be asked.
    var hasLeft: Bool { core.withLock { $0.phase == .evicted } }

    /// How many labels are kept.
    var labelCount: Int { core.withLock { $0.outbox.count } }

    /// How many stores are in memory.
    var liveStoreCount: Int { core.withLock { core in core.stores.count { $0.store != nil } } }

    /// What the stores in memory tell of their condition, together.
    var diagnostics: StoreDiagnostics {
        let stores = core.withLock { core in core.stores.compactMap(\.store) }
        return stores.reduce(into: StoreDiagnostics()) { sum, store in
            var diagnostics = store.diagnostics
            store.runner.addObserverCounts(to: &diagnostics)
            sum.add(diagnostics)
        }
    }

    /// Tells every stream that the server goes away, and answers every wait.
    func drain() {
        finishStreams(.drain)
        for wait in core.withLock({ Array($0.waits.values) }) { wait.end(false) }
    }

    /// Tells streams to go.
    func finishStreams(_ reason: GoAwayReason, where isMeant: (StreamState) -> Bool = { _ in true }) {
        let now = shared.time.monotonic()
        changeStreams { $0.streams.finish(reason, at: $0.lastPosition(now: now), where: isMeant) }
    }

    /// Changes what streams have to tell, and has their connections told.
    func changeStreams(_ change: (inout SessionCore) -> Void) {
        let wakers = core.withLock { core in
            change(&core)
            return core.streams.takeWakers()
        }
        for waker in wakers { waker.wake() }
    }

    // MARK: Leaving memory

    /// Gives back what is not needed: labels whose time is over, stores that are not in use. Returns what the journal should
    /// note.
    func tidy(now: Moment) -> SessionNote {
        let limits = shared.limits
        // The stores die after the lock, with their authors' values.
        let (note, _) = core.withLock { core -> (SessionNote, [SessionStore]) in
            guard core.isLive else { return (.nothing, []) }
            core.outbox.forgetExpired(now: now.monotonic)
            core.receipts.expire(now: now.monotonic, life: limits.receiptLife)
            let passive =
                queue.isIdle ? core.passivateIdleStores(now: now.monotonic, after: limits.passivateAfter) : []
            return (core.note(now, limits, after: limits.touchDelay, orLabels: 64), passive)
        }
        return note
    }

    /// What the journal should note before this process ends.
    func finalNote(now: Moment) -> SessionNote {
        core.withLock { $0.isLive ? $0.note(now, shared.limits, after: .nanoseconds(1), orLabels: 1) : .nothing }
    }

    /// Has one store leave memory now. Returns what keeps it there, each a sentence's part; empty if it has left, or was
    /// not there. For tests of features.
    package func passivate(_ feature: FeatureID) -> [String] {
        let (obstacles, _) = core.withLock { core -> ([String], SessionStore?) in
            guard let index = core.stores.index(of: feature), let store = core.stores[index].store else {
                return ([], nil)
            }
            var obstacles = store.obstacles
            if !queue.isIdle { obstacles.append("turns wait or are tried again") }
            if !core.stores[index].isStarted { obstacles.append("its bootstrap is not committed") }
            if !core.stores[index].waiters.isEmpty { obstacles.append("a request waits for its next state") }
            return (obstacles, obstacles.isEmpty ? core.passivateStore(at: index) : nil)
        }
        return obstacles
    }

    /// When the session was last used, if it may be in no use now.
    ///
    /// - Parameter onlyEmpty: asks for one in which nothing has happened yet.
    func unusedSince(onlyEmpty: Bool) -> Duration? {
        core.withLock { core in
            guard core.isLive, core.streams.isEmpty, core.waits.isEmpty, queue.isIdle,
                !onlyEmpty || core.head == .empty
            else { return nil }
            return core.lastTouch
        }
    }

    /// Leaves memory if nothing of it is in use: nil if something is, else what the journal is to note. The caller holds
    /// the table's lock, so that no request can be handed this session meanwhile.
    ///
    /// - Parameter passive: takes the stores that leave memory: they die after that lock, with their authors' values.
    func evict(now: Moment, after patience: Duration, _ passive: inout [SessionStore]) -> SessionNote? {
        core.withLock { core in
            guard core.isLive, core.keepers == nil, !core.ownsWork, queue.isIdle,
                now.monotonic - core.lastUse >= patience
            else { return nil }
            passive = core.passivateIdleStores(
                now: now.monotonic, after: min(patience, shared.limits.passivateAfter))
            guard core.isUnused else { return nil }
            core.phase = .evicted
            _ = queue.close(.evicted)
            return core.note(now, shared.limits, after: .nanoseconds(1), orLabels: 1)
        }
    }
}

/// What the journal should note of a session.
enum SessionNote: Sendable {
    case nothing
    case used(SessionTouch)
    /// It was used for long, and the journal does not have it: its token alone would end its life too early.
    case unkept
}

extension SessionCore {
    /// The queue is idle: no turn runs or is on its way, and none can begin before the lock is free.
    fileprivate mutating func passivateIdleStores(now: Duration, after patience: Duration) -> [SessionStore] {
        var passive: [SessionStore] = []
        for index in stores.indices {
            let slot = stores[index]
            // One that another node ran may never have begun here.
            guard let store = slot.store, slot.isStarted || keptOwnership != nil, now - slot.lastUse >= patience,
                slot.waiters.isEmpty,
                !streams.isShown(slot.feature), store.isDormant
            else { continue }
            if let store = passivateStore(at: index) { passive.append(store) }
        }
        return passive
    }

    fileprivate mutating func passivateStore(at index: Int) -> SessionStore? {
        stores[index].view = []
        stores[index].intent = nil
        return stores[index].store.take()
    }

    /// Whether nothing of the session is in use.
    fileprivate var isUnused: Bool {
        streams.isEmpty && waits.isEmpty && loads.isEmpty && !receipts.hasPending
            && reminders.allSatisfy { !$0.isUnderWay }
            && checks?.isIdle != false
            && stores.allSatisfy { $0.store == nil }
    }

    /// Whether a stream is open, or a reminder is to come or not long late: the session lives on.
    fileprivate func isKeptAlive(now: Duration) -> Bool {
        !streams.isEmpty || reminders.contains { now < $0.keepsSessionUntil }
    }

    /// When the session was last used here, or a reminder of it looked after.
    fileprivate var lastUse: Duration { max(lastTouch, reminders.compactMap(\.lastLook).max() ?? lastTouch) }

    /// When the last request or stream was there.
    fileprivate func lastSeen(now: Duration) -> Duration { streams.isEmpty ? lastTouch : now }

    /// What the journal should note if the last use is so much later than it knows, or so many labels were written.
    fileprivate mutating func note(
        _ now: Moment, _ limits: SessionLimits, after delay: Duration, orLabels labels: Int
    ) -> SessionNote {
        let lastSeen = lastSeen(now: now.monotonic)
        guard let key else {
            // Nothing has happened in it, so it has no labels. What little it was used after it was made may be lost.
            guard lastSeen - keptTouch >= limits.touchDelay else { return .nothing }
            keptTouch = lastSeen
            return .unkept
        }
        guard lastSeen - keptTouch >= delay || newlyWritten.count >= labels else { return .nothing }
        keptTouch = lastSeen
        defer { newlyWritten = [] }
        return .used(SessionTouch(session: key, lastSeen: now.sinceEpoch(keptTouch), written: newlyWritten))
    }
}
