extension MemoryJournal {
    public func remove(
        _ session: SessionKey, tombstoneUntil: Duration,
        done: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        let isClosed = directory.withLock { $0.isClosed }
        forget(session, tombstoneUntil: tombstoneUntil) { _ in true }
        done(isClosed ? .failure(Self.closed) : .success(()))
    }

    public func expire(
        lastSeenBefore: Duration, now: Duration, tombstoneUntil: Duration, limit: Int,
        done: @escaping @Sendable (Result<Int, JournalFailure>) -> Void
    ) {
        guard let first = directory.withLock({ $0.isClosed ? nil : $0.nextShard }) else {
            return done(.failure(Self.closed))
        }
        while directory.withLock({ $0.forgetTombstones(now: now, limit: 1_000) }) == 1_000 {}
        var count = 0
        for step in 0..<shards.count {
            let index = (first + step) & (shards.count - 1)
            count += expire(lastSeenBefore, in: index, tombstoneUntil: tombstoneUntil, limit: limit - count)
            guard count < limit else {
                // The next call goes on here: walking over shards that are done costs a look at each session.
                directory.withLock { $0.nextShard = index }
                break
            }
        }
        done(.success(count))
    }

    /// Forgets at most `limit` sessions of a shard; says how many.
    private func expire(_ lastSeenBefore: Duration, in shard: Int, tombstoneUntil: Duration, limit: Int) -> Int {
        let candidates = shards[shard].withLock { shard in
            Array(shard.sessions.lazy.filter { $0.value.record.lastSeen < lastSeenBefore }.map(\.key).prefix(limit))
        }
        return candidates.count { key in
            // Asked again: it may have been used in the meantime.
            forget(key, tombstoneUntil: tombstoneUntil) { $0.lastSeen < lastSeenBefore }
        }
    }

    /// Forgets a session if it is there and `condition` holds; says whether it did. Its token's end and its own are one
    /// step for whoever loads it.
    @discardableResult
    private func forget(
        _ key: SessionKey, tombstoneUntil: Duration, if condition: (SessionRecord) -> Bool
    ) -> Bool {
        let session = directory.withLock { directory in
            let session = shard(of: key).withLock { shard -> MemorySession? in
                guard let session = shard.sessions[key], condition(session.record) else { return nil }
                shard.sessions[key] = nil
                return session
            }
            if let session { directory.leave(session.record, tombstoneUntil: tombstoneUntil) }
            return session
        }
        return session != nil
    }
}
