import MVI
import Networks
import SessionJournal

/// What a session's lock guards: plain data, in rooms. Everything that its clients can see changes here, in one step for
/// each commit, so that subscribing and resuming find no gap.
struct SessionCore {
    enum Phase {
        case live
        /// The session was deleted or has expired.
        case ended
        /// The session left memory: this object is not the one to ask any more.
        case evicted
    }

    var phase = Phase.live
    /// What the journal calls the session; nil as long as it does not have it.
    var key: SessionKey?
    /// Whether the log is to be read again, in its turn in the queue.
    var isAwaitingCatchUp = false
    /// Who waits for that.
    var catchUpWaiters: [@Sendable () -> Void] = []
    /// Where its first client is, and its place among the sessions that this process has kept: see `KeptRoom`.
    var origin: PeerAddress?
    var keptPlace: NetworkPlaces.Place?
    /// That of the journal's secret from which its epoch follows; nil if it was kept already.
    var generation: [UInt8]?
    /// Who waits for the journal to have it; nil if it was not asked to.
    var keepers: [@Sendable (Result<SessionKey, StoreError>) -> Void]?
    /// Empty as long as nobody has signed in.
    var credentials: [Credential] = []
    /// The highest number that a credential was given here.
    var lastCredential = 0
    /// How often it was changed who may use the session, as far as that is known: see `SessionMark`.
    var accessChanges: UInt64 = 0
    /// Which clients are kept out, and how often access to the session was changed here: see `Session+gate.swift`.
    var gate = SessionGate.open
    var accessGeneration: UInt64 = 0
    /// When it was last asked whether other nodes changed it, on the monotonic clock.
    var confirmed: Duration
    /// What each credential may not see, by its number; nil if there are no access rules.
    var access: [Int: AccessRecord]?
    /// The log's name, and its end as it was committed and applied here.
    var epoch: String
    var head = SessionHead.empty
    /// Whether the journal knows the log by another name.
    var epochIsNews = false
    var stores: [StoreSlot] = []
    var loads = StoreLoads()
    /// Nil where the session never had an owner.
    var keptOwnership: KeptOwnership?
    /// Whether work of an owner that is gone is being brought here.
    var isRestoringWork = false
    var outbox = Outbox()
    var receipts = ReceiptBook()
    var streams = StreamTable()
    /// Requests that wait, by number.
    var waits: [UInt64: Wait] = [:]
    /// The turns that ran and are not committed yet. Only the queue's runner changes it.
    var batch = SessionBatch()
    /// Stores whose bootstrap runs, the innermost last, and those that have to be loaded before the turn that was abandoned
    /// for them runs again. Only the queue's runner changes them.
    var starting: [FeatureID] = []
    var awaited: [FeatureID] = []
    /// The reminders of the turns of the chain that runs. Only the queue's runner changes them.
    var chainReminders: [ReminderChange] = []
    /// As they are committed.
    var reminders: [SessionReminder] = []
    /// Intents whose asynchronous check runs, and those that wait for these; nil if there are none.
    var checks: RunningChecks?
    /// Labels that a stream's socket took, of which the journal does not know.
    var newlyWritten: [LabelID] = []
    /// On the monotonic clock: when the last request or stream was there.
    var lastTouch: Duration
    /// What the journal knows of `lastTouch`.
    var keptTouch: Duration
    /// How many intents it may send now.
    var intents = TokenBucket()
    /// When the session's cookie was last set, on the monotonic clock.
    var cookieSet: Duration
    /// Where the random bits of heads and the names of intents come from. They need not be secret, but new: two sessions
    /// of one name in two processes start at different places.
    var nonces = SplitMix(state: .random(in: .min ... .max))

    /// A session in which nothing has happened.
    ///
    /// - Parameter now: when it was made, on the monotonic clock.
    init(epoch: String, now: Duration) {
        self.epoch = epoch
        (lastTouch, keptTouch, cookieSet, confirmed) = (now, now, now, now)
    }

    /// A session as it was kept.
    ///
    /// - Parameter lastSeen: when it was last used, on the monotonic clock.
    init(_ stored: StoredSession, _ now: Moment, lastSeen: Duration, limits: SessionLimits) {
        key = stored.key
        epoch = stored.record.epoch
        head = stored.head
        outbox = Outbox(stored.labels, lost: stored.lostLabels, monotonic: now.monotonic)
        receipts = ReceiptBook(stored.receipts, monotonic: now.monotonic)
        reminders = stored.reminders.map { SessionReminder($0, now: now) }
        accessChanges = stored.accessChanges
        keptOwnership = stored.owner.map { .kept(Ownership(owner: $0)) }
        credentials = stored.credentials.map {
            Credential(
                $0, root: stored.record.tokenHash, isShared: stored.record.isShared,
                cookieSet: now.monotonic - limits.sessionLife)
        }
        // A clock that was set back must not make a session live for ever.
        lastTouch = min(lastSeen, now.monotonic)
        keptTouch = lastTouch
        confirmed = now.monotonic
        // When the cookie was last set was not kept: it is set again, or the sessions of clients that come now and then
        // would outlive their cookies.
        cookieSet = now.monotonic - limits.sessionLife
        for summary in stored.stores { stores.append(StoreSlot(summary, now: now.monotonic)) }
        // What a crash kept from being noted is done again: the same labels are dropped.
        _ = outbox.trim(now: now.monotonic, maxCount: limits.outboxLabels, maxBytes: limits.outboxBytes)
    }

    /// Outside the session for the most part: those on a node of its own have none.
    indirect enum KeptOwnership { case kept(Ownership) }

    var ownership: Ownership {
        get { if case .kept(let ownership)? = keptOwnership { ownership } else { Ownership() } }
        set { keptOwnership = .kept(newValue) }
    }

    /// Whether the session's work runs here.
    var ownsWork: Bool { keptOwnership != nil && ownership.isHere }

    /// Whether another node runs its turns, or seemed to.
    var isElsewhere: Bool { keptOwnership != nil && ownership.owner != nil && !ownership.isHere }

    var isLive: Bool { phase == .live }

    func mark(_ token: TokenHash) -> SessionMark {
        SessionMark(token: token, head: head, accessChanges: accessChanges, epoch: epoch)
    }

    /// Why the session takes nothing any more; nil if it does.
    var refusal: StoreError? {
        switch phase {
        case .live: nil
        case .ended: .sessionEnded
        case .evicted: .evicted
        }
    }
}
