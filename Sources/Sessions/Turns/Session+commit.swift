import Locking
import MVI
import SessionJournal
import Synchronization

extension Session {
    /// Commits the batch's turns, then makes them visible: head, versions, outbox, receipts and the features that
    /// streams show change in one step under the lock; streams are written to after it. Called by the queue's runner,
    /// under no lock.
    ///
    /// Returns the end if it is known at once. Otherwise returns nil and calls `ended` later, once, from any thread
    /// that may run handlers.
    func commit() -> CommitEnd? {
        let now = shared.time.sinceEpoch()
        let node = shared.lease?.holder
        let pending = core.withLock { $0.takeBatch(self, now: now, node: node) }
        if let span = pending.span, let tracer = shared.tracer {
            span.begin(tracer, self, head: pending.batch.head.number, pending.results)
        }
        shared.metrics.queueLength.record(Int64(pending.results.count))
        switch pending.needs {
        case .nothing: return pending.end(.committed, .committed)
        case .append: return append(pending)
        case .confirmation:
            confirm(pending)
            return nil
        case .lease: return pending.end(.failed(.noLease), .rolledBack)
        case .judgement:
            pending.span?.end(.outdated)
            return pending.end(.outdated, .rolledBack)
        }
    }

    func append(_ pending: PendingCommit) -> CommitEnd? {
        if pending.isKept { return append(pending, pending.batch) }
        // The session is stored before its first turn.
        keep { [self] result in
            let end: CommitEnd?
            switch result {
            case .success(let key):
                var batch = pending.batch
                batch.session = key
                end = append(pending, batch)
            case .failure(let error): end = finish(pending, .failed(error))
            }
            if let end { ended(end) }
        }
        return nil
    }

    private func append(_ pending: PendingCommit, _ batch: JournalBatch) -> CommitEnd? {
        if !pending.recordings.isEmpty, let action = shared.appendAction.withLock({ $0 }) {
            action(pending.recordings.map(\.turn))
        }
        // Captures one reference, so that no closure is allocated.
        let result = shared.journal.append(batch) { pending.appended($0) }
        return result.flatMap { finish(pending, $0) }
    }

    /// Handles the journal's result. Returns nil if `ended` will be called later.
    func finish(_ pending: PendingCommit, _ result: AppendResult) -> CommitEnd? {
        let ending = AppendEnding(result)
        shared.metrics.appended(ending, nanoseconds: monotonicNanoseconds() - pending.begun)
        pending.span?.end(ending)
        switch result {
        case .committed: return pending.end(.committed, apply(pending))
        case .conflict:
            resolve(pending, nil)
            return nil
        case .unknown(let error):
            resolve(pending, error)
            return nil
        case .callersChanged(let places):
            let undone = pending.end(.outdated, .rolledBack)
            readAnew(places.map { pending.callers[$0] }[...]) { [self] error in
                ended(error.map { (.failed($0), undone.results, []) } ?? undone)
            }
            return nil
        case .heardBefore(let places):
            let heard = pending.batch.rare?.heard ?? []
            core.withLock { $0.noteHeard(places.map { heard[$0] }) }
            return pending.end(.outdated, .rolledBack)
        case .duplicate(let receipt):
            // The book had removed it. The jobs run again, and find it.
            let now = Moment(shared.time)
            core.withLock { $0.receipts.add(receipt, made: now.monotonic(receipt.made)) }
            let undone = pending.end(.conflict, .rolledBack)
            if shared.lease == nil { return undone }
            // Another node ran it.
            readNews(for: undone.results) { [self] in ended(($0 ?? .conflict, undone.results, [])) }
            return nil
        case .failed(let error):
            let undone = pending.end(.failed(error), .rolledBack)
            // Another object deleted it.
            guard error.code == .gone else { return undone }
            if shared.lease != nil {
                gone { [self] error in ended((.failed(error), undone.results, [])) }
                return nil
            }
            end(.ended)
            return undone
        }
    }

    /// Applies a committed batch. Returns how its entries end: with the session, if that ended meanwhile.
    func apply(_ pending: PendingCommit) -> PendingCommit.EntryEnd {
        // By index: a loop over the elements would copy each entry.
        let entries = pending.entries
        for index in entries.indices where !entries[index].isDisposed { entries[index].store?.commit() }
        let hasTimes =
            !pending.batch.labels.isEmpty || !pending.batch.receipts.isEmpty || !pending.batch.reminders.isEmpty
        let (used, now) = (shared.time.monotonic(), hasTimes ? Moment(shared.time) : nil)
        let node = shared.lease?.id
        let applied = core.withLock { $0.apply(pending, at: used, now: now, limits: shared.limits, node: node) }
        guard let applied else { return .ended }
        if !applied.changes.isEmpty, applied.endsStores { queue.holdSettled() }
        follow(applied)
        if !pending.batch.reminders.isEmpty { note(pending.batch.reminders) }
        defer { if pending.batch.expectedOwner != nil { restoreWork(after: pending.batch) } }
        if pending.batch.ownerChange != nil {
            ownerChanged()
        } else if shared.lease != nil, core.withLock({ $0.ownsWork }) {
            for entry in entries where !entry.isDisposed {
                if let store = entry.store { store.resume() }
            }
        }
        return .committed
    }

    /// Runs the follow-up of an applied batch, outside the lock.
    func follow(_ applied: SessionCore.Applied) {
        for change in applied.changes {
            switch change {
            case .ended(let store): store.end()
            case .left(let store): store.endWork()
            case .began(let store, let streams):
                for stream in streams { watch(store, from: stream) }
                if !streams.isEmpty { limitHold(of: store) }
                // Work that it registers for watchers begins at the end of the running turn.
                if shared.lease != nil, !streams.isEmpty { claimHeldBack() }
            case .stopped(let store): store.pause()
            case .undelivered(let count, let feature):
                shared.report(.undelivered(count: count, in: place(of: feature)))
            case .postponed(let book, let feature, let time): show(feature, of: book, after: time)
            case .news: break
            }
        }
        if applied.wakers.count <= SessionEnvironment.wakesAtOnce {
            for waker in applied.wakers { waker.wake() }
        } else {
            shared.wakeLater(Array(applied.wakers))
        }
        for case .news(let waiter) in applied.changes { waiter.resume() }
    }
}

extension SessionCore {
    /// The follow-up of an applied batch, outside the lock.
    struct Applied {
        enum Change {
            case ended(SessionStore)
            /// It was loaded in vain and never installed.
            case left(SessionStore)
            /// Its work is another node's.
            case stopped(SessionStore)
            /// Streams with those numbers show it from now on.
            case began(SessionStore, streams: [UInt64])
            case undelivered(count: Int, FeatureID)
            /// Streams that show it are woken after a time.
            case postponed(AudienceBook, FeatureID, Duration)
            /// A request waits for it.
            case news(VersionWaiter)
        }

        /// Empty in most cases.
        var changes: [Change] = []
        var wakers: ShortList<any StreamWaker> = []

        var endsStores: Bool {
            changes.contains { if case .ended = $0 { true } else { false } }
        }
    }

    /// Returns nil, and changes nothing, if the session has ended meanwhile.
    ///
    /// - Parameters:
    ///   - used, now: the time of the commit; `now` is nil if the batch has no labels, receipts or reminders.
    ///   - node: this node's id; nil if its lease has ended.
    mutating func apply(
        _ pending: PendingCommit, at used: Duration, now: Moment?, limits: SessionLimits, node: NodeID?
    ) -> Applied? {
        guard isLive else { return nil }
        let first = head.number + 1
        head = pending.batch.head
        if pending.batch.epoch == epoch { epochIsUnsaved = false }
        if let change = pending.batch.ownerChange { take(change, node) }
        if let time = pending.dropsLabels { _ = outbox.trim(now: time, maxCount: 0, maxBytes: 0) }
        if pending.batch.firstLabel != nil || pending.batch.lostLabels != nil || !pending.batch.forgottenLabels.isEmpty
        {
            outbox.told(pending.batch)
        }
        if let rare = pending.batch.rare {
            noteVisits(of: pending.batch)
            noteHeard(rare.heard)
        }
        if !pending.batch.forgottenReceipts.isEmpty { receipts.told(forgotten: pending.batch.forgottenReceipts.count) }
        var applied = Applied()
        let entries = pending.entries
        for index in entries.indices where entries[index].hasStarted { started(entries[index]) }
        let changes = pending.batch.stores
        for place in changes.indices { apply(changes, place, pending, since: first, used, &applied) }
        if let now {
            if !pending.batch.reminders.isEmpty { reminders.apply(pending.batch.reminders, now: now) }
            publish(pending.batch.labels, now: now, limits: limits, &applied)
            for receipt in pending.batch.receipts { receipts.add(receipt, made: now.monotonic(receipt.made)) }
            if streams.haveAudiences { owe(pending.batch.receipts) }
        }
        // Given away, or the lease has ended meanwhile: work that began here begins with the next owner.
        if isElsewhere, pending.isOwners || pending.batch.ownerChange != nil { restoreStores() }
        applied.wakers = streams.takeWakers()
        return applied
    }

    private mutating func apply(
        _ changes: [StoreChange], _ place: Int, _ pending: PendingCommit, since first: UInt64, _ used: Duration,
        _ applied: inout Applied
    ) {
        // By index: a loop over the elements would copy each change.
        let feature = changes[place].feature
        let index = stores.index(of: feature)
        switch (changes[place].kind, index) {
        case (.disposed, _?): remove(feature, &applied)
        case (.changed, let index?):
            stores[index].summary.number = changes[place].number
            stores[index].summary.lastSeen = pending.batch.time
            stores[index].use(at: used)
            if changes[place].setsAside != nil { stores[index].lost = [] }
            guard let view = changes[place].view else { return }
            stores[index].summary.version = changes[place].version
            stores[index].view = view
            stores[index].intent = changes[place].viewIntent
            // A member of a member would copy the slot.
            if stores[index].rare?.shown != nil { stores[index].showHead() }
            markChanged(feature, at: index, since: first, now: used, &applied)
        case (.made, _):
            guard let store = pending.entries.last(where: { $0.feature == feature })?.store else { return }
            var slot = StoreSlot(changes[place], store, of: epoch, now: used, lastSeen: pending.batch.time)
            // A loaded one, whose state could not be read, is watched since then.
            let isWatched = index.map { stores[$0].store === store } ?? false
            if let index {
                slot.waiters = stores[index].waiters
                if let old = stores[index].store, old !== store { applied.changes.append(.ended(old)) }
                if slot.summary.replaced == 0, stores[index].store !== store { streams.ended(feature) }
                stores[index] = slot
            } else {
                stores.append(slot)
            }
            if let index = stores.index(of: feature) {
                markChanged(feature, at: index, since: first, now: used, &applied)
            }
            store.hasBegun()
            if !isWatched {
                let showing = streams.showing(feature)
                if !showing.isEmpty, pending.entries.last(where: { $0.feature == feature })?.observes == true {
                    streams.hold(feature)
                }
                applied.changes.append(.began(store, streams: showing))
            }
        case (_, nil): break
        }
    }
}

/// A batch between its append and its end.
///
/// It owns the stores that the batch touched. `end` ends all of them, once. If it is released without `end`, they are
/// rolled back.
final class PendingCommit: Sendable {
    let session: Session
    let batch: JournalBatch
    let entries: [SessionBatch.Entry]
    let results: ShortList<JobResult>
    let needs: BatchNeed
    /// True if the journal has the session already.
    let isKept: Bool
    /// True if the session's work ran here.
    let isOwners: Bool
    /// The callers whose access the journal compares, in the order of `expectedCallers`.
    let callers: [JudgedCaller]
    /// See `SessionBatch`.
    let dropsLabels: Duration?
    /// The recordings of its turns, to be written after the append.
    let recordings: [WitnessedTurn]
    private let recordingLimit: RecordingLimit
    /// The start time of the append; see `monotonicNanoseconds`.
    let begun = monotonicNanoseconds()
    /// The span of the append; nil without tracing.
    let span: AppendSpan?
    private let isOver = Atomic(false)
    private let doubts = Atomic(0)

    /// The end of a batch's stores.
    enum EntryEnd {
        /// The turns are committed.
        case committed
        /// Nothing is committed: the stores are back at their heads, and stores that the batch created are gone.
        case rolledBack
        /// The session has ended, whether or not the turns were committed.
        case ended
    }

    /// A batch of a session with that core. `head` is the log's head after the append, `owner` the change of the session's
    /// owner.
    init(
        _ session: Session, _ core: borrowing SessionCore, _ working: borrowing SessionBatch, _ needs: BatchNeed,
        head: SessionHead, owner: OwnerChange?, now: Duration
    ) {
        let isShared = session.shared.lease != nil
        (self.session, self.needs) = (session, needs)
        (entries, results) = (working.entries, working.results)
        (isKept, isOwners) = (core.key != nil, core.ownsWork)
        (callers, recordings) = (isShared ? working.callers.filter { $0.expected != nil } : [], working.recordings)
        // Before the batch may end the session's own recording.
        recordingLimit = recordings.isEmpty ? .none : core.recordingLimit(session.shared.limits)
        // With the labels dropped, as the outbox will be.
        var trimmed: Outbox?
        if let time = working.dropsLabels {
            trimmed = core.outbox
            _ = trimmed?.trim(now: time, maxCount: 0, maxBytes: 0)
        }
        dropsLabels = working.dropsLabels
        // Created in place: a parameter would be copied. A session that is not stored yet gets its key before the append.
        batch = JournalBatch(
            session: core.key ?? SessionKey(0), expecting: core.head, head: head, time: now,
            stores: working.changes, labels: working.labels, receipts: working.receipts, reminders: working.reminders,
            forgottenReceipts: core.receipts.forgotten,
            firstLabel: trimmed.map { $0.newFirst(after: core.head.number) }
                ?? (core.outbox.firstPlace > 0 ? core.outbox.newFirst(after: core.head.number) : nil),
            forgottenLabels: trimmed.map { Array($0.forgotten) } ?? Array(core.outbox.forgotten),
            lostLabels: trimmed.map { $0.lostIsNews ? $0.lost : nil }
                ?? (core.outbox.lostIsNews ? core.outbox.lost : nil),
            epoch: core.epochIsUnsaved ? core.epoch : nil, expectedOwner: isShared ? core.ownership.owner : nil,
            expectedAccess: isShared ? core.accessChanges : nil,
            rare: callers.isEmpty && working.visits.isEmpty && working.heard.isEmpty ? nil : working.rare(callers),
            ownerChange: owner)
        let tracer = needs == .nothing || needs == .confirmation ? nil : session.shared.tracer
        // Not `map`: a closure would get copies of all this.
        span = tracer == nil ? nil : AppendSpan()
    }

    deinit { _ = end(.outdated, .rolledBack) }

    /// Counts an append with an unknown outcome that was not committed. Returns the number before it.
    func noteDoubt() -> Int { doubts.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Handles the journal's result, on the journal's thread.
    func appended(_ result: AppendResult) {
        if let end = session.finish(self, result) { session.ended(end) }
    }

    /// Ends the batch and its stores.
    func end(_ outcome: CommitOutcome, _ end: EntryEnd) -> CommitEnd {
        if case .committed = outcome, !recordings.isEmpty { session.witness(recordings, recordingLimit) }
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return (outcome, results, []) }
        // By index: a loop over the elements would copy each entry.
        for index in entries.indices {
            guard let store = entries[index].store else { continue }
            switch (end, entries[index].isDisposed) {
            case (.committed, false): break
            case (.committed, true), (.ended, _): store.end()
            case (.rolledBack, _):
                store.rollBack()
                // It was never installed: observers do not know it.
                if !entries[index].isKept { store.endWork() }
            }
        }
        if case .committed = end { return (outcome, results, entries) }
        return (outcome, results, [])
    }
}

/// The requirement of a batch before it can end.
enum BatchNeed {
    case nothing
    case append
    /// A check that no other node has appended.
    case confirmation
    /// A lease, which this node does not have.
    case lease
    /// A new judgment of its clients, since access has changed.
    case judgement
}
