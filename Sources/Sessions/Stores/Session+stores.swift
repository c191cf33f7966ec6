import Locking
import MVI
import SessionJournal

extension Session {
    /// The version of the store, in memory or not; without a store, the version at which one would begin.
    func version(of feature: FeatureID) -> UInt64 {
        core.withLock { $0.stores[feature]?.version ?? $0.head.number + 1 }
    }

    /// Disposes of a store. `completion` receives false if there was none.
    package func removeStore(
        _ feature: FeatureID, for client: SessionClient = SessionClient(),
        completion: @escaping @Sendable (Result<Bool, StoreError>) -> Void
    ) {
        if let refusal = refusal(of: client, feature, .dispose) { return completion(.failure(refusal)) }
        enqueue(
            .intents,
            unless: { [self] in
                mayRun ? judgeTurn(client, feature, .dispose).map { .refused($0) } : .elsewhere(.elsewhere)
            }, done: completion
        ) { $0.dispose(of: feature) }
    }

    /// Disposes of all stores and drops the stored labels, which may be another client's: a client that signs in wants
    /// none of an anonymous client's data.
    func disposeAll(_ done: @escaping Done<Void>) {
        let now = shared.time.monotonic()
        enqueue(
            .intents, unless: { [self] in mayRun ? nil : .elsewhere(.elsewhere) }, done: { done($0.map { _ in }) }
        ) { core in
            // By the commit, since a client that cannot sign in goes on with them.
            let hadLabels = core.outbox.count > 0
            if hadLabels { core.batch.dropsLabels = now }
            let features = Set(core.stores.map(\.feature) + core.batch.entries.map(\.feature))
            let isAny = features.count { core.dispose(of: $0) } > 0
            // The journal learns about the labels with a turn.
            if !isAny, hadLabels { core.batch.count += 1 }
            return isAny || hadLabels
        }
    }

    /// Has the stores of a filter in memory, created if the session has none, and their pending start committed: before
    /// this returns if all are there, otherwise perhaps later, on another thread. They stay in memory while `then`
    /// runs.
    ///
    /// A stored store shows its committed head even if its bootstrap cannot be committed.
    ///
    /// - Parameters:
    ///   - client: nil if the server itself needs them.
    ///   - isPartial: true to leave out stores for which the session has no room.
    func open(
        _ filter: StreamFilter, for client: SessionClient? = nil, isPartial: Bool = false,
        then: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        startLoads(core.withLock { $0.features(of: filter, atMost: shared.limits.loadedStores) })
        enqueue(OpenJob(self, filter, client, isPartial: isPartial, then))
    }

    // MARK: Creating and loading

    func makeStore(
        _ feature: FeatureID, stored: StoredStore?, principal: Principal?
    ) throws(StoreError) -> SessionStore {
        guard let definition = shared.features.definition(for: feature, in: space) else { throw .featureNotFound }
        do {
            guard let store = try definition.make(definition, feature, self, stored, principal) else {
                throw StoreError.noInstance(feature, of: definition)
            }
            // Until the journal has this node as the session's owner.
            if shared.lease != nil { store.pause() }
            return store
        } catch let error as StoreError {
            throw error
        } catch let refusal as Refusal {
            throw .refusedInstance(refusal, of: definition)
        } catch {
            let failure = Failure(stage: .bootstrap, intentID: .bootstrap, error: error)
            shared.report(.failure(failure, in: place(of: feature)))
            throw StoreError(.notMade, "The store of \"\(feature)\" could not be made.", failure: failure)
        }
    }

    /// The place of a session's store in reports.
    func place(of feature: FeatureID) -> StorePlace { StorePlace(instance: feature.text, session: id) }

    /// Begins to load the stored stores that are not in memory, all at once.
    func startLoads(_ features: [FeatureID]) {
        let lives = lives
        let (missing, key, begun) = core.withLock { core in
            let passive = core.isLive && core.key != nil ? features.filter { core.isPassive($0, lives) } : []
            return (core.makeRare().loads.begin(passive), core.key, core.mark(tokenHash))
        }
        // A session that is not in the journal has no stored stores.
        guard let key, !missing.isEmpty else { return }
        shared.journal.loadStores(missing, of: key, named: tokenHash) { [self] in loaded(missing, $0, since: begun) }
    }

    /// - Parameter begun: the position of the log here when the load began.
    private func loaded(_ features: [FeatureID], _ result: Result<LoadedStores, StoreError>, since begun: SessionMark) {
        var failures: [FeatureID: StoreError] = [:]
        var stores: [(stored: StoredStore, store: SessionStore)] = []
        switch result {
        case .failure(let error):
            for feature in features { failures[feature] = error.code == .gone ? .sessionEnded : error }
        case .success(let found):
            for stored in found.stores {
                let feature = stored.summary.feature
                do throws(StoreError) {
                    stores.append((stored, try makeStore(feature, stored: stored, principal: nil)))
                } catch {
                    failures[feature] = error
                }
            }
        }
        // Before they can begin.
        for (stored, store) in stores {
            if let reason = store.beginning?.setsAside {
                shared.report(.stateSetAside(reason: reason, in: place(of: stored.summary.feature)))
            }
            shared.note(lost: store.beginning?.lost ?? [], of: stored.summary.feature)
        }
        let (applied, waiters, isStray) = core.withLock { core in
            var applied = SessionCore.Applied()
            var isStray = false
            if case .success(let found) = result {
                isStray = !core.standing(of: found.mark, since: begun).isCurrent
                let hasRoom = isStray ? core.makeRare().loads.noteStray() : true
                if !isStray { core.makeRare().loads.noteUse() }
                if !hasRoom { for feature in features { failures[feature] = .wentBack } }
                for (stored, store) in stores {
                    if isStray {
                        applied.changes.append(.left(store))
                    } else {
                        core.install(stored, store, of: found.mark?.epoch, &applied)
                    }
                }
                for feature in features
                where !isStray && !found.stores.contains(where: { $0.summary.feature == feature }) {
                    // The next use creates a new one.
                    if core.stores[feature]?.store == nil { core.remove(feature, &applied) }
                }
            }
            for (feature, error) in failures where error.isLasting {
                core.streams.change(showing: feature) { $0.leaveOut(feature) }
            }
            applied.wakers = core.streams.takeWakers()
            return (applied, core.rare?.loads.end(features, failures) ?? [], isStray)
        }
        if isStray { catchUp() }
        if shared.lease != nil, core.withLock({ $0.ownsWork }) { ownerChanged() }
        follow(applied)
        for waiter in waiters { waiter() }
    }

    /// Calls `resume` once, when loads of the stores are over or have taken 5 s and count as failed until they are
    /// over. Returns false, and does not call, if none is under way.
    func awaitLoads(_ features: [FeatureID], _ resume: @escaping @Sendable () -> Void) -> Bool {
        // Failed loads are not retried before the others are over: two that fail in turn would go on forever.
        startLoads(
            core.withLock { core in
                guard let loads = core.rare?.loads, loads.contains(anyOf: features) else { return features }
                return features.filter { loads.failure(of: $0) == nil }
            })
        let wait = Wait(number: 0) { [self] came in
            if !came { core.withLock { $0.rare?.loads.fail(features) } }
            // The queue waits, so that the log may be read here.
            if core.withLock({ $0.rare?.loads.takeStray() }) == true { readNews { _ in resume() } } else { resume() }
        }
        guard core.withLock({ $0.rare?.loads.wait(for: features) { wait.end(true) } }) == true else { return false }
        shared.limit(wait, to: .seconds(5))
        return true
    }
}

extension SessionCore {
    /// The feature instances that a filter shows now: of all, those with undelivered labels and the most recently used
    /// ones.
    ///
    /// - Parameter limit: the maximum number of them.
    func features(of filter: StreamFilter, atMost limit: Int) -> [FeatureID] {
        switch filter {
        case .all where stores.count > limit:
            let waiting = Set(outbox.entries.lazy.filter { !$0.isWritten }.map(\.label.feature))
            let inOrder = stores.map {
                (feature: $0.feature, lastUse: $0.lastUse, isFirst: waiting.contains($0.feature))
            }
            .sorted { $0.isFirst != $1.isFirst ? $0.isFirst : $0.lastUse > $1.lastUse }
            return inOrder.prefix(limit).map(\.feature)
        case .all: return stores.map(\.feature)
        case .features(let features): return features
        }
    }

    /// True if readers can be shown a store.
    func isShown(_ feature: FeatureID) -> Bool { stores.index(of: feature).map { stores[$0].isShowable } ?? false }

    /// The state for readers; nil if there is none yet.
    func knownState(of feature: FeatureID) -> KnownState? {
        guard let index = stores.index(of: feature), stores[index].isShowable else { return nil }
        return stores[index].known
    }

    /// True if one of the stores has to be loaded first.
    func isMissing(_ features: [FeatureID], _ lives: StoreLives) -> Bool {
        features.contains { feature in
            batch.index(of: feature) == nil && isPassive(feature, lives) && rare?.loads.failure(of: feature) == nil
        }
    }

    /// Installs a loaded store of a log, unless it was disposed, loaded or replaced meanwhile.
    fileprivate mutating func install(
        _ stored: StoredStore, _ store: SessionStore, of name: String?, _ applied: inout Applied
    ) {
        let feature = stored.summary.feature
        guard isLive, let index = stores.index(of: feature), stores[index].store == nil,
            stores[index].summary.number <= stored.summary.number
        else {
            // It was never installed. It is released after the lock.
            applied.changes.append(.left(store))
            return
        }
        stores[index].store = store
        stores[index].summary = stored.summary
        if let name, !epochIsUnsaved { stores[index].epoch = name }
        guard let beginning = store.beginning else { return }
        let derived = beginning.view
        // Shown until the bootstrap is committed, which may take long. A view that is not valid JSON is never shown.
        stores[index].view = derived == stored.view || stored.view.isOneLineOfJSON ? stored.view : derived
        stores[index].intent = stored.viewIntent
        stores[index].use(at: lastTouch)
        stores[index].lost = beginning.lost
        stores[index].showHead()
        stores[index].start =
            beginning.setsAside.map { .replaces($0) } ?? .restored(view: derived == stored.view ? nil : derived)
        streams.markDirty(feature, since: stored.summary.version)
        // Until its bootstrap has begun to observe.
        if store.definition.observes { streams.hold(feature) }
        applied.changes.append(.began(store, streams: streams.showing(feature)))
    }
}

/// Has stores in memory, and their pending start in the batch.
private final class OpenJob: QueueJob {
    private let session: Session
    private let filter: StreamFilter
    private let client: SessionClient?
    private let isPartial: Bool
    private let then: @Sendable (Result<Void, StoreError>) -> Void
    /// The reason why a store that the filter names is missing.
    private let error = Lock<StoreError?>(nil)

    init(
        _ session: Session, _ filter: StreamFilter, _ client: SessionClient?, isPartial: Bool,
        _ then: @escaping @Sendable (Result<Void, StoreError>) -> Void
    ) {
        (self.client, self.isPartial) = (client, isPartial)
        self.session = session
        self.filter = filter
        self.then = then
    }

    private var features: [FeatureID] {
        session.core.withLock { $0.features(of: filter, atMost: session.shared.limits.loadedStores) }
    }

    var lane: JobLane { client == nil ? .server : .opens }

    func run() -> WaitingJob? {
        let features = features.sorted { $0.text < $1.text }
        let (limits, lives) = (session.shared.limits, session.lives)
        if session.core.withLock({ $0.isMissing(features, lives) }) {
            return WaitingJob(self, in: session, for: features)
        }
        error.withLock { $0 = nil }
        // If another node runs its turns, a store is only shown.
        let mayRun = session.mayRun
        for feature in features {
            do throws(StoreError) {
                switch session.core.withLock({ $0.find(feature, limits: limits, lives) }) {
                case .store(let store, _, _) where mayRun:
                    if case .waits(let needs) = session.prepare(store) {
                        return WaitingJob(self, in: session, for: needs.adding(features))
                    }
                // A store that would replace an unreadable state is never created here.
                case .store: if !session.core.withLock({ $0.isShown(feature) }) { throw .elsewhere }
                case .passive(let failure): if let failure { throw failure }
                case .absent where !mayRun: throw .elsewhere
                case .absent(let refusal?, _): throw refusal
                // One that is gone, or whose life is over, is not created again for a client that shows what there is.
                case .absent(nil, true) where filter == .all: break
                case .absent(nil, _):
                    if let client, let refusal = session.judgeTurn(client, feature, .read) { throw refusal }
                    if case .waits(let needs) = try session.make(feature, for: client?.principal) {
                        return WaitingJob(self, in: session, for: needs.adding(features))
                    }
                }
            } catch {
                // An instance that cannot be shown here, such as one with a newer state, is left out of "all".
                let isLeftOut =
                    filter == .all && [.featureNotFound, .newerState, .forbidden, .elsewhere].contains(error.code)
                if !isLeftOut, !(isPartial && error.code == .tooManyStores) { self.error.withLock { $0 = error } }
            }
        }
        session.core.withLock { $0.joinOther(self, isKept: false) }
        return nil
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        then(error.withLock { $0 }.map { .failure($0) } ?? .success(()))
    }

    func end(_ error: StoreError) {
        let isShown = session.core.withLock { core in
            core.isLive
                && core.features(of: filter, atMost: session.shared.limits.loadedStores).allSatisfy { core.isShown($0) }
        }
        then(isShown ? .success(()) : .failure(error))
    }
}

extension StoreError {
    fileprivate static let wentBack = StoreError(
        .contended, "The journal lost its latest commits; the session is read again.", retryAfter: .seconds(1))
}
