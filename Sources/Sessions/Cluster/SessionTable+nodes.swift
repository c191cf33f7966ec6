import Locking
import MVI
import SessionJournal

/// This node among the others: its lease, the sessions that it owns, and those of lost nodes.
extension SessionTable {
    /// Renews the node's lease and runs the periodic work. Called every second by one caller. Slow work goes on later.
    ///
    /// - Parameter address: the host and port at which other nodes reach this one.
    package func beat(at address: String) {
        guard let lease = environment.lease else { return }
        endWorkIfLeaseIsOver()
        let now = environment.time.monotonic()
        guard lease.beginRenewal(now: now) else { return }
        for session in environment.ownedSessions {
            session.forgetWatchers(now: now)
            session.releaseIfIdle(now: now)
        }
        renew(lease, address)
    }

    /// True if launched work may run here. If several servers share a journal: only after this one has joined, and not
    /// if it has not reached the journal for too long.
    package var mayRunWork: Bool { environment.lease.map { $0.holder != nil } ?? true }

    /// Ends this node's work if its lease is over, and tells the others, which take it over.
    private func endWorkIfLeaseIsOver() {
        guard let lease = environment.lease, let id = lease.end() else { return }
        stopWork()
        removeFormer(id)
    }

    /// Removes the row of an id that this node had, so that others need not wait for its end: now, or with the next join if
    /// the journal does not answer.
    private func removeFormer(_ id: NodeID) {
        environment.sharedJournal?.forget(id, renewals: nil) { [environment] result in
            if case .failure = result { environment.lease?.noteLeft(id) }
        }
    }

    private func stopWork() { for session in environment.ownedSessions { session.stopWork() } }

    private func renew(_ lease: NodeLease, _ address: String) {
        guard let journal = environment.sharedJournal else { return }
        let sent = environment.time.monotonic()
        guard let record = lease.record(address) else {
            if lease.isDraining { return lease.endRenewal() }
            let new = NodeRecord(id: .random(), address: address)
            return journal.join(new) { [self] result in
                guard case .success(let older) = result else { return lease.endRenewal() }
                lease.joined(new.id, sent: sent, older: older)
                for id in lease.takeLeft() { removeFormer(id) }
                renew(lease, address)
            }
        }
        journal.renew(record) { [self] result in
            switch result {
            case .failure: lease.missed()
            case .success(nil):
                // Other nodes declared this node gone and own its sessions now.
                if lease.forgotten() != nil { stopWork() }
            case .success(let renewal?):
                let (silent, hasLost) = lease.renewed(renewal, sent: sent)
                for node in silent {
                    journal.forget(node.id, renewals: node.renewals) { _ in
                        lease.noteOrphans()
                        // A node that knows of its loss may take its sessions over.
                        lease.heardOfNodes()
                    }
                }
                if hasLost { lease.noteOrphans() }
                // The sessions that it took so far go to the node that other nodes reach.
                if let former = lease.leaveToNamesake() {
                    stopWork()
                    removeFormer(former)
                }
            }
            lease.endRenewal()
            if lease.holder != nil, let round = lease.takeOrphanRound() { lookForOrphans(lease, round) }
        }
    }

    /// Takes over the sessions of lost nodes, in rounds until there are none: first this node's share, later also those
    /// that others leave. Failed ones are retried with the next renewal.
    ///
    /// - Parameter tried: the sessions of the previous round.
    private func lookForOrphans(_ lease: NodeLease, _ round: Int, tried: Set<SessionKey> = []) {
        environment.sharedJournal?.orphans(limit: Self.orphansAtOnce) { [self] result in
            guard case .success(let orphans) = result else { return lease.noteOrphans() }
            guard !orphans.isEmpty else { return }
            let (rank, count) = lease.place
            let mine = orphans.filter { Int($0.session.number.magnitude % UInt64(count)) == rank }
            let taken = mine.isEmpty && round > 1 ? orphans : mine
            let keys = Set(taken.map(\.session))
            takeOver(taken) { [self] in
                guard orphans.count == Self.orphansAtOnce, !keys.isSubset(of: tried), lease.holder != nil else {
                    return lease.noteOrphans(round: round + 1)
                }
                lookForOrphans(lease, round, tried: keys)
            }
        }
    }

    private static var orphansAtOnce: Int { 512 }
    /// The number of sessions that are taken over at the same time, so that intents are served meanwhile.
    private static var takenOverAtOnce: Int { 128 }

    /// Takes over sessions, some at a time. Calls `done` when all were tried.
    private func takeOver(_ orphans: [OrphanedSession], done: @escaping @Sendable () -> Void) {
        guard !orphans.isEmpty else { return done() }
        let left = Lock((waiting: orphans[...], open: orphans.count))
        for _ in 0..<min(orphans.count, Self.takenOverAtOnce) { takeOverNext(left, done) }
    }

    private func takeOverNext(
        _ left: Lock<(waiting: ArraySlice<OrphanedSession>, open: Int)>, _ done: @escaping @Sendable () -> Void
    ) {
        guard let orphan = left.withLock({ $0.waiting.popFirst() }) else { return }
        let oneIsDone: @Sendable () -> Void = { [self] in
            let isLast = left.withLock { left in
                left.open -= 1
                return left.open == 0
            }
            if isLast { done() } else { takeOverNext(left, done) }
        }
        find(orphan.token) { found in
            guard let session = found.session else { return oneIsDone() }
            session.takeOver(orphan.working, done: oneIsDone)
        }
    }

    /// Gives the node's sessions away and leaves the cluster. Calls `done` when the other nodes know.
    package func leaveNodes(_ done: @escaping @Sendable () -> Void) {
        guard let lease = environment.lease else { return done() }
        lease.drain()
        stopWork()
        guard let id = lease.forgotten() else { return done() }
        environment.sharedJournal?.forget(id, renewals: nil) { _ in done() }
    }

    // MARK: Watchers

    /// The stores of other nodes' sessions that streams of this node show. Reported to those nodes every few seconds.
    package var watchedElsewhere: [(node: NodeRecord, sessions: [(token: TokenHash, features: [FeatureID])])] {
        guard let lease = environment.lease else { return [] }
        var found: [NodeID: [(token: TokenHash, features: [FeatureID])]] = [:]
        for session in sessions {
            guard let (owner, features) = session.watchedElsewhere else { continue }
            found[owner, default: []].append((session.tokenHash, features))
        }
        return found.compactMap { id, sessions in lease.node(id).map { ($0, sessions) } }
    }

    /// Records the stores of this node's sessions that streams of another node show.
    package func watched(_ sessions: [(token: TokenHash, features: [FeatureID])], by node: NodeID) {
        for (token, features) in sessions {
            shard(token).withLock { $0.sessions[token] }?.watched(features, by: node)
        }
    }

    /// Gives a session away at another node's request. Returns false if this node does not own it.
    package func giveAway(_ token: TokenHash, _ done: @escaping @Sendable (Bool) -> Void) {
        guard let session = shard(token).withLock({ $0.sessions[token] }) else { return done(false) }
        session.giveAway { [environment] isGiven in
            // If the other node does not take it, another living node does.
            if isGiven { environment.lease?.noteOrphans() }
            done(isGiven)
        }
    }
}

extension SessionTable {
    /// Ends a session whose lifetime is over as far as this node knows. If other nodes use it too, it only leaves
    /// memory, and the journal decides.
    ///
    /// - Returns: the lookup of its token or credential; nil if the journal has to be asked.
    func lookUpExpired(_ session: Session, _ credential: Credential? = nil) -> SessionLookup? {
        if session.hasLeft {
            drop(session)
            return nil
        }
        guard environment.sharedJournal != nil else {
            if !session.isEnded { environment.metrics.expired(1) }
            expire(session)
            return .ended
        }
        // Its key may name another session by now, so nothing is removed by key.
        if session.isEnded {
            drop(session)
            return nil
        }
        let shard = shard(session.tokenHash)
        if let known = evict(session, from: shard, now: Moment(environment.time), after: .zero) {
            note([(session, known)])
            return nil
        }
        // It is in use, or it has left already.
        let isThere = shard.withLock { $0.sessions[session.tokenHash] === session }
        return isThere ? session.lookup(credential) : nil
    }

    /// The delay with which the journal may learn that another node used a session.
    func lag(of life: LifeClass) -> Duration {
        environment.sharedJournal == nil ? .zero : Self.delays(environment.limits)[life]
    }

    /// The maximum delay until the journal knows that a session was used.
    static func delays(_ limits: SessionLimits) -> PerLifeClass { limits.touchDelays.map { $1 + .seconds(120) } }
}

/// A node's figures for the server's metrics.
package struct NodeFigures: Sendable {
    /// True if it may run sessions' work now.
    package var holdsLease = false
    /// The number of sessions that it owns.
    package var sessionsOwned = 0
    /// The number of times that its work ended because it had not reached the journal.
    package var leaseExpiries = 0
    /// The number of times that its work ended because others declared it gone.
    package var evictions = 0
    /// The difference of its clock to the journal's, positive if it is ahead. Nil until it is known.
    package var clockDifference: Duration?
    package var journal = JournalFigures()

    package init() {}
}

extension SessionTable {
    /// Nil if the journal is not shared.
    package var nodeFigures: NodeFigures? {
        guard let lease = environment.lease, let journal = environment.sharedJournal else { return nil }
        var figures = NodeFigures()
        figures.holdsLease = lease.holder != nil
        figures.sessionsOwned = environment.ownedSessions.count
        (figures.leaseExpiries, figures.evictions) = lease.losses
        figures.clockDifference = lease.clockDifference
        figures.journal = journal.figures
        return figures
    }
}
