import Locking
import MVI

extension Session {
    /// Makes a store's turns permanent, then visible: sequence numbers, versions, outbox, receipts and the streams' sets
    /// of features to show change in one step under the lock; streams are written to after it.
    func commit(
        _ turns: [EncodedTurn], feature: FeatureID, number: UInt64,
        done: @escaping @Sendable (AppendResult) -> Void
    ) -> AppendResult? {
        let append = JournalAppend(session: id, feature: feature, turns: turns)
        let result = environment.journal.append(append) { [self] result in
            done(finish(turns, feature: feature, number: number, result))
        }
        return result.map { finish(turns, feature: feature, number: number, $0) }
    }

    private func finish(
        _ turns: [EncodedTurn], feature: FeatureID, number: UInt64, _ result: AppendResult
    ) -> AppendResult {
        guard case .committed = result else { return result }
        let now = environment.time.monotonic()
        let shown = core.withLock { core in
            core.take(turns, feature: feature, number: number, now: now, limits: environment.limits)
        }
        guard let shown else { return .failed(CommitFailure(.disposed, "The store was disposed meanwhile.")) }
        for waker in shown.wakers { waker.wake() }
        for waiter in shown.waiters { waiter.resume() }
        if shown.undelivered > 0 {
            environment.report(.undelivered(count: shown.undelivered, instance: feature.text))
        }
        return .committed
    }
}

extension SessionCore {
    /// Whom a commit concerns.
    struct Shown {
        var wakers: [any StreamWaker] = []
        var waiters: [StateWaiter] = []
        var undelivered = 0
    }

    /// Takes committed turns; nil if their store is gone.
    fileprivate mutating func take(
        _ turns: [EncodedTurn], feature: FeatureID, number: UInt64, now: Duration, limits: SessionLimits
    ) -> Shown? {
        guard var slot = stores[feature], slot.number == number else { return nil }
        var shown = Shown()
        var stateChanged = false
        var hasLabels = false
        for turn in turns {
            sequence += 1
            if let view = turn.view {
                slot.version += 1
                slot.view = view
                slot.intentID = turn.intentID == .bootstrap ? nil : turn.intentID
                slot.stateEvent = nil
                stateChanged = true
            }
            for (index, label) in turn.labels.enumerated() {
                hasLabels = true
                outbox.append(
                    Outbox.Entry(
                        feature: feature, sequence: sequence, index: index, version: slot.version,
                        intentID: turn.intentID, json: label.json, expiry: now + label.timeToLive))
            }
            if let reply = turn.reply {
                if let receipt = reply.receipt { receipts.complete(receipt, version: slot.version) }
                reply.committed(
                    PendingReply.Commit(sequence: sequence, version: slot.version, view: slot.view))
            }
        }
        if stateChanged {
            shown.waiters = slot.waiters
            slot.waiters = []
        }
        slot.hasLabels = slot.hasLabels || hasLabels
        stores[feature] = slot
        if hasLabels { shown.undelivered = trimOutbox(now: now, limits: limits) }
        if stateChanged || hasLabels {
            for index in streams.indices where streams[index].shows(feature) {
                if stateChanged { streams[index].markDirty(feature) }
                if let waker = streams[index].waker { shown.wakers.append(waker) }
            }
        }
        return shown
    }

    /// Drops what exceeds the outbox's bounds and tells the streams that were owed it; returns how many labels no
    /// stream ever got.
    private mutating func trimOutbox(now: Duration, limits: SessionLimits) -> Int {
        var undelivered = 0
        for (number, entry) in outbox.trim(now: now, maxCount: limits.outboxLabels, maxBytes: limits.outboxBytes) {
            if !entry.isWritten { undelivered += 1 }
            if stores[entry.feature] != nil {
                stores[entry.feature]?.droppedSequence = entry.sequence
            } else {
                droppedFloor = max(droppedFloor, entry.sequence)
            }
            var isShown = false
            for index in streams.indices where streams[index].shows(entry.feature) {
                streams[index].dropped(number)
                isShown = true
            }
            // With nobody there it was owed to whoever comes first.
            guard !isShown, !entry.isWritten else { continue }
            if stores[entry.feature] != nil {
                stores[entry.feature]?.hasUnheard = true
            } else {
                unheardFloor = true
            }
        }
        return undelivered
    }
}
