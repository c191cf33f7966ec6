/// The operations of a journal that nodes share, for tests with several nodes in one process.
extension MemoryJournal {
    package func mark(of session: SessionKey) -> SessionMark? { read(session) { $0.mark } }

    /// Returns a snapshot of a session.
    package func snapshot(of session: SessionKey) -> MemorySnapshot? {
        shard(of: session).withLock { $0.sessions[session]?.copy() }.map { MemorySnapshot(session: $0) }
    }

    /// Restores a session from a snapshot under another epoch, as a restore or a failover to a lagging standby does.
    package func goBack(_ session: SessionKey, to snapshot: MemorySnapshot, epoch: String) {
        let kept = snapshot.session.copy()
        kept.rename(epoch)
        shard(of: session).withLock { shard in
            guard let present = shard.sessions[session] else { return }
            kept.accessChanges = max(kept.accessChanges, present.accessChanges) + 1
            shard.replace(session, by: kept)
            changeAlarms(of: session, kept, from: present.alarmTimes, to: kept.alarmTimes)
        }
    }

    /// Changes a session's epoch, as after the loss of its last commits.
    package func renewEpoch(of session: SessionKey, to epoch: String) {
        shard(of: session).withLock { $0.sessions[session]?.rename(epoch) }
    }

    package func owner(of session: SessionKey) -> SessionOwner? { read(session) { $0.owner?.owner } }

    /// All sessions with an owner.
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

/// An immutable copy of a session at one moment.
package struct MemorySnapshot {
    fileprivate let session: MemorySession
}
