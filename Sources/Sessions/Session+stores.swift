import Locking
import MVI
import SessionJournal

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
    /// What the session is kept in cannot be read or written now.
    case notKept(JournalFailure)
    /// The session left memory while the request was on its way; asked again, it comes back.
    case evicted
}

/// A committed view state.
public struct StateSnapshot: Sendable, Equatable {
    /// The store's version.
    public let version: UInt64
    /// The view state as JSON.
    public let view: [UInt8]
}

extension Session {
    /// Hands over the view state of a store, which is made if the session has none yet: before this returns if the
    /// store is in memory, else perhaps later, on another thread.
    public func state(
        of feature: FeatureID, completion: @escaping @Sendable (Result<StateSnapshot, StoreRefusal>) -> Void
    ) {
        openStore(feature) { [self] result in
            switch result {
            case .success(let store):
                if let snapshot = snapshot(of: feature, number: store.number) {
                    completion(.success(snapshot))
                } else {
                    // Another request disposed of it meanwhile; unless the session has ended, the next one is as good.
                    state(of: feature, completion: completion)
                }
            case .failure(let refusal): completion(.failure(refusal))
            }
        }
    }

    /// The view state of a store if it is in memory.
    public func existingState(of feature: FeatureID) -> StateSnapshot? {
        snapshot(of: feature, number: nil)
    }

    /// The view state that a new store of the feature would have, whether the session has one or not; nothing is kept:
    /// for a `HEAD`. Throws `featureNotFound` where the feature or its instance does not exist.
    public func initialState(of feature: FeatureID) throws(StoreRefusal) -> [UInt8] {
        try make(feature, number: 0, stored: nil).view
    }

    private func snapshot(of feature: FeatureID, number: UInt64?) -> StateSnapshot? {
        core.withLock { core in
            guard let slot = core.stores[feature], slot.handle != nil, number == nil || slot.number == number
            else { return nil }
            return StateSnapshot(version: slot.version, view: slot.view)
        }
    }

    /// Disposes a store, as soon as the journal has forgotten it. `completion` is told whether there was one.
    public func removeStore(
        _ feature: FeatureID, completion: @escaping @Sendable (Result<Bool, StoreRefusal>) -> Void
    ) {
        let found = core.withLock { core -> (number: UInt64, marks: SessionMarks)? in
            guard let slot = core.stores[feature] else { return nil }
            core.remember(slot)
            core.marksChanged = false
            return (slot.number, core.keptMarks)
        }
        guard let found else { return completion(.success(false)) }
        environment.journal.removeStore(feature, of: key, marks: found.marks) { [self] result in
            switch result {
            case .success:
                for wake in forgetStore(feature, number: found.number) { wake() }
                completion(.success(true))
            case .failure(let failure):
                core.withLock { $0.marksChanged = true }
                completion(.failure(.notKept(failure)))
            }
        }
    }

    /// Takes a store out of memory and ends it; returns what is to be done about those who looked at it.
    func forgetStore(_ feature: FeatureID, number: UInt64) -> [@Sendable () -> Void] {
        let (slot, wakers) = core.withLock { core -> (StoreSlot?, [any StreamWaker]) in
            guard let slot = core.stores[feature], slot.number == number else { return (nil, []) }
            core.stores[feature] = nil
            core.remember(slot)
            var wakers: [any StreamWaker] = []
            for index in core.streams.indices where core.streams[index].shows(feature) {
                core.streams[index].storeEnded(feature)
                if let waker = core.streams[index].waker { wakers.append(waker) }
            }
            return (slot, wakers)
        }
        guard let slot else { return [] }
        slot.handle?.store.dispose()
        return slot.waiters.map(\.resume) + wakers.map { waker in { waker.wake() } }
    }

    // MARK: Making and loading

    /// Hands over the store of the feature instance: made on first touch, loaded if it is kept. Bootstrap has been run,
    /// or is being run by the thread that came first.
    func openStore(
        _ feature: FeatureID,
        completion: @escaping @Sendable (Result<(handle: StoreHandle, number: UInt64), StoreRefusal>) -> Void
    ) {
        let opening = core.withLock { core in
            core.open(
                feature, in: environment,
                waiter: { [self] result in
                    switch result {
                    case .success: openStore(feature, completion: completion)
                    case .failure(let refusal): completion(.failure(refusal))
                    }
                })
        }
        switch opening {
        case .open(let handle, let number): completion(.success((handle, number)))
        case .refused(let refusal): completion(.failure(refusal))
        case .waiting: break
        case .load:
            environment.journal.loadStores([feature], of: key) { [self] in loaded(feature, $0) }
        case .make:
            do throws(StoreRefusal) {
                completion(.success(try makeStore(feature)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    /// A store that was never kept.
    private func makeStore(_ feature: FeatureID) throws(StoreRefusal) -> (handle: StoreHandle, number: UInt64) {
        let limit = environment.limits.storesPerSession
        let number = environment.nextNumber()
        let made = try make(feature, number: number, stored: nil)
        let (winner, watching) = try core.withLock { core throws(StoreRefusal) -> (UInt64, [UInt64]) in
            if core.isEnded { throw .sessionEnded }
            // Another thread may have been first.
            if let slot = core.stores[feature] { return (slot.number, []) }
            guard core.stores.count < limit else { throw .tooManyStores(limit: limit) }
            core.stores.append(
                StoreSlot(
                    feature: feature, handle: made.handle, number: number, version: core.marks.versionFloor + 1,
                    view: made.view,
                    marks: StoreMarks(core.marks), unwrittenState: made.unwrittenState, lastUse: core.lastTouch))
            return (number, core.show(feature))
        }
        guard winner == number else {
            made.handle.store.dispose()
            let found = core.withLock { $0.stores[feature]?.handle }
            guard let found else { throw .evicted }
            return (found, winner)
        }
        begin(feature, made.handle, number, watching)
        return (made.handle, number)
    }

    /// A store comes back from the journal.
    private func loaded(_ feature: FeatureID, _ result: Result<[StoredStore], JournalFailure>) {
        var outcome = Result<Void, StoreRefusal>.success(())
        var started: (made: MadeStore, number: UInt64, watching: [UInt64])?
        switch result {
        case .failure(let failure):
            outcome = .failure(failure.code == .gone ? .sessionEnded : .notKept(failure))
        case .success(let stores):
            guard let stored = stores.first else {
                // Another writer removed it: the next touch makes a new one.
                core.withLock { if $0.stores[feature]?.handle == nil { $0.stores[feature] = nil } }
                break
            }
            do throws(StoreRefusal) {
                let number = environment.nextNumber()
                let made = try make(feature, number: number, stored: stored)
                let watching = core.withLock { core -> [UInt64]? in
                    core.install(stored, made, number: number) ? core.show(feature) : nil
                }
                if let watching {
                    started = (made, number, watching)
                } else {
                    made.handle.store.dispose()
                }
            } catch {
                outcome = .failure(error)
            }
        }
        if let started {
            if let reason = started.made.setsAside {
                environment.report(.stateSetAside(reason: reason, instance: feature.text))
            }
            begin(feature, started.made.handle, started.number, started.watching)
        }
        let waiters = core.withLock { $0.loading.removeValue(forKey: feature) ?? [] }
        for waiter in waiters { waiter(outcome) }
    }

    private func begin(_ feature: FeatureID, _ handle: StoreHandle, _ number: UInt64, _ watching: [UInt64]) {
        handle.store.start()
        for stream in watching { watch(feature, handle.store, number, from: stream) }
        // Its first turn is bootstrap, whose commit wakes the streams; with a slow journal they need not wait.
        wakeStreams(showing: feature)
    }

    /// Notes that a stream watches a store that was made after it. The stream may have closed meanwhile; what began first
    /// is then ended here.
    private func watch(_ feature: FeatureID, _ store: any UntypedStore, _ number: UInt64, from stream: UInt64) {
        store.beginWatching()
        let isOpen = core.withLock { core in
            guard let index = core.index(of: stream), core.stores[feature]?.number == number else { return false }
            core.streams[index].watches(feature, store, number: number)
            return true
        }
        if !isOpen { store.endWatching() }
    }

    private func wakeStreams(showing feature: FeatureID) {
        let wakers = core.withLock { $0.wakers(showing: feature) }
        for waker in wakers { waker.wake() }
    }

    private func make(
        _ feature: FeatureID, number: UInt64, stored: StoredStore?
    ) throws(StoreRefusal) -> MadeStore {
        guard let definition = environment.features.definition(for: feature) else { throw .featureNotFound }
        var storeEnvironment = environment.stores
        storeEnvironment.instance = feature.text
        storeEnvironment.session = id
        let seed = StoreSeed(
            environment: storeEnvironment,
            middleware: environment.middleware, stored: stored,
            // The session holds the store, too, until it ends or the store leaves memory.
            commit: { [self] batch, done in commit(batch, feature: feature, number: number, done: done) },
            stateLimit: environment.limits.viewStateBytes, outboxLimit: environment.limits.outboxBytes)
        let made: MadeStore?
        do {
            made = try definition.make(feature.key, seed)
        } catch {
            environment.report(
                .failure(
                    Failure(stage: .bootstrap, intentID: .bootstrap, error: error), instance: feature.text))
            throw .failed
        }
        guard let made else { throw .featureNotFound }
        return made
    }
}

extension SessionCore {
    enum Opening {
        case open(StoreHandle, number: UInt64)
        case refused(StoreRefusal)
        /// Another caller loads it already.
        case waiting
        /// The caller loads it.
        case load
        /// The caller makes it.
        case make
    }

    /// What is to be done to have a store.
    mutating func open(
        _ feature: FeatureID, in environment: SessionEnvironment,
        waiter: @escaping @Sendable (Result<Void, StoreRefusal>) -> Void
    ) -> Opening {
        if isEnded { return .refused(.sessionEnded) }
        let index = stores.index(of: feature)
        if let index, let handle = stores[index].handle {
            stores[index].lastUse = lastTouch
            return .open(handle, number: stores[index].number)
        }
        if isEvicted { return .refused(.evicted) }
        guard environment.features.definition(for: feature) != nil else { return .refused(.featureNotFound) }
        if index != nil {
            let isFirst = loading[feature] == nil
            loading[feature, default: []].append(waiter)
            return isFirst ? .load : .waiting
        }
        let limit = environment.limits.storesPerSession
        return stores.count < limit ? .make : .refused(.tooManyStores(limit: limit))
    }

    /// Puts a store that was loaded in its place; false if that is not there any more, or taken.
    fileprivate mutating func install(_ stored: StoredStore, _ made: MadeStore, number: UInt64) -> Bool {
        guard !isEnded, !isEvicted, var slot = stores[stored.summary.feature], slot.handle == nil else { return false }
        slot.handle = made.handle
        slot.number = number
        slot.token = stored.summary.token
        slot.version = stored.summary.token.version
        slot.view = stored.view
        slot.intentID = stored.viewIntent.map { IntentID($0) }
        slot.replacedSequence = stored.summary.replacedSequence
        slot.unwrittenState = made.unwrittenState
        slot.setsAside = made.setsAside
        slot.lastUse = lastTouch
        if made.view != stored.view {
            // Another version of the code shows the same state another way, or the state could not be read.
            slot.version += 1
            slot.view = made.view
            slot.intentID = nil
        }
        if made.setsAside != nil {
            slot.version = stored.summary.token.version + 1
            slot.replacedSequence = .max
        }
        stores[stored.summary.feature] = slot
        return true
    }

    /// Streams that show the feature have its state to show; returns their numbers.
    fileprivate mutating func show(_ feature: FeatureID) -> [UInt64] {
        lastStep = nil
        var watching: [UInt64] = []
        for index in streams.indices where streams[index].shows(feature) {
            streams[index].markDirty(feature)
            watching.append(streams[index].number)
        }
        return watching
    }

    /// Notes what is to be known of a store after it is gone.
    fileprivate mutating func remember(_ slot: StoreSlot) {
        marks.versionFloor = max(marks.versionFloor, slot.version)
        marks.droppedSequence = max(marks.droppedSequence, slot.marks.droppedSequence)
        marks.hasLabels = marks.hasLabels || slot.marks.hasLabels
        marks.hasUnheard = marks.hasUnheard || slot.marks.hasUnheard
        marksChanged = true
    }
}

extension StoreMarks {
    /// What a new store inherits of those that are gone.
    init(_ marks: SessionMarks) {
        self.init()
        droppedSequence = marks.droppedSequence
        hasLabels = marks.hasLabels
    }
}
