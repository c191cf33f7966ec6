/// What a journal that several nodes share is asked besides, for tests with such nodes in one process.
extension MemoryJournal {
    package func mark(of session: SessionKey) -> SessionMark? { read(session) { $0.mark } }

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
