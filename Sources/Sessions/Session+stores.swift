import SessionJournal
import Locking
import MVI

/// Why there is no store.
public enum StoreRefusal: Error, Sendable, Equatable {
    /// No such feature, or no such instance of it.
    case featureNotFound
    /// The session has as many stores as it may.
    case tooManyStores(limit: Int)
    /// As many requests as may wait do so already.
    case tooManyWaits
    /// The session has ended.
    case sessionEnded
    /// The feature's author's code threw.
    case failed
}

/// A committed view state.
public struct StateSnapshot: Sendable, Equatable {
    /// The store's version.
    public let version: UInt64
    /// The view state as JSON.
    public let view: [UInt8]
}

extension Session {
    /// The view state of a store, which is made if the session has none yet.
    public func state(of feature: FeatureID) throws(StoreRefusal) -> StateSnapshot {
        while true {
            let (_, number) = try openStore(feature)
            if let snapshot = snapshot(of: feature, number: number) { return snapshot }
            // Another request disposed of it meanwhile; unless the session has ended, the next one is as good.
        }
    }

    /// The view state of a store if the session has it; makes none.
    public func existingState(of feature: FeatureID) -> StateSnapshot? {
        snapshot(of: feature, number: nil)
    }

    /// The view state that a new store of the feature would have, whether the session has one or not; nothing is kept:
    /// for a `HEAD`. Throws `featureNotFound` where the feature or its instance does not exist.
    public func initialState(of feature: FeatureID) throws(StoreRefusal) -> [UInt8] {
        try makeHandle(feature, number: 0).initialView
    }

    private func snapshot(of feature: FeatureID, number: UInt64?) -> StateSnapshot? {
        core.withLock { core in
            guard let slot = core.stores[feature], number == nil || slot.number == number else { return nil }
            return StateSnapshot(version: slot.version, view: slot.view)
        }
    }

    /// Disposes a store; false if there was none.
    public func removeStore(_ feature: FeatureID) -> Bool {
        let (slot, wakers) = core.withLock { core -> (StoreSlot?, [any StreamWaker]) in
            guard let slot = core.stores.removeValue(forKey: feature) else { return (nil, []) }
            core.versionFloor = max(core.versionFloor, slot.version)
            core.droppedFloor = max(core.droppedFloor, slot.droppedSequence)
            core.labelledFloor = core.labelledFloor || slot.hasLabels
            core.unheardFloor = core.unheardFloor || slot.hasUnheard
            var wakers: [any StreamWaker] = []
            for index in core.streams.indices where core.streams[index].shows(feature) {
                core.streams[index].storeEnded(feature)
                if let waker = core.streams[index].waker { wakers.append(waker) }
            }
            return (slot, wakers)
        }
        guard let slot else { return false }
        slot.handle.dispose()
        for waiter in slot.waiters { waiter.resume() }
        for waker in wakers { waker.wake() }
        return true
    }

    /// The store of the feature instance, made on first touch; bootstrap has been run, or is being run by the thread
    /// that came first.
    func openStore(_ feature: FeatureID) throws(StoreRefusal) -> (handle: StoreHandle, number: UInt64) {
        let limit = environment.limits.storesPerSession
        let found = try core.withLock { core throws(StoreRefusal) -> StoreSlot? in
            if core.isEnded { throw .sessionEnded }
            if let slot = core.stores[feature] { return slot }
            guard environment.features.definition(for: feature) != nil else { throw .featureNotFound }
            guard core.stores.count < limit else { throw .tooManyStores(limit: limit) }
            return nil
        }
        if let found { return (found.handle, found.number) }

        let number = environment.nextNumber()
        let handle = try makeHandle(feature, number: number)
        var watching: [UInt64] = []
        let winner = try core.withLock { core throws(StoreRefusal) -> StoreSlot in
            if core.isEnded { throw .sessionEnded }
            // Another thread may have been first.
            if let slot = core.stores[feature] { return slot }
            guard core.stores.count < limit else { throw .tooManyStores(limit: limit) }
            let slot = StoreSlot(
                handle: handle, number: number, version: core.versionFloor + 1, view: handle.initialView,
                droppedSequence: core.droppedFloor, hasLabels: core.labelledFloor)
            core.stores[feature] = slot
            for index in core.streams.indices where core.streams[index].shows(feature) {
                core.streams[index].markDirty(feature)
                watching.append(core.streams[index].number)
            }
            return slot
        }
        if winner.number == number {
            handle.start()
            for stream in watching { watch(feature, handle, number, from: stream) }
            // Its first turn is bootstrap, whose commit wakes the streams; with a slow journal they need not wait.
            wakeStreams(showing: feature)
        } else {
            handle.dispose()
        }
        return (winner.handle, winner.number)
    }

    /// Notes that a stream watches a store that was made after it. The stream may have closed meanwhile; what began first
    /// is then ended here.
    private func watch(_ feature: FeatureID, _ handle: StoreHandle, _ number: UInt64, from stream: UInt64) {
        handle.beginWatching()
        let isOpen = core.withLock { core in
            guard let index = core.index(of: stream), core.stores[feature]?.number == number else { return false }
            core.streams[index].watched[feature] = (handle, number)
            return true
        }
        if !isOpen { handle.endWatching() }
    }

    private func wakeStreams(showing feature: FeatureID) {
        let wakers = core.withLock { core in
            core.streams.compactMap { $0.shows(feature) ? $0.waker : nil }
        }
        for waker in wakers { waker.wake() }
    }

    private func makeHandle(_ feature: FeatureID, number: UInt64) throws(StoreRefusal) -> StoreHandle {
        guard let definition = environment.features.definition(for: feature) else { throw .featureNotFound }
        let seed = StoreSeed(
            environment: StoreEnvironment(
                instance: feature.text, session: id, clock: environment.clock, executor: environment.executor,
                queueLimit: environment.limits.queuedIntents,
                // Labels wait in the outbox, where streams find them.
                labelLimit: 0, report: environment.report),
            middleware: environment.middleware,
            commit: { [weak self] turns, done in
                guard let self else { return .failed(CommitFailure(.disposed, "The session has ended.")) }
                return commit(turns, feature: feature, number: number, done: done)
            },
            stateLimit: environment.limits.viewStateBytes, outboxLimit: environment.limits.outboxBytes)
        let handle: StoreHandle?
        do {
            handle = try definition.make(feature.key, seed)
        } catch {
            environment.report(
                .failure(
                    Failure(stage: .bootstrap, intentID: .bootstrap, error: error), instance: feature.text))
            throw .failed
        }
        guard let handle else { throw .featureNotFound }
        return handle
    }
}
