import Locking
import MVI
import SessionJournal

extension StoreError.Code {
    /// Another node runs the session's turns and must get the request. See `Session.owningNode`.
    package static let elsewhere = Self("elsewhere")
}

extension StoreError {
    static let elsewhere = StoreError(.elsewhere, "Another node runs the session's turns.", retryAfter: .seconds(1))
    static let noLease = StoreError(
        .unavailable, "This node may not run work now: it has not reached the journal for some seconds.",
        retryAfter: .seconds(2))
}

/// The ownership of a session's turns.
extension Session {
    /// The other living node that owns the session, as far as this node knows; nil if there is none.
    package var owningNode: NodeRecord? {
        guard let lease = shared.lease else { return nil }
        let owner = core.withLock { $0.isElsewhere ? $0.ownership.owner : nil }
        return owner.flatMap { lease.node($0.node) }
    }

    /// The stores whose observations run on another living node, which has to be asked before they are shown here: those
    /// of features that have observed something on this node.
    ///
    /// - Parameter features: nil for all stores.
    package func observedElsewhere(_ features: [FeatureID]? = nil) -> [FeatureID] {
        guard shared.lease != nil, !mayRun else { return [] }
        return (features ?? storeIDs).filter { hasStore($0) && shared.features.definition(for: $0)?.observes == true }
    }

    /// Starts or ends work here after a commit that changed the owner.
    func ownerChanged() {
        let (ownsWork, isReleased, stores, waiting) = core.withLock { core in
            (
                core.ownsWork, core.ownership.owner == nil, core.storesInMemory,
                core.stores.filter { !$0.isStarted }.compactMap(\.store)
            )
        }
        if ownsWork {
            shared.note(self, isOwned: true)
            for store in waiting { store.beginAnew() }
            for store in stores { store.resume() }
        } else {
            shared.note(self, isOwned: false)
            forgetWatchers()
            for store in stores { if isReleased { store.hold() } else { store.pause() } }
        }
    }

    /// Ends the session's work in these stores.
    func end(work stores: [SessionStore]) {
        guard !stores.isEmpty else { return }
        shared.note(self, isOwned: false)
        forgetWatchers()
        for store in stores { store.pause() }
    }

    /// Ends the session's work, since this node may no longer run it. Others find the session among those of lost
    /// nodes.
    func stopWork() { end(work: core.withLock { $0.ownsWork ? $0.loseWork() : [] }) }

    // MARK: Looking after it

    /// Starts the work that watchers ask for, and the stores that streams show, unless another node does. Called when
    /// the owner changes, when a stream opens, and periodically.
    func lookAfterWork() {
        guard let lease = shared.lease, !lease.isDraining else { return }
        guard mayRun else { return shared.tellOfWatchers(self) }
        let (waiting, heldBack) = core.withLock { core -> ([FeatureID], [FeatureID]) in
            guard core.isLive, core.key != nil else { return ([], []) }
            let shown = core.stores.filter { core.streams.isShown($0.feature) || $0.store?.isWatched == true }
            let waiting = shown.filter { if case .done = $0.start { $0.store == nil } else { true } }.map(\.feature)
            return (waiting, core.ownsWork ? [] : shown.filter { $0.store?.isHeldBack == true }.map(\.feature))
        }
        if !waiting.isEmpty {
            open(.features(waiting)) { [self] result in if case .success = result { claimHeldBack() } }
        } else if !heldBack.isEmpty {
            claimHeldBack()
        }
    }

    /// Becomes the owner if watchers ask for work.
    func claimHeldBack() {
        enqueue(.steps, unless: { [self] in mayRun ? nil : .dropped }) { core in
            let features = core.ownsWork ? [] : core.stores.filter { $0.store?.isHeldBack == true }.map(\.feature)
            core.batch.claims += features
            if !features.isEmpty { core.batch.count += 1 }
            return !features.isEmpty
        }
    }

    /// Takes over a session whose owner is lost, with the stores whose work ran there, as if they were loaded after a
    /// restart.
    func takeOver(_ working: [FeatureID], done: @escaping @Sendable () -> Void) {
        catchUp { [self] in
            guard mayRun, core.withLock({ $0.isLive && $0.isElsewhere }) else { return done() }
            restoreWork(of: working, done)
        }
    }

    /// Restores the work of a lost owner after a batch that expected that owner, in all its stores.
    func restoreWork(after batch: JournalBatch) {
        if case .owned(let owner, _)? = batch.ownerChange, owner.node == .nobody { return }
        guard shared.lease?.holder != nil else { return }
        let features = core.withLock { core -> [FeatureID]? in
            guard !core.isRestoringWork, let owner = core.ownership.owner else { return nil }
            return core.isElsewhere || owner != batch.expectedOwner ? core.stores.map(\.feature) : nil
        }
        if let features { restoreWork(of: features) {} }
    }

    private func restoreWork(of working: [FeatureID], _ done: @escaping @Sendable () -> Void) {
        let features = core.withLock { core in
            core.isRestoringWork = true
            return working.filter { core.stores.index(of: $0) != nil }
        }
        open(.features(features)) { [self] _ in
            // Also if nothing is left to do: the session no longer has a lost owner.
            enqueue(.steps) { [self] in
                mayRun ? nil : .dropped
            } done: { [self] _ in
                core.withLock { $0.isRestoringWork = false }
                done()
                // Starts stores that are shown here and did not run there.
                lookAfterWork()
            } _: { core in
                // Stores that have not begun are left to a capable node or to the next attempt.
                guard core.isElsewhere, features.allSatisfy({ core.hasBegun($0) }) else { return false }
                core.batch.count += 1
                core.batch.releasesOwner = true
                return true
            }
        }
    }

    /// Releases the session if no work runs here: any node may run its turns then.
    func releaseIfIdle(now: Duration) {
        let isSpace = space != nil
        guard core.withLock({ $0.isIdleOwner(now: now, ofSpace: isSpace) }) else { return }
        enqueue(.steps) { core in
            guard core.isIdleOwner(now: now, ofSpace: isSpace) else { return false }
            core.batch.count += 1
            core.batch.releasesOwner = true
            return true
        }
    }

    /// Gives the session away with its work: the next node that uses it takes it over. `done` receives false if this
    /// node did not own it.
    package func giveAway(_ done: @escaping @Sendable (Bool) -> Void) {
        enqueue(.steps, done: { done((try? $0.get()) ?? false) }) { core in
            guard core.ownsWork else { return false }
            core.batch.count += 1
            core.batch.givesAway = true
            return true
        }
    }
}

extension SessionCore {
    /// True if a store's bootstrap is done or cannot run.
    fileprivate func hasBegun(_ feature: FeatureID) -> Bool {
        guard let slot = stores[feature], batch.index(of: feature) == nil else { return true }
        if let error = rare?.loads.failure(of: feature) { return error.isLasting && error.code != .newerState }
        return slot.isStarted
    }

    fileprivate func isIdleOwner(now: Duration, ofSpace isSpace: Bool) -> Bool {
        let (free, isShown) =
            isSpace
            ? (lastUse + Ownership.spaceHoldTime, !streams.isEmpty || !ownership.watchers.isEmpty)
            : (ownership.heldUntil, false)
        return isLive && ownsWork && now >= free && !isShown && rare?.loads.isEmpty != false
            && storesInMemory.allSatisfy { !$0.isBusy }
            && batch.entries.allSatisfy { $0.isDisposed || !$0.effects.contains { $0.launches } }
    }
}
