import Locking
import MVI
import SessionJournal

extension Session {
    /// Finds out whether another node appended something that is not known here.
    func hasMoved(_ done: @escaping Done<Bool>) {
        guard let journal = shared.sharedJournal else { return done(.success(false)) }
        let asked = shared.time.monotonic()
        guard let key = core.withLock({ $0.key }) else {
            return journal.areKnown([tokenHash]) { [self] result in
                done(judge(result.map { $0.contains(tokenHash) }, asked: asked))
            }
        }
        journal.marks(of: [key]) { [self] result in
            let mark = core.withLock { $0.mark(tokenHash) }
            done(judge(result.map { $0[key] != mark }, asked: asked))
        }
    }

    /// That nothing was changed counts only where this node's commits are answered: see `NodeLease.confirmsReads`.
    private func judge(_ hasMoved: Result<Bool, StoreError>, asked: Duration) -> Result<Bool, StoreError> {
        noteAnswer(hasMoved)
        guard case .success(false) = hasMoved else { return hasMoved }
        guard shared.lease?.confirmsReads != false else { return .failure(.unconfirmedJournal) }
        confirmed(at: asked)
        return hasMoved
    }

    /// The journal is there, even if it is slow.
    private func noteAnswer<Value>(_ result: Result<Value, StoreError>) {
        if case .failure(let error) = result, error.code != .inDoubt { return }
        let now = shared.time.monotonic()
        shared.lastAnswer.withLock { $0 = now }
    }

    /// The same for a request that only reads: a journal that has been silent to all for two seconds counts as one that cannot
    /// be reached. One that answers others is waited for: what is known here may be old.
    func hasMovedSoon(_ done: @escaping Done<Bool>) {
        guard shared.sharedJournal != nil else { return done(.success(false)) }
        let answer = Lock<Result<Bool, StoreError>>(.failure(.silentJournal))
        let wait = Wait(number: 0) { _ in done(answer.withLock { $0 }) }
        hasMoved { result in
            answer.withLock { $0 = result }
            wait.end(true)
        }
        wait.start(
            Task(executorPreference: shared.executor) { [shared] in
                var waited = Duration.zero
                repeat {
                    // Cancelled if the answer comes first.
                    guard (try? await shared.clock.sleep(for: Self.patience)) != nil else { return }
                    waited += Self.patience
                } while waited < Self.longestPatience
                    && shared.time.monotonic() - shared.lastAnswer.withLock { $0 } < Self.patience
                wait.end(false)
            })
    }

    /// How long readers wait for a journal that is silent, and for one that is slow.
    private static var patience: Duration { .seconds(2) }
    private static var longestPatience: Duration { .seconds(10) }

    /// No other node had changed it when that was asked.
    func confirmed(at asked: Duration) { core.withLock { $0.confirmed = max($0.confirmed, asked) } }

    /// For how long it was not asked whether other nodes changed the session.
    func timeUnconfirmed(now: Duration) -> Duration { core.withLock { now - $0.confirmed } }

    /// Calls `then` when what other nodes appended before this call is known here: before this returns where no other process
    /// appends, else after a query, on another thread. A client that was answered by one node finds no less on another.
    ///
    /// Where the journal cannot be asked, what is known here has to do.
    func confirm(then: @escaping @Sendable () -> Void) {
        hasMovedSoon { [self] result in
            if case .success(true) = result { catchUp(then) } else { then() }
        }
    }
}

extension SessionTable {
    /// After how long it is asked again whether another node ended a session, or revoked a credential of it, and for how long
    /// what is known has to do where the journal does not answer.
    static var confirmation: Duration { .seconds(5) }
    private static var longestTrust: Duration { .seconds(60) }

    /// Whether the journal answers and takes no commits: others may go on with one that has replaced it.
    private var isReplaced: Bool {
        let silence = environment.time.monotonic() - environment.lastAnswer.withLock { $0 }
        return environment.lease?.confirmsReads == false && silence < Self.confirmation
    }

    /// What a token names, if that is still so for all nodes.
    func confirm(
        _ found: SessionLookup, _ token: SessionToken, _ completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        guard environment.lease != nil, let session = found.session else { return completion(found) }
        let age = session.timeUnconfirmed(now: environment.time.monotonic())
        guard age >= Self.confirmation else { return completion(found) }
        session.hasMovedSoon { [self] result in
            switch result {
            case .success(false): completion(found)
            case .success(true): session.catchUp { [self] in find(token.hash, token, for: .client, completion) }
            case .failure(let error):
                completion(age < Self.longestTrust && !isReplaced ? found : .failed(error))
            }
        }
    }
}

extension StoreError {
    fileprivate static let silentJournal = StoreError(
        .unavailable, "What sessions are kept in does not answer.", retryAfter: .seconds(2))
    fileprivate static let unconfirmedJournal = StoreError(
        .unavailable,
        "What sessions are kept in answers, but has kept nothing for some seconds: it may be out of date.",
        retryAfter: .seconds(2))
}

/// Stores of a session that streams of other nodes show: work for watchers runs on the owner's node.
extension Session {
    /// How long another node's word is good; it is given again every few seconds.
    static let watcherLife: Duration = .seconds(15)

    /// A node has streams open that show these stores, and no others of the session.
    func watched(_ features: [FeatureID], by node: NodeID) {
        let until = shared.time.monotonic() + Self.watcherLife
        let missing = core.withLock { core in
            features.filter { core.stores[$0]?.store == nil && core.stores.index(of: $0) != nil }
        }
        guard missing.isEmpty else {
            return open(.features(missing)) { [self] _ in note(features, by: node, until: until) }
        }
        note(features, by: node, until: until)
    }

    private func note(_ features: [FeatureID], by node: NodeID, until: Duration) {
        let (began, ended) = core.withLock { core -> ([SessionStore], [SessionStore]) in
            // Another node hears of it, or will.
            guard core.isLive, core.ownsWork else { return ([], []) }
            let before = core.ownership.watchers[node]?.stores ?? [:]
            var stores: [FeatureID: SessionStore] = [:]
            for feature in features { stores[feature] = core.stores[feature]?.store }
            core.ownership.watchers[node] = stores.isEmpty ? nil : (until, stores)
            let isOld = { (feature: FeatureID) in before[feature].map { $0 === stores[feature] } == true }
            return (
                stores.filter { !isOld($0.key) }.map(\.value), before.filter { !isOld($0.key) }.map(\.value)
            )
        }
        for store in began { store.beginWatching() }
        for store in ended { store.endWatching() }
        if !began.isEmpty { lookAfterWork() }
    }

    /// Forgets what other nodes said: the session's work runs here no more.
    func forgetWatchers() { forgetWatchers(now: nil) }

    /// Forgets nodes that say nothing any more, or all.
    func forgetWatchers(now: Duration?) {
        let ended = core.withLock { core -> [SessionStore] in
            guard core.keptOwnership != nil else { return [] }
            let over = core.ownership.watchers.filter { watcher in now.map { watcher.value.until <= $0 } ?? true }
            for node in over.keys { core.ownership.watchers[node] = nil }
            return over.values.flatMap(\.stores.values)
        }
        for store in ended { store.endWatching() }
    }

    /// The stores that streams of this node show, if another node owns the session.
    var watchedElsewhere: (owner: NodeID, features: [FeatureID])? {
        core.withLock { core in
            guard core.isLive, core.isElsewhere, let owner = core.ownership.owner, !core.streams.isEmpty else {
                return nil
            }
            return (owner.node, core.stores.map(\.feature).filter { core.streams.isShown($0) })
        }
    }
}

/// How many streams a session has on all nodes together. The journal judges.
extension Session {
    /// Notes that a stream was opened; `done` is told whether there may be so many. Where the journal does not answer, there
    /// may.
    func noteStreamOpened(_ done: @escaping @Sendable (Bool) -> Void) {
        let limit = Self.streamsAtOnce * shared.limits.streamsPerSession
        noteStreams(limit: limit) { done((try? $0.get()) ?? true) }
    }

    /// Notes that a stream was closed.
    func noteStreamClosed() { noteStreams(limit: nil) { _ in } }

    private func noteStreams(limit: Int?, _ done: @escaping Done<Bool>) {
        guard let journal = shared.sharedJournal, let node = shared.lease?.id else { return done(.success(true)) }
        let (key, count) = core.withLock { ($0.key, $0.streams.all.count) }
        // One that is not kept has no state, and streams on each node by itself.
        guard let key else { return done(.success(true)) }
        journal.noteStreams(count, of: key, on: node, limit: limit, done: done)
    }
}
