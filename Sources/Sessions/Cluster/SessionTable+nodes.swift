import Locking
import MVI
import SessionJournal

/// This node among the others: its lease, the sessions that it owns, and those of nodes that are gone.
extension SessionTable {
    /// Looks after the node: called every second, by one caller. What takes time goes on after it returned.
    ///
    /// - Parameter address: where other nodes reach this one: a host and a port.
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

    /// Whether launched work may run here: where several servers share a journal, not before this one is among them, and not
    /// when it has not reached the journal for too long.
    package var mayRunWork: Bool { environment.lease.map { $0.holder != nil } ?? true }

    /// Work that ran on this node ends, and the others are told: they take it over.
    private func endWorkIfLeaseIsOver() {
        guard let lease = environment.lease, let id = lease.end() else { return }
        stopWork()
        environment.sharedJournal?.forget(id, renewals: nil) { _ in }
    }

    private func stopWork() { for session in environment.ownedSessions { session.stopWork() } }

    private func renew(_ lease: NodeLease, _ address: String) {
        guard let journal = environment.sharedJournal else { return }
        let sent = environment.time.monotonic()
        guard let record = lease.record(address) else {
            if lease.isDraining { return lease.endRenewal() }
            let new = NodeRecord(id: .random(), address: address)
            return journal.join(new) { [self] result in
                guard case .success = result else { return lease.endRenewal() }
                lease.joined(new.id, sent: sent)
                renew(lease, address)
            }
        }
        journal.renew(record) { [self] result in
            switch result {
            case .failure: lease.missed()
            case .success(nil):
                // The others took this node for gone. What it owned is theirs.
                if lease.forgotten() != nil { stopWork() }
            case .success(let renewal?):
                let (silent, hasLost) = lease.renewed(renewal, sent: sent)
                for node in silent {
                    journal.forget(node.id, renewals: node.renewals) { _ in
                        lease.noteOrphans()
                        // Its sessions are free for a node that knows that it is gone.
                        lease.heardOfNodes()
                    }
                }
                if hasLost { lease.noteOrphans() }
            }
            lease.endRenewal()
            if lease.holder != nil, let round = lease.takeOrphanRound() { lookForOrphans(lease, round) }
        }
    }

    /// Takes sessions over whose owners are gone, look after look until there are no more: a share of this node's first, later
    /// also what others leave. What cannot be taken over now is tried again with the next renewal.
    ///
    /// - Parameter tried: the sessions of the look before.
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
    /// How many are brought to life at the same time: intents are served meanwhile.
    private static var takenOverAtOnce: Int { 128 }

    /// Takes sessions over, some at a time; `done` is called when all were tried.
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

    /// Gives the node's sessions away and leaves the others; `done` is called when they know.
    package func leaveNodes(_ done: @escaping @Sendable () -> Void) {
        guard let lease = environment.lease else { return done() }
        lease.drain()
        stopWork()
        guard let id = lease.forgotten() else { return done() }
        environment.sharedJournal?.forget(id, renewals: nil) { _ in done() }
    }

    // MARK: Watchers

    /// What streams of this node show of sessions that other nodes own: to be told to these every few seconds.
    package var watchedElsewhere: [(node: NodeRecord, sessions: [(token: TokenHash, features: [FeatureID])])] {
        guard let lease = environment.lease else { return [] }
        var found: [NodeID: [(token: TokenHash, features: [FeatureID])]] = [:]
        for session in sessions {
            guard let (owner, features) = session.watchedElsewhere else { continue }
            found[owner, default: []].append((session.tokenHash, features))
        }
        return found.compactMap { id, sessions in lease.node(id).map { ($0, sessions) } }
    }

    /// What streams of another node show of sessions that this one owns.
    package func watched(_ sessions: [(token: TokenHash, features: [FeatureID])], by node: NodeID) {
        for (token, features) in sessions {
            shard(token).withLock { $0.sessions[token] }?.watched(features, by: node)
        }
    }

    /// Gives a session away that another node asks for; false if it is not this node's.
    package func giveAway(_ token: TokenHash, _ done: @escaping @Sendable (Bool) -> Void) {
        guard let session = shard(token).withLock({ $0.sessions[token] }) else { return done(false) }
        session.giveAway { [environment] isGiven in
            // Should the other node not take it, one that lives does.
            if isGiven { environment.lease?.noteOrphans() }
            done(isGiven)
        }
    }
}

extension SessionTable {
    /// A session's time is over as far as is known here: it ends. But where other nodes use it too it only leaves memory,
    /// and the journal says whether it lives on.
    ///
    /// - Returns: what its token, or a credential of it, names; nil if the journal is to be asked.
    func over(_ session: Session, _ credential: Credential? = nil) -> SessionLookup? {
        if session.hasLeft {
            drop(session)
            return nil
        }
        guard environment.sharedJournal != nil else {
            if !session.isEnded { environment.metrics.expired(1) }
            expire(session)
            return .ended
        }
        // Its key may name another session by now: nothing is removed by it.
        if session.isEnded {
            drop(session)
            return nil
        }
        let shard = shard(session.tokenHash)
        if let known = evict(session, from: shard, now: Moment(environment.time), after: .zero) {
            note([(session, known)])
            return nil
        }
        // Something of it is in use, or it has left already.
        let isThere = shard.withLock { $0.sessions[session.tokenHash] === session }
        return isThere ? session.lookup(credential) : nil
    }

    /// How much later than it was the journal may know that a session was used on another node.
    var lag: Duration { environment.sharedJournal == nil ? .zero : Self.delay(environment.limits) }

    /// How long it takes at most until the journal knows that a session was used.
    static func delay(_ limits: SessionLimits) -> Duration { limits.touchDelay + .seconds(120) }
}

/// The figures of a node among the others, for a server's metrics.
package struct NodeFigures: Sendable {
    /// Whether it may run sessions' work now.
    package var holdsLease = false
    /// Sessions that it owns.
    package var sessionsOwned = 0
    /// The number of times that its work ended since it had not reached the journal.
    package var leaseExpiries = 0
    /// The number of times that its work ended since others took it for gone.
    package var evictions = 0
    /// The difference of its clock to the journal's, positive if it is ahead; nil as long as it is not known.
    package var clockDifference: Duration?
    package var journal = JournalFigures()

    package init() {}
}

extension SessionTable {
    /// Nil where the journal is not shared.
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
