import Locking
import MVI
import SessionJournal

extension Session: TurnQueueOwner {
    package var environment: StoreEnvironment { shared.stores }

    /// Makes the batch's turns permanent, then visible: head, versions, outbox, receipts and the streams' sets of
    /// features to show change in one step under the lock; streams are written to after it.
    package func commit(then: @escaping @Sendable (CommitEnd) -> Void) -> CommitEnd? {
        let now = shared.time.sinceEpoch()
        let pending: PendingCommit
        switch core.withLock({ $0.takeBatch(key, now: now, limits: shared.limits) }) {
        case .nothing(let results): return CommitEnd(.committed, results)
        case .batch(let taken): pending = taken
        }
        let result = shared.journal.append(pending.batch) { [self] result in
            if let end = finish(pending, result, then: then) { then(end) }
        }
        guard let result else { return nil }
        return finish(pending, result, then: then)
    }

    /// Takes the journal's result; nil if `then` will be called later.
    func finish(
        _ pending: PendingCommit, _ result: AppendResult, then: @escaping @Sendable (CommitEnd) -> Void
    ) -> CommitEnd? {
        switch result {
        case .committed:
            apply(pending)
            return CommitEnd(.committed, pending.results)
        case .conflict:
            resolve(pending, nil, then: then)
            return nil
        case .unknown(let error):
            resolve(pending, error, then: then)
            return nil
        case .duplicate(let receipt):
            // The book had forgotten it. The jobs run again, and find it.
            let now = Moment(shared.time)
            core.withLock { $0.receipts.add(receipt, made: now.monotonic(receipt.made)) }
            discard(pending)
            return CommitEnd(.conflict, pending.results)
        case .failed(let error):
            discard(pending)
            // Another object deleted it.
            if error.code == .gone { end(.ended) }
            return CommitEnd(.failed(error), pending.results)
        }
    }

    /// Nothing of the batch is kept: its stores are back at their heads, those that it made are gone.
    func discard(_ pending: PendingCommit) {
        for store in pending.stores {
            store.store?.runner.rollBack()
            if !store.isKept { store.store?.scope.end() }
        }
    }

    // MARK: Applying

    /// Applies a committed batch.
    func apply(_ pending: PendingCommit) {
        for store in pending.stores { store.store?.erased.commit() }
        let now = Moment(shared.time)
        let applied = core.withLock { $0.apply(pending, now: now, limits: shared.limits) }
        follow(applied)
    }

    /// Does what follows after the lock: stores that ended, streams and requests that are to be told.
    func follow(_ applied: SessionCore.Applied) {
        if !applied.isQuiet {
            for store in applied.ended { store.end() }
            for (store, streams) in applied.began {
                for stream in streams { watch(store, from: stream) }
            }
        }
        for waker in applied.wakers { waker.wake() }
        if applied.isQuiet { return }
        for waiter in applied.waiters { waiter.resume() }
        for (feature, count) in applied.undelivered {
            shared.report(.undelivered(count: count, instance: feature.text))
        }
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
        var wakers: ShortList<any StreamWaker> = []
        var waiters: [StateWaiter] = []
        var undelivered: [FeatureID: Int] = [:]
        var ended: [SessionStore] = []
        /// Stores that streams show from now on, with the streams' numbers.
        var began: [(SessionStore, [UInt64])] = []

        /// Whether there is nothing but streams to wake, as after most batches.
        var isQuiet: Bool { ended.isEmpty && began.isEmpty && waiters.isEmpty && undelivered.isEmpty }
    }

    mutating func apply(_ pending: PendingCommit, now: Moment, limits: SessionLimits) -> Applied {
        let batch = pending.batch
        let first = head.number + 1
        head = batch.head
        if batch.epoch == epoch { epochIsNews = false }
        outbox.told(first: batch.firstLabel, lost: batch.lostLabels)
        receipts.told(forgotten: batch.forgottenReceipts.count)
        var applied = Applied()
        for index in pending.stores.indices where pending.stores[index].hasStarted { started(pending.stores[index]) }
        for change in batch.stores { apply(change, pending, since: first, &applied) }
        publish(batch.labels, now: now, limits: limits, &applied)
        for receipt in batch.receipts { receipts.add(receipt, made: now.monotonic(receipt.made)) }
        applied.wakers = streams.takeWakers()
        return applied
    }

    private mutating func apply(
        _ change: StoreChange, _ pending: PendingCommit, since first: UInt64, _ applied: inout Applied
    ) {
        let index = stores.index(of: change.feature)
        switch (change.kind, index) {
        case (.disposed, let index?):
            applied.waiters += stores[index].waiters
            remove(change.feature, &applied)
        case (.changed, let index?):
            stores[index].number = change.number
            guard let view = change.view else { return }
            stores[index].version = change.version
            stores[index].view = view
            stores[index].intent = change.viewIntent
            show(change.feature, at: index, since: first, &applied)
        case (.made, _):
            guard let store = pending.stores.first(where: { $0.feature == change.feature })?.store else { return }
            var slot = StoreSlot(change, store, now: lastTouch)
            if let index {
                slot.waiters = stores[index].waiters
                if let old = stores[index].store, old !== store { applied.ended.append(old) }
                if slot.replaced == 0, stores[index].store !== store { streams.ended(change.feature) }
                stores[index] = slot
            } else {
                stores.append(slot)
            }
            if let index = stores.index(of: change.feature) { show(change.feature, at: index, since: first, &applied) }
            applied.began.append((store, streams.showing(change.feature)))
        case (_, nil): break
        }
    }

    /// A view state has changed: streams have it to show, requests that wait for it go on.
    mutating func show(_ feature: FeatureID, at index: Int, since first: UInt64, _ applied: inout Applied) {
        streams.markDirty(feature, since: first)
        if !stores[index].waiters.isEmpty {
            applied.waiters += stores[index].waiters
            stores[index].waiters = []
        }
    }

    mutating func remove(_ feature: FeatureID, _ applied: inout Applied) {
        guard let slot = stores.remove(feature) else { return }
        if let store = slot.store { applied.ended.append(store) }
        streams.ended(feature)
    }

    /// Puts labels into the outbox, and drops what exceeds its bounds.
    mutating func publish(_ labels: [StoredLabel], now: Moment, limits: SessionLimits, _ applied: inout Applied) {
        guard !labels.isEmpty else { return }
        for label in labels {
            outbox.append(label, expiry: now.monotonic(label.expiry))
            streams.wake(showing: label.feature)
        }
        let dropped = outbox.trim(now: now.monotonic, maxCount: limits.outboxLabels, maxBytes: limits.outboxBytes)
        for (place, entry) in dropped {
            streams.dropped(place, of: entry.label.feature)
            if !entry.isWritten { applied.undelivered[entry.label.feature, default: 0] += 1 }
        }
    }

    /// What a store had yet to do is done.
    mutating func started(_ store: SessionBatch.Store) {
        if let index = stores.index(of: store.feature) { stores[index].start = .done }
    }
}
