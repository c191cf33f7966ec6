import Locking
import MVI
import SessionJournal

/// One client's stores and everything that its streams may have to be told.
///
/// All methods may be called from any thread. No handler, callback or write to a socket runs under the session's lock.
public final class Session: Sendable {
    /// How the client proves whose it is.
    public typealias Credential = SessionCredential

    /// The public id.
    public let id: String
    /// Names this session's log; a part of cursors and entity tags.
    public let epoch: String
    /// How the client proves whose it is.
    public let credential: Credential

    let key: SessionKey
    let tokenHash: TokenHash
    let environment: SessionEnvironment
    let core: Lock<SessionCore>

    /// A session that was made just now.
    init(_ record: SessionRecord, key: SessionKey, environment: SessionEnvironment) {
        id = record.id
        epoch = record.epoch
        credential = record.credential
        tokenHash = record.tokenHash
        self.key = key
        self.environment = environment
        core = Lock(SessionCore(now: environment.time.monotonic()))
    }

    /// A session as it was kept; its stores come when they are asked for.
    convenience init(_ stored: StoredSession, environment: SessionEnvironment) {
        self.init(stored.record, key: stored.key, environment: environment)
        let moment = Moment(environment.time)
        core.withLock { $0.restore(stored, moment, limits: environment.limits) }
    }

    /// When the session ends if nothing comes any more: time since 1970. It moves with every request.
    public var expiresAt: Duration {
        let now = environment.time.monotonic()
        let left = core.withLock { core in
            (core.streams.isEmpty ? core.lastTouch : now) + environment.limits.sessionLife - now
        }
        return environment.time.sinceEpoch() + left
    }

    /// The feature instances that have a store, sorted.
    public var storeIDs: [FeatureID] {
        core.withLock { $0.stores.map(\.feature) }.sorted { $0.text < $1.text }
    }

    /// Whether the feature instance has a store.
    public func hasStore(_ feature: FeatureID) -> Bool { core.withLock { $0.stores.index(of: feature) != nil } }

    /// How many streams are open.
    public var streamCount: Int { core.withLock { $0.streams.count } }

    /// Whether the session was deleted or has expired.
    public var isEnded: Bool { core.withLock { $0.isEnded } }

    /// Notes a request: the session lives on from now.
    public func touch() {
        let now = environment.time.monotonic()
        core.withLock { $0.lastTouch = now }
    }

    /// Notes a request, if the session is neither ended nor expired; false if it is.
    func use(now: Duration) -> Bool {
        core.withLock { core in
            let lives = !core.streams.isEmpty || now - core.lastTouch < environment.limits.sessionLife
            guard lives, !core.isEnded else { return false }
            core.lastTouch = now
            return true
        }
    }

    /// Whether half of the cookie's life has passed since it was last set; if so it counts as set now.
    public func cookieIsDue() -> Bool {
        let now = environment.time.monotonic()
        let life = environment.limits.sessionLife
        return core.withLock { core in
            guard now - core.cookieSet >= life / 2 else { return false }
            core.cookieSet = now
            return true
        }
    }

    /// How long until the session expires if nothing comes; zero or less if it has.
    func timeLeft(now: Duration) -> Duration {
        core.withLock { core in
            core.streams.isEmpty
                ? core.lastTouch + environment.limits.sessionLife - now : environment.limits.sessionLife
        }
    }

    /// The entity tag of a version, without quotes.
    public func entityTag(version: UInt64) -> String { "\(epoch).\(version)" }

    /// Ends the session: its work is cancelled, its streams are told and closed, its waits answered. A second call
    /// does nothing.
    func end(_ reason: GoAwayReason) {
        let (stores, streams, waits) = core.withLock { core -> ([StoreSlot], [StreamState], [Wait]) in
            guard !core.isEnded else { return ([], [], []) }
            core.isEnded = true
            for index in core.streams.indices { core.streams[index].finish(reason) }
            let stores = core.stores
            core.stores = []
            return (stores, core.streams, Array(core.waits.values))
        }
        for slot in stores { slot.handle?.store.dispose() }
        for wait in waits { wait.end(false) }
        for stream in streams { stream.waker?.wake() }
    }

    /// How many labels are kept.
    var labelCount: Int { core.withLock { $0.outbox.count } }

    /// How many stores are in memory.
    var liveStoreCount: Int { core.withLock { $0.stores.count { $0.handle != nil } } }

    /// Tells every stream that the server goes away, and answers every wait.
    func drain() {
        let (waits, streams) = core.withLock { core in
            for index in core.streams.indices { core.streams[index].finish(.drain) }
            return (Array(core.waits.values), core.streams)
        }
        for wait in waits { wait.end(false) }
        for stream in streams { stream.waker?.wake() }
    }
}

extension SessionCore {
    /// Takes what was kept.
    fileprivate mutating func restore(
        _ stored: StoredSession, _ now: Moment, limits: SessionLimits
    ) {
        // A clock that was set back must not make a session live for ever.
        lastTouch = min(now.monotonic(stored.record.lastSeen), now.monotonic)
        keptTouch = lastTouch
        // When the cookie was last set was not kept: it is set again, or the sessions of clients that come now and then
        // would outlive their cookies.
        cookieSet = now.monotonic - limits.sessionLife
        sequence = stored.sequence
        marks = stored.marks
        for summary in stored.stores {
            var slot = StoreSlot(summary, now: now.monotonic)
            // What the store had not noted for itself yet; see `keptMarks`.
            slot.marks.droppedSequence = max(slot.marks.droppedSequence, stored.marks.droppedSequence)
            slot.marks.hasUnheard = slot.marks.hasUnheard || stored.marks.hasUnheard
            stores.append(slot)
        }
        receipts = ReceiptBook(stored.receipts, lastNumbers: stored.lastNumbers, monotonic: now.monotonic)
        for label in stored.labels {
            outbox.append(Outbox.Entry(label, expiry: now.monotonic(label.label.expiry)))
        }
        keptFirstLabel = stored.labels.first?.id ?? LabelID(sequence: 0, index: 0)
        // What a crash kept from being noted is done again: the same labels are dropped.
        _ = trimOutbox(now: now.monotonic, limits: limits)
    }
}

extension StoreSlot {
    /// A store that is kept and not in memory.
    init(_ summary: StoreSummary, now: Duration) {
        self.init(
            feature: summary.feature, handle: nil, number: 0, token: summary.token, version: summary.token.version,
            view: [],
            marks: summary.marks, replacedSequence: summary.replacedSequence, lastUse: now)
    }
}
