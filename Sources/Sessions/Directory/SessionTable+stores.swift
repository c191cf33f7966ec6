import Locking
import MVI
import SessionJournal

/// A search through the stored spaces and sessions of subjects for stores whose lifetime is over, once a day.
struct StoreSearch {
    /// The last session that was looked at.
    var last = SessionKey(.min)
    /// The time of the next page, on the monotonic clock.
    var next: Duration = .zero
    var isUnderWay = false
}

/// The end of stores whose lifetime is over, see `Life`. A session in use disposes of them when they are needed; this
/// finds the others, in pages that delay nobody.
extension SessionTable {
    private static var page: Int { 500 }
    private static var interval: Duration { .seconds(24 * 3600) }

    func searchStores(now: Moment) {
        let mortal = environment.features.mortal
        guard !mortal.isEmpty, isNodesTurn(now) else { return }
        let last = totals.withLock { totals -> SessionKey? in
            guard !totals.search.isUnderWay, now.monotonic >= totals.search.next else { return nil }
            totals.search.isUnderWay = true
            return totals.search.last
        }
        guard let last else { return }
        // The journal learns of the last use with a delay.
        let time = lifeTime(now) - SessionLimits.storeTouchDelay
        if last == SessionKey(.min) { searchSpaces(mortal, before: time) }
        let queries = mortal.map { feature in
            StoreQuery(name: feature.name, lastSeenBefore: time - (feature.storeLife ?? SessionLimits.forever))
        }
        environment.journal.findStores(queries, ofSubjects: true, after: last, limit: Self.page) { [self] result in
            guard case .success(let page) = result else {
                return totals.withLock { $0.search.isUnderWay = false }
            }
            let isDone = countdown(from: page.sessions.count + 1) { [self] in
                totals.withLock { totals in
                    totals.search = StoreSearch(
                        last: page.last ?? SessionKey(.min),
                        next: page.last == nil ? now.monotonic + Self.interval : now.monotonic)
                }
            }
            for token in page.sessions {
                find(token, for: .look) { found in
                    guard let session = found.session, !session.isEnded, session.fault == nil else { return isDone() }
                    session.disposePastLife(isDone)
                }
            }
            isDone()
        }
    }
}

/// The same for spaces. One that was used since, for another feature of its group, is looked at while it is in memory.
extension SessionTable {
    private func searchSpaces(_ mortal: [FeatureDefinition], before time: Duration) {
        for space in sessions where space.space != nil && space.fault == nil { space.disposePastLife {} }
        let lives = mortal.compactMap { feature in
            feature.spaces.map { ($0, feature.storeLife ?? SessionLimits.forever) }
        }
        let groups = Dictionary(lives, uniquingKeysWith: min).map { (group: $0, lastSeenBefore: time - $1) }
        searchSpaces(groups[...], after: nil)
    }

    private func searchSpaces(
        _ groups: ArraySlice<(group: SpaceGroup, lastSeenBefore: Duration)>, after last: SpaceName?
    ) {
        guard let (group, time) = groups.first else { return }
        let query: SessionQuery? =
            group.isKeyed ? .spaces(group: group.name, after: last) : group.space(of: nil).map { .space($0) }
        guard let query else { return searchSpaces(groups.dropFirst(), after: nil) }
        environment.journal.find(query, limit: Self.page) { [self] result in
            // The next search finds the rest.
            guard case .success(let page) = result else { return }
            let next = group.isKeyed && page.count == Self.page ? page.last?.space : nil
            let isDone = countdown(from: page.count + 1) { [self] in
                searchSpaces(next == nil ? groups.dropFirst() : groups, after: next)
            }
            for record in page {
                guard record.lastSeen < time else {
                    isDone()
                    continue
                }
                find(record.tokenHash, for: .look) { found in
                    guard case .live(let space, _) = found else { return isDone() }
                    space.disposePastLife(isDone)
                }
            }
            isDone()
        }
    }
}

extension SessionTable {
    /// Disposes of an instance's stores in all sessions. Returns the number of sessions that had one.
    package func dispose(of feature: FeatureID) async throws(StoreError) -> Int {
        var (count, last) = (0, SessionKey(.min))
        while true {
            let after = last
            let page = try await awaitResult {
                environment.journal.findStores(
                    [StoreQuery(feature)], ofSubjects: false, after: after, limit: Self.page, done: $0)
            }.get()
            for token in page.sessions {
                let lookup = await awaitResult { find(token, for: .look, $0) }
                if case .failed(let error) = lookup { throw error }
                guard let session = lookup.session, session.fault == nil else { continue }
                let isDisposed = await whereOwned(session) { session.disposeOfStore(feature, $0) }
                switch isDisposed {
                case .success(true): count += 1
                case .success(false): break
                case .failure(let error) where error.code == .gone: break
                case .failure(let error): throw error
                }
            }
            guard let next = page.last else { return count }
            last = next
        }
    }
}

extension Session {
    /// Disposes of a store on behalf of the server itself.
    fileprivate func disposeOfStore(_ feature: FeatureID, _ done: @escaping Done<Bool>) {
        enqueue(.server, unless: { [self] in mayRun ? nil : .elsewhere(.elsewhere) }, done: done) {
            $0.dispose(of: feature)
        }
    }

    /// Disposes of the stores whose lifetime is over, in one turn. Calls `done` after the commit or a failure; a later
    /// search finds what is left.
    fileprivate func disposePastLife(_ done: @escaping @Sendable () -> Void) {
        let lives = lives
        guard core.withLock({ core in core.stores.indices.contains { core.isPastLife(at: $0, lives) } }) else {
            return done()
        }
        enqueue(.server, unless: { [self] in mayRun ? nil : .elsewhere(.elsewhere) }, done: { _ in done() }) { core in
            let past = core.stores.indices.filter { core.isPastLife(at: $0, lives) }.map { core.stores[$0].feature }
            return past.count { core.batch.index(of: $0) == nil && core.dispose(of: $0) } > 0
        }
    }
}
