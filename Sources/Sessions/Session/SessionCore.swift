import Locking
import MVI
import Networks
import SessionJournal

/// The data under a session's lock, in groups. All that clients can see changes here in one step for each commit, so
/// that subscribing and resuming find no gap.
struct SessionCore {
    enum Phase {
        case live
        /// The session was deleted or has expired.
        case ended
        /// The session left memory: another object has taken its place.
        case evicted
    }

    var phase = Phase.live
    /// The session's key in the journal; nil if it is not stored.
    var key: SessionKey?
    /// True if the log has to be read again, in its turn in the queue.
    var isAwaitingCatchUp = false
    /// True if the journal knows the log by another name.
    var epochIsUnsaved = false
    /// True while work of a lost owner is being restored here.
    var isRestoringWork = false
    /// Its place among the sessions that this process stored: see `KeptRoom`.
    var keptPlace: NetworkPlaces.Place?
    /// Empty until a client signs in.
    var credentials: [Credential] = []
    /// The values that the client with the session's own token has set.
    var settings: ClientSettings?
    /// The highest number of a credential here.
    var lastCredential = 0
    /// The number of access changes, as far as known: see `SessionMark`.
    var accessChanges: UInt64 = 0
    /// The clients that are excluded: see `Session+gate.swift`.
    var gate = SessionGate.open
    /// The time of the last check for changes by other nodes, on the monotonic clock.
    var confirmed: Duration
    /// The instances that each credential may not read, by its number; nil if there are no access rules.
    var access: [Int: AccessRecord]?
    /// The log's name and its head, as committed and applied here.
    var epoch: String
    var head = SessionHead.empty
    var stores: IdentifiedArray<StoreSlot> = []
    /// Nil if the session never had an owner.
    var keptOwnership: KeptOwnership?
    var outbox = Outbox()
    var receipts = ReceiptBook()
    var streams = StreamTable()
    /// The turns that ran and are not committed yet. Only the queue's runner changes it.
    var batch = SessionBatch()
    /// The committed reminders.
    var reminders: [SessionReminder] = []
    /// Labels that a stream's socket took and the journal does not know about.
    var newlyWritten: [LabelID] = []
    /// The time of the last request or stream, on the monotonic clock.
    var lastTouch: Duration
    /// The value of `lastTouch` that the journal knows.
    var keptTouch: Duration
    /// The intents that it may send now.
    var intents = TokenBucket()
    /// The class of its lifetime.
    var life = LifeClass.anonymous
    /// True if the journal had it when it came into memory.
    private(set) var isRestored = false
    /// The time when the session's cookie was last set, on the monotonic clock.
    var cookieSet: Duration
    /// The source of heads' random bits and intents' names. They need not be secret, only new: two sessions of one name
    /// in two processes start with different values.
    var nonces = SplitMix(state: .random(in: .min ... .max))
    /// The head of this node's last append: the journal may have it before it is applied here.
    var appending = SessionHead.empty
    /// The number of the last turn that the journal may have before what it is asked now.
    var lastAppended: UInt64 { max(head.number, appending.number) }

    /// Nil if the session needs none of them.
    var rare: Rare?

    /// Members that an idle session does not need.
    final class Rare {
        /// The callbacks that wait for the log to be read again.
        var catchUpWaiters: [@Sendable () -> Void] = []
        /// The address of the first client of a session that is not stored.
        var origin: PeerAddress?
        /// The generation of the journal's secret from which its epoch follows; nil for a stored session.
        var generation: [UInt8]?
        /// The callbacks that wait until the journal has stored it; nil if it was not asked to.
        var keepers: [@Sendable (Result<SessionKey, StoreError>) -> Void]?
        var loads = StoreLoads()
        /// Requests that wait, by number.
        var waits: [UInt64: Wait] = [:]
        /// The reminders of the running chain's turns. Only the queue's runner changes them.
        var chainReminders: [ReminderChange] = []
        /// Intents with a running asynchronous check, and those that wait for them; nil if there are none.
        var checks: RunningChecks?
        /// The places in its queue that callers of a space have; nil if none waits.
        var places: CallerPlaces?
        /// The spaces that its clients may make now; nil if they made none.
        var spaces: TokenBucket?
        /// Nil for a space without visits of late, and for other sessions.
        var visits: NotedVisits?
        /// The messages of other logs that it received of late.
        var heard = HeardNumbers()
        /// The logs that its messages are being told to.
        var telling: Set<MessageAddress> = []
        /// The callbacks that wait until nothing is told.
        var tellWaiters: [@Sendable () -> Void] = []
        /// The number of jobs outside the queue that wait for observations.
        var putOff = 0
        /// The time until which the running job may wait for them, on the monotonic clock; nil if it has not waited.
        var readingDeadline: Duration?
        /// The clients that look at stores, if these show them to each other.
        var presences: [FeatureID: PresenceBook] = [:]
        /// Passive stores that a stream's client may see from now on, until they are loaded.
        var granted: [FeatureID] = []

        var isBlank: Bool {
            catchUpWaiters.isEmpty && origin == nil && generation == nil && keepers == nil && loads.isBlank
                && waits.isEmpty && chainReminders.isEmpty && checks == nil && granted.isEmpty && spaces == nil
                && places == nil && visits == nil && putOff == 0 && readingDeadline == nil && presences.isEmpty
                && heard.isEmpty && telling.isEmpty && tellWaiters.isEmpty
        }
    }

    /// Returns the rare members, creating them if needed.
    mutating func makeRare() -> Rare {
        if let rare { return rare }
        let made = Rare()
        rare = made
        return made
    }

    /// Frees the rare members if the session needs none of them.
    mutating func rest() { if rare?.isBlank == true { rare = nil } }

    /// Requests that wait.
    @inline(__always) var waits: [Wait] { rare.map { Array($0.waits.values) } ?? [] }

    /// A session without a turn.
    ///
    /// - Parameter now: the time of its creation, on the monotonic clock.
    init(epoch: String, now: Duration) {
        self.epoch = epoch
        (lastTouch, keptTouch, cookieSet, confirmed) = (now, now, now, now)
    }

    /// A stored session.
    ///
    /// - Parameter lastSeen: the time of its last use, on the monotonic clock.
    init(_ stored: StoredSession, _ now: Moment, lastSeen: Duration, limits: SessionLimits) {
        key = stored.key
        isRestored = true
        epoch = stored.record.epoch
        head = stored.head
        outbox = Outbox(stored.labels, lost: stored.lostLabels, monotonic: now.monotonic)
        reminders = stored.reminders.map { SessionReminder($0, now: now) }
        (accessChanges, settings) = (stored.accessChanges, stored.record.settings)
        keptOwnership = stored.owner.map { .kept(Ownership(owner: $0)) }
        credentials = stored.credentials.map {
            Credential(
                $0, root: stored.record.tokenHash, isShared: stored.record.isShared,
                lastUse: min(now.monotonic, lastSeen - (stored.record.lastSeen - $0.lastSeen)),
                cookieSet: now.monotonic - limits.credentialLife)
        }
        life = stored.record.lifeClass
        // A clock that was set back must not make a session live forever.
        lastTouch = min(lastSeen, now.monotonic)
        keptTouch = lastTouch
        confirmed = now.monotonic
        // The time when the cookie was last set is not stored. So it is set again: otherwise the sessions of infrequent
        // clients would outlive their cookies.
        cookieSet = now.monotonic - limits.sessionLife
        if life == .space { receipts = ReceiptBook(ofSpace: true) }
        for receipt in stored.receipts { receipts.add(receipt, made: now.monotonic(receipt.made)) }
        for var summary in stored.stores {
            // The journal learns of a read or a stream with a delay. What may have been is not noted as a use.
            let unnoted = stored.record.lastSeen - summary.lastSeen - SessionLimits.storeTouchDelay
            let unused = summary.lastSeen > .zero ? max(.zero, unnoted) : .zero
            summary.lastSeen = stored.record.lastSeen - unused
            stores.append(StoreSlot(summary, of: epoch, lastUse: lastTouch - unused))
        }
        // If a crash lost the trim, it is repeated: the same labels are dropped.
        _ = outbox.trim(now: now.monotonic, maxCount: limits.outboxLabels(of: life), maxBytes: limits.outboxBytes)
    }

    /// Stored outside the core, since a session on a single node has none.
    indirect enum KeptOwnership { case kept(Ownership) }

    var ownership: Ownership {
        get { if case .kept(let ownership)? = keptOwnership { ownership } else { Ownership() } }
        set { keptOwnership = .kept(newValue) }
    }

    /// True if the session's work runs here.
    var ownsWork: Bool { keptOwnership != nil && ownership.isHere }

    /// True if another node runs its turns, or may.
    var isElsewhere: Bool { keptOwnership != nil && ownership.owner != nil && !ownership.isHere }

    var isLive: Bool { phase == .live }

    func mark(_ token: TokenHash) -> SessionMark {
        SessionMark(token: token, head: head, accessChanges: accessChanges, epoch: epoch)
    }

    /// The reason why the session refuses everything; nil if it is live.
    var refusal: StoreError? {
        switch phase {
        case .live: nil
        case .ended: .sessionEnded
        case .evicted: .evicted
        }
    }
}

extension SessionCore {
    /// Takes the batch, with further changes for the journal, and its requirement.
    mutating func takeBatch(_ session: Session, now: Duration, node: NodeID?) -> PendingCommit {
        var working = SessionBatch()
        swap(&working, &batch)
        let isShared = session.shared.lease != nil
        let beginning = isShared ? working.beginning : []
        // The journal learns about the owner with a turn.
        if working.count == 0, !ownsWork, !beginning.isEmpty { working.count = 1 }
        var (needs, next, owner) = (BatchNeed.append, head, OwnerChange?.none)
        if let judged = working.accessGeneration, judged != session.accessGeneration.load(ordering: .relaxed) {
            needs = .judgement
        } else if !working.callers.allSatisfy(\.isCurrent) {
            needs = .judgement
        } else if working.count > 0 {
            appending = SessionHead(number: head.number + working.count, nonce: nonces.next())
            next = appending
            if isShared {
                let (change, needsNode) = ownerChange(
                    working, beginning, head: next, by: node, now: session.shared.time.monotonic(),
                    isSpace: session.space != nil)
                owner = change
                if needsNode { needs = .lease }
            }
        } else if isShared, working.isAnswer {
            needs = .confirmation
        } else {
            needs = .nothing
            // Turns without a number change nothing; a pending bootstrap is done.
            for entry in working.entries where entry.hasStarted { started(entry) }
        }
        return PendingCommit(session, self, working, needs, head: next, owner: owner, now: now)
    }
}

/// Changes that streams show.
extension SessionCore {
    /// The end position of a stream that is told to end now.
    func lastPosition(now: Duration) -> StreamFarewell.Position {
        StreamFarewell.Position(label: outbox.endPlace, number: head.number, deadline: now + .seconds(30))
    }

    /// Has streams and waiting requests show a changed view state.
    mutating func markChanged(
        _ feature: FeatureID, at index: Int, since first: UInt64, now: Duration, _ applied: inout Applied
    ) {
        let isShownNow = stores[index].rare?.shown == nil || isShownNow(index, now: now, &applied)
        streams.markDirty(feature, since: first, wakes: isShownNow)
        guard let waiters = stores[index].rare?.waiters, !waiters.isEmpty else { return }
        applied.changes += waiters.map { .news($0) }
        stores[index].waiters = []
    }

    mutating func remove(_ feature: FeatureID, _ applied: inout Applied) {
        guard let index = stores.index(of: feature) else { return }
        applied.add(stores.remove(at: index))
        streams.ended(feature)
    }

    /// Notes that a store's pending start is done.
    mutating func started(_ entry: SessionBatch.Entry) {
        guard let index = stores.index(of: entry.feature), stores[index].store === entry.store else { return }
        stores[index].hasBegun()
    }
}
