import Locking
import MVI
import SessionJournal

/// Appends of other nodes to sessions that are in memory here.
extension SessionTable {
    /// Listens to the journal if other processes append to it. Called once, before the first request.
    package func listen() {
        environment.sharedJournal?.listen { [weak self] news in self?.hear(news) }
    }

    private func hear(_ news: JournalNews) {
        switch news {
        case .appended(let heads):
            for (key, head) in heads { session(key)?.heard(head) }
        case .changed(let keys):
            for key in keys { session(key)?.catchUp() }
        case .known(let tokens):
            for token in tokens { session(token)?.heardOfIt() }
        case .contended(let key): session(key)?.heardOfContention()
        case .nodes: environment.lease?.heardOfNodes()
        case .interrupted: compareMarks()
        }
    }

    /// Asks the journal for the heads of all sessions that a stream or a waiting request shows, and catches up where
    /// they differ. Called every few seconds, since notifications may be lost.
    package func compareMarks() {
        guard let journal = environment.sharedJournal else { return }
        var kept: [(session: Session, key: SessionKey, mark: SessionMark)] = []
        var unkept: [Session] = []
        for session in sessions {
            switch session.watched {
            case nil: break
            case .kept(let key, let mark)?: kept.append((session, key, mark))
            case .unkept?: unkept.append(session)
            }
        }
        for part in kept.parts(of: Self.sessionsAtOnce) {
            let asked = environment.time.monotonic()
            journal.marks(of: part.map(\.key)) { [environment] result in
                // If this comparison fails, the next one finds the difference.
                guard let marks = try? result.get() else { return }
                let isConfirmed = environment.lease?.confirmsReads == true
                for (session, key, mark) in part {
                    if !session.knows(marks[key], since: mark) {
                        session.catchUp()
                    } else if isConfirmed {
                        session.confirmed(at: asked)
                    }
                }
            }
        }
        for part in unkept.parts(of: Self.sessionsAtOnce) {
            journal.areKnown(part.map(\.tokenHash)) { result in
                guard let known = try? result.get() else { return }
                for session in part where known.contains(session.tokenHash) { session.heardOfIt() }
            }
        }
    }

    /// The number of sessions in one query.
    private static var sessionsAtOnce: Int { 1_000 }

    private func session(_ key: SessionKey) -> Session? {
        environment.index.withLock { $0[key] }.flatMap { session($0) }
    }

    private func session(_ token: TokenHash) -> Session? { shard(token).withLock { $0.sessions[token] } }
}

extension Session {
    /// Handles another node's report that the session has a head.
    fileprivate func heard(_ head: SessionHead) {
        let standing = core.withLock { core in
            let known = core.mark(tokenHash)
            var heard = known
            heard.head = head
            return core.standing(of: heard, since: known)
        }
        // Comparing marks finds another branch with a lower number.
        if standing == .newer { catchUp() }
    }

    /// Handles another node's report that the journal has, or had, the session.
    fileprivate func heardOfIt() {
        if core.withLock({ $0.key == nil && $0.rare?.keepers == nil }) { catchUp() }
    }

    fileprivate enum Watched {
        case kept(SessionKey, SessionMark)
        /// The journal does not have the session, as far as this node knows.
        case unkept
    }

    /// Nil if no stream and no waiting request shows it.
    fileprivate var watched: Watched? {
        core.withLock { core in
            guard core.isLive, !core.isAwaitingCatchUp, core.isWatched else { return nil }
            return core.key.map { .kept($0, core.mark(tokenHash)) } ?? .unkept
        }
    }
}

extension SessionCore {
    /// True if a stream or a waiting request shows it.
    fileprivate var isWatched: Bool { !streams.isEmpty || stores.contains { !$0.waiters.isEmpty } }
}

extension Array {
    fileprivate func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
