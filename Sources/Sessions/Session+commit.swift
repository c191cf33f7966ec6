import Locking
import MVI
import SessionJournal

/// How a store's commit ended, as its log is told.
@usableFromInline
enum SessionCommit: Sendable {
    /// The turns are permanent and shown.
    case committed
    /// Another writer was first, and this is the head that it left.
    case conflict(StoredStore)
    /// The turns certainly are not permanent.
    case failed(CommitFailure)
}

/// An append that was committed: what is left to show.
struct CommittedAppend: Sendable {
    let batch: EncodedBatch
    let feature: FeatureID
    let number: UInt64
    let append: StoreAppend
    let done: @Sendable (SessionCommit) -> Void
}

extension Session {
    /// Makes a store's turns permanent, then visible: versions, outbox, receipts and the streams' sets of features to
    /// show change in one step under the lock, in the order of sequence numbers; streams are written to after it.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` later.
    func commit(
        _ batch: EncodedBatch, feature: FeatureID, number: UInt64,
        done: @escaping @Sendable (SessionCommit) -> Void
    ) -> SessionCommit? {
        let now = environment.time.sinceEpoch()
        let prepared = core.withLock { core in
            core.prepare(batch, feature: feature, number: number, session: self, now: now)
        }
        switch prepared {
        case .gone: return .failed(.storeIsGone)
        case .nothing: return .committed
        case .append(let append, let store):
            let committed = CommittedAppend(
                batch: batch, feature: feature, number: number, append: store, done: done)
            let result = environment.journal.append(append) { [self] result in
                if let outcome = finish(committed, result) { done(outcome) }
            }
            return result.flatMap { finish(committed, $0) }
        }
    }

    /// Takes the journal's word; nil if `done` will be called later.
    private func finish(_ committed: CommittedAppend, _ result: AppendResult) -> SessionCommit? {
        switch result {
        case .committed(let sequence): return take(committed, sequence)
        case .conflict:
            landed()
            reload(committed)
            return nil
        case .duplicate(let receipt):
            let now = Moment(environment.time)
            core.withLock { $0.receipts.adopt(receipt, monotonic: now.monotonic) }
            landed()
            return .failed(CommitFailure(.duplicate, "The request was committed before."))
        case .failed(let failure):
            landed()
            // Whoever deleted it was not this object.
            if failure.code == .gone { end(.ended) }
            return .failed(CommitFailure(failure))
        case .unknown(let failure):
            settle(committed, failure)
            return nil
        }
    }

    /// An append is over that changed nothing here.
    func landed() {
        let mustCatchUp = core.withLock { core in
            core.appendsInFlight -= 1
            return core.isMissingOthers
        }
        if mustCatchUp { catchUp() }
    }

    /// Shows committed turns, and those that waited for them.
    private func take(_ committed: CommittedAppend, _ sequence: UInt64) -> SessionCommit? {
        let now = environment.time.monotonic()
        let (outcome, followers, mustCatchUp) = core.withLock {
            core -> (SessionCore.Shown?, [(CommittedAppend, SessionCore.Shown)], Bool) in
            guard sequence <= core.sequence + 1 else {
                // The turns between are another commit's of this session whose result is on its way here, or another
                // writer's.
                core.early[sequence] = committed
                return (nil, [], core.isMissingOthers)
            }
            core.appendsInFlight -= 1
            let shown = core.take(committed, sequence: sequence, now: now, limits: environment.limits)
            return (shown, core.takeFollowers(now: now, limits: environment.limits), core.isMissingOthers)
        }
        if let outcome { show(outcome, committed.feature) }
        show(followers)
        if mustCatchUp { catchUp() }
        return outcome.map { $0.isGone ? .failed(.storeIsGone) : .committed }
    }

    func show(_ shown: SessionCore.Shown, _ feature: FeatureID) {
        for waker in shown.wakers { waker.wake() }
        for waiter in shown.waiters { waiter.resume() }
        if shown.undelivered > 0 {
            environment.report(.undelivered(count: shown.undelivered, instance: feature.text))
        }
    }

    /// Shows commits that waited for others, and tells their stores.
    func show(_ followers: [(CommittedAppend, SessionCore.Shown)]) {
        for (follower, shown) in followers {
            show(shown, follower.feature)
            follower.done(shown.isGone ? .failed(.storeIsGone) : .committed)
        }
    }
}

extension CommitFailure {
    static let storeIsGone = CommitFailure(.disposed, "The store was disposed meanwhile.")

    init(_ failure: JournalFailure) {
        switch failure.code {
        case .full: self.init(.full, failure.detail)
        case .gone: self.init(.disposed, failure.detail)
        case .invalid: self.init(.invalid, failure.detail)
        case .unavailable, .closed, .exists: self.init(.unavailable, failure.detail)
        }
    }
}
