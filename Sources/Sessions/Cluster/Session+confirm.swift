import Locking
import MVI
import SessionJournal

extension Session {
    /// Asks the journal whether another node appended turns that are not known here.
    func hasMoved(_ done: @escaping Done<Bool>) {
        guard let journal = shared.sharedJournal else { return done(.success(false)) }
        let asked = shared.time.monotonic()
        let (kept, begun) = core.withLock { ($0.key, $0.mark(tokenHash)) }
        guard let key = kept else {
            return journal.areKnown([tokenHash]) { [self] result in
                done(judge(result.map { $0.contains(tokenHash) }, asked: asked))
            }
        }
        journal.marks(of: [key]) { [self] result in
            done(judge(result.map { !knows($0[key], since: begun) }, asked: asked))
        }
    }

    /// Accepts "nothing has changed" only if this node's commits are answered: see `NodeLease.confirmsReads`.
    private func judge(_ hasMoved: Result<Bool, StoreError>, asked: Duration) -> Result<Bool, StoreError> {
        noteAnswer(hasMoved)
        guard case .success(false) = hasMoved else { return hasMoved }
        guard shared.lease?.confirmsReads != false else { return .failure(.unconfirmedJournal) }
        confirmed(at: asked)
        return hasMoved
    }

    /// Notes that the journal is reachable, even if it is slow.
    private func noteAnswer<Value>(_ result: Result<Value, StoreError>) {
        if case .failure(let error) = result, error.code != .inDoubt { return }
        let now = shared.time.monotonic()
        shared.lastAnswer.withLock { $0 = now }
    }

    /// The same for a request that only reads. A journal counts as unreachable after two seconds without any answer.
    /// The request waits for one that answers others, since the data in memory may be old.
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
                    // Canceled if the answer comes first.
                    guard (try? await shared.clock.sleep(for: Self.patience)) != nil else { return }
                    waited += Self.patience
                } while waited < Self.longestPatience
                    && shared.time.monotonic() - shared.lastAnswer.withLock { $0 } < Self.patience
                wait.end(false)
            })
    }

    /// The time for which readers wait for a silent or slow journal.
    private static var patience: Duration { .seconds(2) }
    private static var longestPatience: Duration { .seconds(10) }

    /// Notes that no other node had changed the session at that time.
    func confirmed(at asked: Duration) { core.withLock { $0.confirmed = max($0.confirmed, asked) } }

    /// The time since the journal last confirmed that other nodes have not changed the session.
    func timeUnconfirmed(now: Duration) -> Duration { core.withLock { now - $0.confirmed } }

    /// Calls `then` when all earlier appends of other nodes are applied here: before this returns if no other process
    /// appends, otherwise after a query, on another thread. So a client sees the same on every node.
    ///
    /// Without an answer of the journal, the data in memory is used, and `isConfirmed` is false.
    func confirm(then: @escaping @Sendable (_ isConfirmed: Bool) -> Void) {
        let asked = shared.time.monotonic()
        hasMovedSoon { [self] result in
            switch result {
            case .success(false): then(true)
            case .success(true): catchUp { [self] in then(core.withLock { $0.confirmed >= asked }) }
            case .failure: then(false)
            }
        }
    }
}

extension SessionTable {
    /// The time after which the journal is asked again whether another node ended a session or revoked a credential.
    /// Without an answer, the data in memory is used for that long.
    static var confirmation: Duration { .seconds(5) }
    private static var longestTrust: Duration { .seconds(60) }

    /// True if the journal answers but commits nothing: other nodes may use a database that has replaced it.
    private var isReplaced: Bool {
        let silence = environment.time.monotonic() - environment.lastAnswer.withLock { $0 }
        return environment.lease?.confirmsReads == false && silence < Self.confirmation
    }

    /// Returns the session of a token if the lookup still holds on all nodes.
    func confirm(
        _ found: SessionLookup, _ token: SessionToken, _ completion: @escaping @Sendable (SessionLookup) -> Void
    ) {
        guard environment.lease != nil, let session = found.session else { return completion(found) }
        // The client may have used another node.
        if found.isUnused { return session.catchUp { completion(found) } }
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
        .unavailable, "The journal does not answer.", retryAfter: .seconds(2))
    fileprivate static let unconfirmedJournal = StoreError(
        .unavailable,
        "The journal answers but has committed nothing for some seconds: it may be out of date.",
        retryAfter: .seconds(2))
}

/// Stores that streams of other nodes show. Work for watchers runs on the owner's node.
extension Session {
    /// The time for which another node's report is valid. It is repeated every few seconds.
    static let watcherLife: Duration = .seconds(15)

    /// Records the stores of the session that streams of another node show.
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
            // Another node is told, now or later.
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

    /// Discards the reports of other nodes, since the session's work no longer runs here.
    func forgetWatchers() { forgetWatchers(now: nil) }

    /// Discards the reports of nodes that have stopped reporting, or of all nodes.
    func forgetWatchers(now: Duration?) {
        let ended = core.withLock { core -> [SessionStore] in
            guard core.keptOwnership != nil else { return [] }
            let over = core.ownership.watchers.filter { watcher in now.map { watcher.value.until <= $0 } ?? true }
            for node in over.keys { core.ownership.watchers[node] = nil }
            return over.values.flatMap(\.stores.values)
        }
        for store in ended { store.endWatching() }
    }

    /// The stores that streams of this node show if another node owns the session.
    var watchedElsewhere: (owner: NodeID, features: [FeatureID])? {
        core.withLock { core in
            guard core.isLive, core.isElsewhere, let owner = core.ownership.owner, !core.streams.isEmpty else {
                return nil
            }
            return (owner.node, core.stores.map(\.feature).filter { core.streams.isShown($0) })
        }
    }
}

/// The number of a session's streams on all nodes together. The journal enforces the limit.
extension Session {
    /// Notes that a stream was opened. `done` receives whether the limit allows it; true if the journal does not
    /// answer.
    func noteStreamOpened(_ done: @escaping @Sendable (Bool) -> Void) {
        let limit = Self.streamsAtOnce * shared.limits.streamsPerSession
        noteStreams(limit: limit) { done((try? $0.get()) ?? true) }
    }

    func noteStreamClosed() { noteStreams(limit: nil) { _ in } }

    private func noteStreams(limit: Int?, _ done: @escaping Done<Bool>) {
        // Streams of a space are counted in the sessions of their clients.
        guard space == nil, let journal = shared.sharedJournal, let node = shared.lease?.id else {
            return done(.success(true))
        }
        let (key, count) = core.withLock { ($0.key, $0.streams.all.count) }
        // A session that is not in the journal has no state; each node counts its streams alone.
        guard let key else { return done(.success(true)) }
        journal.noteStreams(count, of: key, on: node, limit: limit, done: done)
    }
}
