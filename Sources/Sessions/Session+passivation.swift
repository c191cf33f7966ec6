import Locking
import SessionJournal

extension Session {
    /// Gives back what is not needed: labels whose time is over, stores that nobody uses. Returns what the journal should
    /// note, nil if it knows enough.
    func tidy(now: Moment) -> SessionTouch? {
        let limits = environment.limits
        return core.withLock { core in
            guard !core.isEnded, !core.isEvicted else { return nil }
            core.outbox.forgetExpired(now: now.monotonic)
            core.passivateIdleStores(now: now.monotonic, after: limits.passivateAfter)
            let lastSeen = core.streams.isEmpty ? core.lastTouch : now.monotonic
            let interval = min(limits.sessionLife / 10, limits.touchInterval)
            guard lastSeen - core.keptTouch >= interval || core.newlyWritten.count >= 64 else { return nil }
            return core.takeTouch(key, lastSeen: lastSeen, sinceEpoch: now.sinceEpoch(lastSeen))
        }
    }

    /// What the journal should note before this process ends.
    func finalTouch(now: Moment) -> SessionTouch? {
        core.withLock { core in
            guard !core.isEnded, !core.isEvicted else { return nil }
            let lastSeen = core.streams.isEmpty ? core.lastTouch : now.monotonic
            guard lastSeen > core.keptTouch || !core.newlyWritten.isEmpty else { return nil }
            return core.takeTouch(key, lastSeen: lastSeen, sinceEpoch: now.sinceEpoch(lastSeen))
        }
    }

    /// Leaves memory if nothing of it is in use: nil if something is, else what the journal is to note. The caller holds
    /// the table's lock, so that nobody can be handed this session meanwhile.
    func evict(now: Moment) -> SessionTouch? {
        let patience = environment.limits.evictAfter
        return core.withLock { core in
            guard !core.isEnded, !core.isEvicted, core.isUnused, now.monotonic - core.lastTouch >= patience else {
                return nil
            }
            core.isEvicted = true
            return core.takeTouch(key, lastSeen: core.lastTouch, sinceEpoch: now.sinceEpoch(core.lastTouch))
        }
    }
}

extension SessionCore {
    fileprivate mutating func passivateIdleStores(now: Duration, after patience: Duration) {
        for (index, slot) in stores.enumerated() {
            // What the journal does not have cannot leave, nor what somebody looks at.
            guard let handle = slot.handle, let token = slot.token, slot.unwrittenState == nil, slot.setsAside == nil,
                now - slot.lastUse >= patience, slot.waiters.isEmpty,
                !streams.contains(where: { $0.shows(slot.feature) && !$0.isOver }), handle.store.passivate()
            else { continue }
            stores[index] = StoreSlot(
                StoreSummary(
                    feature: slot.feature, token: token, marks: slot.marks, replacedSequence: slot.replacedSequence),
                now: now)
        }
    }

    /// Whether nothing of the session is in use, and nothing under way.
    fileprivate var isUnused: Bool {
        streams.isEmpty && waits.isEmpty && loading.isEmpty && appendsInFlight == 0 && !isCatchingUp
            && !receipts.hasPending && stores.allSatisfy { $0.handle == nil }
    }

    fileprivate mutating func takeTouch(
        _ key: SessionKey, lastSeen: Duration, sinceEpoch: Duration
    ) -> SessionTouch {
        keptTouch = lastSeen
        defer { newlyWritten = [] }
        return SessionTouch(session: key, lastSeen: sinceEpoch, written: newlyWritten)
    }
}
