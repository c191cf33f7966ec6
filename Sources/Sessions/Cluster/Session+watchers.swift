import Locking
import MVI
import SessionJournal

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
        for store in began { store.scope.beginWatching(on: store) }
        for store in ended { store.scope.endWatching() }
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
        for store in ended { store.scope.endWatching() }
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
        let (key, count) = core.withLock { ($0.key, $0.streams.count) }
        // One that is not kept has no state, and streams on each node by itself.
        guard let key else { return done(.success(true)) }
        journal.noteStreams(count, of: key, on: node, limit: limit, done: done)
    }
}
