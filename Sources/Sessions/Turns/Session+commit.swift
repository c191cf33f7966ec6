import Locking
import MVI
import SessionJournal

extension Session {
    /// Makes the batch's turns permanent, then visible: head, versions, outbox, receipts and the streams' sets of
    /// features to show change in one step under the lock; streams are written to after it. Called by the queue's runner,
    /// under no lock.
    ///
    /// Returns the end if it is at hand; else returns nil and calls `ended` later, once, from any thread that may run
    /// handlers.
    func commit() -> CommitEnd? {
        let now = shared.time.sinceEpoch()
        let node = shared.lease?.holder
        let pending = core.withLock { $0.takeBatch(self, now: now, node: node) }
        shared.metrics.queueLength.record(Int64(pending.results.count))
        switch pending.needs {
        case .nothing: return pending.end(.committed, .committed)
        case .append: return append(pending)
        case .confirmation:
            confirm(pending)
            return nil
        case .lease: return pending.end(.failed(.noLease), .rolledBack)
        case .judgement:
            pending.span?.end(AppendEnding(.conflict))
            return pending.end(.conflict, .rolledBack)
        }
    }

    func append(_ pending: PendingCommit) -> CommitEnd? {
        if pending.isKept { return append(pending, pending.batch) }
        // The session's first turn: it is written down before.
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
        // Captures one reference, so that no closure is allocated.
        let result = shared.journal.append(batch) { pending.appended($0) }
        return result.flatMap { finish(pending, $0) }
    }

    /// Takes the journal's result; nil if `ended` will be called later.
    fileprivate func finish(_ pending: PendingCommit, _ result: AppendResult) -> CommitEnd? {
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
        case .duplicate(let receipt):
            // The book had forgotten it. The jobs run again, and find it.
            let now = Moment(shared.time)
            core.withLock { $0.receipts.add(receipt, made: now.monotonic(receipt.made)) }
            let undone = pending.end(.conflict, .rolledBack)
            if shared.lease == nil { return undone }
            // Another node ran it.
            readNews { [self] in ended(($0 ?? .conflict, undone.results, [])) }
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

    /// Ends a batch that appends nothing, when it is known that no other node appended meanwhile; else its jobs run again.
    private func confirm(_ pending: PendingCommit) {
        hasMoved { [self] result in
            switch result {
            case .success(false):
                core.withLock { core in for entry in pending.entries where entry.hasStarted { core.started(entry) } }
                ended(pending.end(.committed, .committed))
            // The results may be out of date: they are not answered.
            case .failure(let error):
                let undone = pending.end(.committed, .rolledBack)
                for result in undone.results { result.job.end(error) }
                ended((.committed, [], []))
            case .success(true):
                let undone = pending.end(.conflict, .rolledBack)
                readNews { [self] in ended(($0 ?? .conflict, undone.results, [])) }
            }
        }
    }

    /// Applies what other nodes appended; hands over how the batch ends if the session has ended.
    private func readNews(_ done: @escaping @Sendable (CommitOutcome?) -> Void) {
        let head = core.withLock { $0.head }
        load { [self] news in
            switch news {
            case .gone: gone { done(.failed($0)) }
            case .unusable(let reason):
                leave(reason)
                done(.failed(reason))
            case .found(let news): apply(news, since: head) { done(nil) }
            }
        }
    }

    /// Loads the appends of other writers, then calls `done`. Called after the wait that follows a conflict: a batch that ran on
    /// the state of before the wait would conflict again with a writer that does not wait.
    func loadNewer(_ done: @escaping @Sendable () -> Void) {
        guard shared.lease != nil else { return done() }
        readNews { _ in done() }
    }

    /// Applies a committed batch. Returns how its entries end: with the session, if that ended meanwhile.
    func apply(_ pending: PendingCommit) -> PendingCommit.EntryEnd {
        // By the index: each entry would be copied.
        let entries = pending.entries
        for index in entries.indices where !entries[index].isDisposed { entries[index].store?.erased.commit() }
        let hasTimes =
            !pending.batch.labels.isEmpty || !pending.batch.receipts.isEmpty || !pending.batch.reminders.isEmpty
        let now = hasTimes ? Moment(shared.time) : nil
        let node = shared.lease?.id
        let applied = core.withLock { $0.apply(pending, now: now, limits: shared.limits, node: node) }
        guard let applied else { return .ended }
        if applied.endsStores { queue.holdSettled() }
        follow(applied)
        for case .set(let reminder) in pending.batch.reminders { shared.reminderClock.note(due: reminder.due) }
        defer { if pending.batch.expectedOwner != nil { restoreWork(after: pending.batch) } }
        if pending.batch.ownerChange != nil {
            ownerChanged()
        } else if shared.lease != nil, core.withLock({ $0.ownsWork }) {
            for entry in entries where !entry.isDisposed {
                if let store = entry.store { store.scope.resume(on: store) }
            }
        }
        return .committed
    }

    /// Does what follows after the lock.
    func follow(_ applied: SessionCore.Applied) {
        for change in applied.changes {
            switch change {
            case .ended(let store): store.end()
            case .left(let store): store.scope.end()
            case .began(let store, let streams):
                for stream in streams { watch(store, from: stream) }
                // What it registers for watchers it does at the end of the turn that runs now.
                if shared.lease != nil, !streams.isEmpty { claimHeldBack() }
            case .stopped(let store): store.scope.pause()
            case .undelivered(let count, let feature):
                shared.report(.undelivered(count: count, in: place(of: feature)))
            case .news: break
            }
        }
        for waker in applied.wakers { waker.wake() }
        for case .news(let waiter) in applied.changes { waiter.resume() }
    }

    /// Notes that a stream watches a store that was made after it. The stream may have closed meanwhile; what began first
    /// is then ended here.
    private func watch(_ store: SessionStore, from stream: UInt64) {
        store.scope.beginWatching(on: store)
        let isOpen = core.withLock { core in
            guard core.stores[store.feature]?.store === store else { return false }
            return core.streams.watches(stream, store)
        }
        if !isOpen { store.scope.endWatching() }
    }
}

extension SessionCore {
    /// What follows from an applied batch, outside the lock.
    struct Applied {
        enum Change {
            case ended(SessionStore)
            /// It was loaded in vain, and never lived here.
            case left(SessionStore)
            /// Its work is another node's.
            case stopped(SessionStore)
            /// Streams with those numbers show it from now on.
            case began(SessionStore, streams: [UInt64])
            case undelivered(count: Int, FeatureID)
            /// A request waits for it.
            case news(StateWaiter)
        }

        /// Mostly none.
        var changes: [Change] = []
        var wakers: ShortList<any StreamWaker> = []

        var endsStores: Bool {
            changes.contains { if case .ended = $0 { true } else { false } }
        }
    }

    /// Nil, and nothing changes, if the session has ended meanwhile.
    ///
    /// - Parameters:
    ///   - now: nil where the batch has neither labels nor receipts nor reminders.
    ///   - node: this one's id; nil if its lease has ended.
    mutating func apply(_ pending: PendingCommit, now: Moment?, limits: SessionLimits, node: NodeID?) -> Applied? {
        guard isLive else { return nil }
        let first = head.number + 1
        head = pending.batch.head
        if pending.batch.epoch == epoch { epochIsNews = false }
        if let change = pending.batch.ownerChange { take(change, node) }
        outbox.told(pending.batch)
        receipts.told(forgotten: pending.batch.forgottenReceipts.count)
        var applied = Applied()
        let entries = pending.entries
        for index in entries.indices where entries[index].hasStarted { started(entries[index]) }
        let changes = pending.batch.stores
        for place in changes.indices { apply(changes, place, pending, since: first, &applied) }
        if let now {
            if !pending.batch.reminders.isEmpty { reminders.apply(pending.batch.reminders, now: now) }
            publish(pending.batch.labels, now: now, limits: limits, &applied)
            for receipt in pending.batch.receipts { receipts.add(receipt, made: now.monotonic(receipt.made)) }
        }
        // Given away, or the lease has ended meanwhile: what began here begins with the next owner.
        if isElsewhere, pending.isOwners || pending.batch.ownerChange != nil { restoreStores() }
        applied.wakers = streams.takeWakers()
        return applied
    }

    private mutating func apply(
        _ changes: [StoreChange], _ place: Int, _ pending: PendingCommit, since first: UInt64, _ applied: inout Applied
    ) {
        // By the place: each change would be copied.
        let feature = changes[place].feature
        let index = stores.index(of: feature)
        switch (changes[place].kind, index) {
        case (.disposed, _?): remove(feature, &applied)
        case (.changed, let index?):
            stores[index].summary.number = changes[place].number
            if changes[place].setsAside != nil { stores[index].lost = [] }
            guard let view = changes[place].view else { return }
            stores[index].summary.version = changes[place].version
            stores[index].view = view
            stores[index].intent = changes[place].viewIntent
            markChanged(feature, at: index, since: first, &applied)
        case (.made, _):
            guard let store = pending.entries.last(where: { $0.feature == feature })?.store else { return }
            var slot = StoreSlot(changes[place], store, now: lastTouch)
            if let index {
                slot.waiters = stores[index].waiters
                if let old = stores[index].store, old !== store { applied.changes.append(.ended(old)) }
                if slot.summary.replaced == 0, stores[index].store !== store { streams.ended(feature) }
                stores[index] = slot
            } else {
                stores.append(slot)
            }
            if let index = stores.index(of: feature) { markChanged(feature, at: index, since: first, &applied) }
            applied.changes.append(.began(store, streams: streams.showing(feature)))
        case (_, nil): break
        }
    }

    /// A view state has changed: streams have it to show, requests that wait for it go on.
    mutating func markChanged(_ feature: FeatureID, at index: Int, since first: UInt64, _ applied: inout Applied) {
        streams.markDirty(feature, since: first)
        if !stores[index].waiters.isEmpty {
            applied.changes += stores[index].waiters.map { .news($0) }
            stores[index].waiters = []
        }
    }

    mutating func remove(_ feature: FeatureID, _ applied: inout Applied) {
        guard let index = stores.index(of: feature) else { return }
        applied.add(stores.remove(at: index))
        streams.ended(feature)
    }

    /// Puts labels into the outbox, and drops what exceeds its bounds.
    mutating func publish(_ labels: [StoredLabel], now: Moment, limits: SessionLimits, _ applied: inout Applied) {
        guard !labels.isEmpty else { return }
        for label in labels {
            outbox.append(label, expiry: now.monotonic(label.expiry))
            streams.change(showing: label.feature) { _ in }
        }
        let dropped = outbox.trim(now: now.monotonic, maxCount: limits.outboxLabels, maxBytes: limits.outboxBytes)
        var undelivered: [FeatureID: Int] = [:]
        for entry in dropped {
            streams.change(showing: entry.label.feature) { $0.dropped(entry.place) }
            if !entry.isWritten { undelivered[entry.label.feature, default: 0] += 1 }
        }
        applied.changes += undelivered.map { .undelivered(count: $1, $0) }
    }

    /// What a store had yet to do is done.
    mutating func started(_ entry: SessionBatch.Entry) {
        guard let index = stores.index(of: entry.feature), stores[index].store === entry.store else { return }
        stores[index].start = .done
    }
}

extension SessionCore.Applied {
    /// A store is gone: its work ends, and who waits for news of it is told.
    mutating func add(_ slot: StoreSlot) {
        if let store = slot.store { changes.append(.ended(store)) }
        changes += slot.waiters.map { .news($0) }
    }
}

extension PendingCommit {
    /// The journal's result, from a thread of its own.
    fileprivate func appended(_ result: AppendResult) {
        if let end = session.finish(self, result) { session.ended(end) }
    }
}
