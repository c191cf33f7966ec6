import Locking
import MVI

/// Jobs that read stores whose observations have no result yet. They leave the queue meanwhile, so that other turns run,
/// among them the observations' own.
extension Session {
    /// Enqueues a job again when a store's observations have results, at most a second after it ran first.
    func putOff(_ job: any QueueJob, for store: SessionStore) {
        let now = shared.time.monotonic()
        let deadline = core.withLock { $0.rare?.readingDeadline } ?? now + SessionStore.longestObservation
        let hasRoom = core.withLock { core in
            let rare = core.makeRare()
            guard rare.putOff < shared.limits.runningChecks || job.lane == .steps || job.lane == .server else {
                return false
            }
            rare.putOff += 1
            return true
        }
        guard hasRoom else { return job.end(.tooManyChecks) }
        let intent = job as? IntentJob
        // Later numbers of its client wait for it.
        if let intent, !intent.isChecked { announceCheck(intent.receipt) }
        let again = ResumedJob(intent?.puttingOff ?? job, after: store, in: self, until: deadline)
        let resume: @Sendable () -> Void = { [self] in
            core.withLock { $0.rare?.putOff -= 1 }
            enqueue(again)
        }
        store.beginReading()
        let wait = Wait(number: 0) { _ in resume() }
        guard store.whenObserved({ wait.end(true) }) else { return wait.end(true) }
        shared.limit(wait, to: max(.zero, deadline - now))
    }
}

/// A job that has waited for a store's observations.
private final class ResumedJob: QueueJob {
    private let job: any QueueJob
    private let store: SessionStore
    private let session: Session
    private let deadline: Duration

    init(_ job: any QueueJob, after store: SessionStore, in session: Session, until deadline: Duration) {
        (self.job, self.store, self.session, self.deadline) = (job, store, session, deadline)
    }

    var lane: JobLane { job.lane }
    var isFailureTurn: Bool { job.isFailureTurn }
    var kind: TurnKind { job.kind }

    func run() -> WaitingJob? {
        session.core.withLock { $0.makeRare().readingDeadline = deadline }
        defer {
            session.core.withLock { $0.rare?.readingDeadline = nil }
            store.endReading()
        }
        guard let waiting = job.run() else { return nil }
        // The next wait is within the same time.
        if let next = waiting.needs.observed {
            session.putOff(waiting.job, for: next)
            return nil
        }
        store.beginReading()
        let again = ResumedJob(waiting.job, after: store, in: session, until: deadline)
        return WaitingJob(again, in: session, for: waiting.needs)
    }

    func end(_ error: StoreError) {
        store.endReading()
        job.end(error)
    }
}

/// States that streams hold back.
extension Session {
    /// Shows a store on streams that hold its state back: when its observations have results, or after a second.
    ///
    /// - Parameter number: a stream's number; nil for all that hold it back.
    func release(_ store: SessionStore, to number: UInt64? = nil) {
        let show: @Sendable () -> Void = { [self] in
            changeStreams { core in
                guard core.stores[store.feature]?.store === store else { return }
                core.streams.release(store.feature, of: number, isStale: store.showsStale())
            }
        }
        if !store.whenObserved(show) { show() }
    }

    /// Limits the time for which streams hold back a loaded store, whose bootstrap may take long.
    func limitHold(of store: SessionStore) {
        guard store.definition.observes, store.beginning != nil else { return }
        shared.after(SessionStore.longestObservation) { [self] in showStale(store) }
    }

    /// Shows a store as it is on streams that hold its state back.
    private func showStale(_ store: SessionStore) {
        changeStreams { core in
            guard core.stores[store.feature]?.store === store else { return }
            core.streams.release(store.feature, isStale: store.showsStale())
        }
    }

    /// Shows a store again on streams that show it as stale.
    func showFresh(_ feature: FeatureID) {
        changeStreams { $0.streams.showFresh(feature, since: $0.head.number) }
    }
}

/// Reads that wait for observations.
extension Session {
    /// A store that can be read.
    enum Known {
        case state(KnownState)
        /// Its observations have to run first.
        case observes(SessionStore)
    }

    /// Returns the view state of a store when its observations have results, or after a second.
    func observedState(
        of store: SessionStore, for client: SessionClient,
        completion: @escaping @Sendable (Result<StateSnapshot, StoreError>) -> Void
    ) {
        let feature = store.feature
        let read: @Sendable () -> Void = { [self] in
            let state = reading(as: client, feature) { core in
                core.stores[feature]?.store === store ? core.readState(of: feature) : nil
            }
            store.endReading()
            switch state {
            case .success(let read?): completion(show(read.state, isStale: read.isStale, to: client))
            // It was replaced or left memory meanwhile.
            case .success(nil): knownState(of: feature, for: client, completion: completion)
            case .failure(let refusal): completion(.failure(refusal))
            }
        }
        store.beginReading()
        if !store.whenObserved(read) { read() }
    }
}

extension SessionCore {
    /// The view state of a store, or the store if that has to observe first; nil if there is none yet.
    func known(_ feature: FeatureID) -> Session.Known? {
        guard let index = stores.index(of: feature), stores[index].isShowable, let store = stores[index].store else {
            return nil
        }
        return store.isObserving ? .observes(store) : .state(stores[index].known)
    }

    /// The state for readers, and whether it is stale; nil if there is none yet.
    func readState(of feature: FeatureID) -> (state: KnownState, isStale: Bool)? {
        knownState(of: feature).map { ($0, isStale(feature)) }
    }

    /// True if a store's observations had no result in time.
    private func isStale(_ feature: FeatureID) -> Bool {
        stores[feature]?.store.map { $0.isObserving && $0.isStale } ?? false
    }
}
