extension MemoryJournal {
    public func load(
        _ token: TokenHash, now: Duration, done: @escaping @Sendable (Result<SessionLoad, JournalFailure>) -> Void
    ) {
        done(stored(token, now: now))
    }

    public func loadStores(
        _ features: [FeatureID], of session: SessionKey,
        done: @escaping @Sendable (Result<[StoredStore], JournalFailure>) -> Void
    ) {
        let result = shard(of: session).withLock { shard -> Result<[StoredStore], JournalFailure> in
            if shard.isClosed { return .failure(Self.closed) }
            guard let session = shard.sessions[session] else { return .success([]) }
            return .success(session.stores.filter { features.contains($0.summary.feature) })
        }
        done(result)
    }

    public func export(
        _ id: String, done: @escaping @Sendable (Result<SessionExport?, JournalFailure>) -> Void
    ) {
        while true {
            let (isClosed, key) = directory.withLock { ($0.isClosed, $0.key(ofID: id)) }
            if isClosed { return done(.failure(Self.closed)) }
            guard let key else { return done(.success(nil)) }
            if let export = read(key, { $0.exported(key) }) { return done(.success(export)) }
        }
    }

    private func stored(_ token: TokenHash, now: Duration) -> Result<SessionLoad, JournalFailure> {
        while true {
            let (isClosed, entry) = directory.withLock { ($0.isClosed, $0.lookUp(token, now: now)) }
            if isClosed { return .failure(Self.closed) }
            switch entry {
            case .session(let key):
                if let session = read(key, { $0.stored(key) }) { return .success(.found(session)) }
            case .tombstone: return .success(.ended)
            case .nothing: return .success(.unknown)
            }
        }
    }

    /// What `body` makes of a session; nil if it is gone. Then the directory was changed with it, and another look there
    /// tells what is so now; its lock is not held while a session is copied.
    private func read<Value>(_ key: SessionKey, _ body: (MemorySession) -> Value) -> Value? {
        shard(of: key).withLock { shard in shard.sessions[key].map(body) }
    }
}
