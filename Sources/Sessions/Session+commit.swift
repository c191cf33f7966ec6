import Locking
import MVI
import SessionJournal

/// How a store's commit ended, as its log is told.
@usableFromInline
enum SessionCommit: Sendable {
    /// The turns are permanent and shown; the store's version is this one now.
    case committed(version: UInt64)
    /// Another writer was first, and this is the head that it left.
    case conflict(StoredStore)
    /// The turns certainly are not permanent.
    case failed(CommitFailure)
}

/// An append on its way: what is left to show once it is committed.
final class CommittedAppend: Sendable {
    let session: Session
    let batch: EncodedBatch
    let feature: FeatureID
    let number: UInt64
    /// The store's token and version before.
    let expecting: StoreToken?
    let version: UInt64
    /// Its token from then on.
    let token: StoreToken
    let done: @Sendable (SessionCommit) -> Void

    init(
        _ session: Session, _ batch: EncodedBatch, _ feature: FeatureID, number: UInt64, version: UInt64,
        expecting: StoreToken?, token: StoreToken, done: @escaping @Sendable (SessionCommit) -> Void
    ) {
        self.session = session
        self.batch = batch
        self.number = number
        self.version = version
        self.done = done
        self.feature = feature
        self.expecting = expecting
        self.token = token
    }

    /// The journal's word that came later.
    func end(_ result: AppendResult) {
        if let outcome = session.finish(self, result) { done(outcome) }
    }
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
        switch consume prepared {
        case .gone: return .failed(.storeIsGone)
        case .nothing(let version): return .committed(version: version)
        case .append(let append, let version, let token):
            let committed = CommittedAppend(
                self, batch, feature, number: number, version: version, expecting: append.store?.expecting,
                token: token, done: done)
            guard let result = environment.journal.append(append, done: { committed.end($0) }) else { return nil }
            return finish(committed, result)
        }
    }

    /// Takes the journal's word; nil if `done` will be called later.
    fileprivate func finish(_ committed: CommittedAppend, _ result: AppendResult) -> SessionCommit? {
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
        let (shown, followers, mustCatchUp) = core.withLock {
            core -> (SessionCore.Shown?, [(CommittedAppend, SessionCore.Shown)], Bool) in
            guard sequence <= core.sequence + 1 else {
                // The turns between are another commit's of this session whose result is on its way here, or another
                // writer's.
                core.early[sequence] = committed
                return (nil, [], core.isMissingOthers)
            }
            core.appendsInFlight -= 1
            let shown = core.take(committed, sequence: sequence, now: now, limits: environment.limits)
            if core.early.isEmpty { return (shown, [], false) }
            return (shown, core.takeFollowers(now: now, limits: environment.limits), core.isMissingOthers)
        }
        if let shown { show(shown, committed.feature) }
        show(followers)
        if mustCatchUp { catchUp() }
        return shown?.commit
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
            follower.done(shown.commit)
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
