/// What a journal that several nodes share is asked besides, for tests with such nodes in one process.
extension MemoryJournal {
    package func mark(of session: SessionKey) -> SessionMark? { read(session) { $0.mark } }

    /// A session as it is now, to go back to.
    package func snapshot(of session: SessionKey) -> MemorySnapshot? {
        shard(of: session).withLock { $0.sessions[session]?.copy() }.map { MemorySnapshot(session: $0) }
    }

    /// Makes a session again as it was, under another epoch: as in a restore, or a failover to a standby that lacks commits.
    package func goBack(_ session: SessionKey, to snapshot: MemorySnapshot, epoch: String) {
        let kept = snapshot.session.copy()
        kept.rename(epoch)
        shard(of: session).withLock { shard in
            guard let present = shard.sessions[session] else { return }
            kept.accessChanges = max(kept.accessChanges, present.accessChanges) + 1
            shard.replace(session, by: kept)
            changeAlarms(of: session, kept, from: present.dueTimes, to: kept.dueTimes)
        }
    }

    /// Gives a session's log another name, as where what was committed last is lost.
    package func renewEpoch(of session: SessionKey, to epoch: String) {
        shard(of: session).withLock { $0.sessions[session]?.rename(epoch) }
    }

    package func owner(of session: SessionKey) -> SessionOwner? { read(session) { $0.owner?.owner } }

    /// All sessions that have an owner.
    package var ownedSessions: [OrphanedSession] {
        shards.flatMap { shard in
            shard.withLock { shard in
                shard.sessions.compactMap { key, session in
                    session.owner.map {
                        OrphanedSession(
                            session: key, token: session.record.tokenHash, owner: $0.owner, working: $0.working)
                    }
                }
            }
        }
    }
}

/// A session as it once was. Nobody changes it.
package struct MemorySnapshot {
    fileprivate let session: MemorySession
}
