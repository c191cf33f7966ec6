import Locking
import MVI
import SessionJournal

/// What a session does when it is not in use: its parts leave memory, and the journal learns of its last use.
extension Session {
    /// The present moment of the lifetimes of stores.
    var lives: StoreLives {
        StoreLives(features: shared.features, now: shared.features.mortal.isEmpty ? .zero : shared.time.monotonic())
    }

    /// Removes expired labels and unused stores from memory. Returns the note for the journal.
    func tidy(now: Moment) -> SessionNote {
        let limits = shared.limits
        // The stores are released after the lock, with their features' values.
        let (note, _) = core.withLock { core -> (SessionNote, [SessionStore]) in
            guard core.isLive else { return (.nothing, []) }
            core.outbox.forgetExpired(now: now.monotonic)
            core.receipts.expire(now: now.monotonic, life: limits.receiptLife)
            core.rest()
            let passive =
                queue.isIdle
                ? core.passivateIdleStores(
                    now: now.monotonic, after: limits.passivateAfter, beyond: limits.loadedStores) : []
            return (core.note(now, limits, isFinal: false, orLabels: 64), passive)
        }
        return note
    }

    /// The note for the journal before this process ends.
    func finalNote(now: Moment) -> SessionNote {
        core.withLock { $0.isLive ? $0.note(now, shared.limits, isFinal: true, orLabels: 1) : .nothing }
    }

    /// Passivates one store now. Returns the obstacles, each a part of a sentence; empty if the store is not in memory.
    /// For tests of features.
    package func passivate(_ feature: FeatureID) -> [String] {
        let (obstacles, _) = core.withLock { core -> ([String], SessionStore?) in
            guard let index = core.stores.index(of: feature), let store = core.stores[index].store else {
                return ([], nil)
            }
            var obstacles = store.obstacles
            if !queue.isIdle { obstacles.append("turns wait or are retried") }
            if !core.stores[index].waiters.isEmpty { obstacles.append("a request waits for its next state") }
            return (obstacles, obstacles.isEmpty ? core.passivateStore(at: index) : nil)
        }
        return obstacles
    }

    /// The time of the session's last use if it may be unused now.
    ///
    /// - Parameter onlyEmpty: true to consider only a session without a turn.
    func unusedSince(onlyEmpty: Bool) -> Duration? {
        core.withLock { core in
            guard core.isLive, core.streams.isEmpty, core.waits.isEmpty, queue.isIdle,
                !onlyEmpty || core.head == .empty
            else { return nil }
            return core.lastTouch
        }
    }

    /// Leaves its place among the sessions that this process stored. The place holds the session until then.
    func leavePlace() { _ = core.withLock { $0.keptPlace.take() } }

    /// Evicts the session if it is unused. Returns nil if it is in use, otherwise the note for the journal. The caller
    /// holds the table's lock, so that no request gets this session meanwhile.
    ///
    /// - Parameter passive: receives the stores that leave memory, to release them after that lock.
    func evict(now: Moment, after patience: Duration, _ passive: inout [SessionStore]) -> SessionNote? {
        core.withLock { core in
            guard core.isLive, core.rare?.keepers == nil, !core.ownsWork, queue.isIdle,
                pins.load(ordering: .relaxed) == 0,
                now.monotonic - core.lastUse >= patience
            else { return nil }
            passive = core.passivateIdleStores(
                now: now.monotonic, after: min(patience, shared.limits.passivateAfter),
                beyond: shared.limits.loadedStores)
            guard core.isUnused else { return nil }
            core.phase = .evicted
            accessGeneration.add(1, ordering: .releasing)
            _ = queue.close(.evicted)
            return core.note(now, shared.limits, isFinal: true, orLabels: 1)
        }
    }
}

/// The lifetimes of stores, see `Life`, at a time on the monotonic clock.
struct StoreLives {
    let features: FeatureRegistry
    /// Zero if no feature has one.
    let now: Duration
}

/// The note about a session for the journal.
enum SessionNote: Sendable {
    case nothing
    case used(SessionTouch)
    /// It was used for long and is not in the journal: its token alone would expire too early.
    case unkept
}

extension SessionCore {
    /// True if the lifetime of a store of a space or a subject's session is over, and the store is not in memory: the next turn that
    /// needs it disposes of it.
    ///
    /// - Parameter lives: nil if no feature has a lifetime.
    func isPastLife(at index: Int, _ lives: StoreLives?) -> Bool {
        guard let lives, stores[index].store == nil, life != .anonymous else { return false }
        let feature = stores[index].feature
        guard let life = lives.features.definition(for: feature)?.storeLife else { return false }
        return lives.now - stores[index].lastUse > life && !reminders.contains { $0.stored.feature == feature }
    }

    /// True if a store is stored, not in memory, and not past its lifetime.
    func isPassive(_ feature: FeatureID, _ lives: StoreLives) -> Bool {
        stores.index(of: feature).map { stores[$0].store == nil && !isPastLife(at: $0, lives) } ?? false
    }

    /// The queue is idle: no turn runs or is in flight, and none can begin before the lock is released.
    fileprivate mutating func passivateIdleStores(
        now: Duration, after patience: Duration, beyond loaded: Int
    ) -> [SessionStore] {
        var passive: [SessionStore] = []
        for index in stores.indices
        where now - stores[index].lastUse >= patience && mayPassivate(stores[index])
            && !streams.isShown(stores[index].feature)
        {
            if let store = passivateStore(at: index) { passive.append(store) }
        }
        // The least recently used beyond the bound.
        guard stores.count > loaded else { return passive }
        let excess = stores.count { $0.store != nil } - loaded
        guard excess > 0 else { return passive }
        let dormant = stores.indices.filter { index in
            mayPassivate(stores[index], thoughWatched: true) && !streams.isNamed(stores[index].feature)
                && !streams.owes(stores[index].feature)
        }
        for index in dormant.sorted(by: { stores[$0].lastUse < stores[$1].lastUse }).prefix(excess) {
            if let store = stores[index].store { streams.forget(store) }
            if let store = passivateStore(at: index) { passive.append(store) }
        }
        return passive
    }

    /// True if nobody but a stream can tell that a store leaves memory.
    private func mayPassivate(_ slot: StoreSlot, thoughWatched: Bool = false) -> Bool {
        // One that has not started, or runs on another node, starts here when it is needed.
        guard let store = slot.store else { return false }
        return slot.waiters.isEmpty && (thoughWatched ? store.isDormantThoughWatched : store.isDormant)
    }

    fileprivate mutating func passivateStore(at index: Int) -> SessionStore? {
        stores[index].view = []
        stores[index].intent = nil
        stores[index].start = .done
        stores[index].lost = []
        defer { stores[index].showHead() }
        return stores[index].store.take()
    }

    /// True if nothing of the session is in use.
    fileprivate var isUnused: Bool {
        streams.isEmpty && waits.isEmpty && rare?.loads.isEmpty != false && !receipts.hasPending
            && reminders.allSatisfy { !$0.isUnderWay }
            && rare?.checks?.isIdle != false
            && stores.allSatisfy { $0.store == nil }
    }

    /// True if a stream is open, or a reminder is pending or only slightly late, which keeps the session alive.
    func isKeptAlive(now: Duration) -> Bool {
        !streams.isEmpty || reminders.contains { now < $0.keepsSessionUntil }
    }

    /// The time of the session's last use here, or of the last look at a reminder of it.
    var lastUse: Duration { max(lastTouch, reminders.compactMap(\.lastLook).max() ?? lastTouch) }

    /// The time of the last request or stream.
    fileprivate func lastSeen(now: Duration) -> Duration { streams.isEmpty ? lastTouch : now }

    /// The note for the journal if it lags behind by enough time or written labels; `isFinal` for any time.
    fileprivate mutating func note(
        _ now: Moment, _ limits: SessionLimits, isFinal: Bool, orLabels labels: Int
    ) -> SessionNote {
        let lastSeen = lastSeen(now: now.monotonic)
        let delay = isFinal ? .nanoseconds(1) : limits.touchDelays[life]
        guard let key else {
            // It has no turn and so no labels. Short use after its creation may be lost.
            guard lastSeen - keptTouch >= limits.touchDelays[life] else { return .nothing }
            keptTouch = lastSeen
            return .unkept
        }
        let used = usedCredentials(now, limits, isFinal: isFinal)
        let usedStores = usedStores(now)
        guard lastSeen - keptTouch >= delay || newlyWritten.count >= labels || !used.isEmpty || !usedStores.isEmpty
        else { return .nothing }
        keptTouch = lastSeen
        defer { newlyWritten = [] }
        return .used(
            SessionTouch(
                session: key, lastSeen: now.sinceEpoch(keptTouch), written: newlyWritten, credentials: used,
                stores: usedStores))
    }

    /// The stores whose last use the journal has to learn.
    private mutating func usedStores(_ now: Moment) -> [(feature: FeatureID, lastSeen: Duration)] {
        var used: [(feature: FeatureID, lastSeen: Duration)] = []
        for index in stores.indices {
            // Not to the second, so that the order of use stays.
            if now.monotonic - stores[index].lastUse >= SessionLimits.storeTouchDelay / 2, stores[index].store != nil,
                streams.isShown(stores[index].feature)
            {
                stores[index].use(at: now.monotonic)
            }
            let lastUse = now.sinceEpoch(stores[index].lastUse)
            guard lastUse - stores[index].summary.lastSeen >= SessionLimits.storeTouchDelay else { continue }
            stores[index].summary.lastSeen = lastUse
            used.append((stores[index].feature, lastUse))
        }
        return used
    }

    /// The credentials whose last use the journal has to learn. Open streams count as use.
    private func usedCredentials(
        _ now: Moment, _ limits: SessionLimits, isFinal: Bool
    ) -> [(token: TokenHash, lastSeen: Duration)] {
        guard !credentials.isEmpty else { return [] }
        for index in streams.all.indices {
            _ = streams.all[index].credential?.use(now: now.monotonic, life: limits.credentialLife)
        }
        let delay = isFinal ? .nanoseconds(1) : limits.touchDelays.unshared
        return credentials.compactMap { credential in
            credential.takeUse(after: delay).map { (credential.hash, now.sinceEpoch($0)) }
        }
    }
}
