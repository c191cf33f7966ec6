import Locking

/// A journal that keeps everything in memory: nothing of it outlives the process.
///
/// Every method does what it is asked for on the calling thread and calls `done`, where it has one to call, before it
/// returns; `append` always returns its result. Sessions are spread over shards by their key, so that appends to
/// different sessions rarely wait for one another; tokens and ids have one table, which an append never asks.
///
/// Locks are taken in one order: the directory's, then a shard's.
public final class MemoryJournal: Journal {
    /// The sessions of one part of the keys.
    struct Shard {
        var sessions: [SessionKey: MemorySession] = [:]
        var isClosed = false
    }

    static let closed = JournalFailure(.closed, "The journal is closed.")
    static let gone = JournalFailure(.gone, "The session is gone.")

    let directory = Lock(MemoryDirectory())
    /// A power of two of them.
    let shards: [Lock<Shard>]

    /// An empty journal.
    public init() {
        shards = (0..<64).map { _ in Lock(Shard()) }
    }

    public var trouble: JournalFailure? {
        directory.withLock { $0.isClosed } ? Self.closed : nil
    }

    public func create(
        _ session: SessionRecord, done: @escaping @Sendable (Result<SessionKey, JournalFailure>) -> Void
    ) {
        let result: Result<SessionKey, JournalFailure> = directory.withLock { directory in
            directory.enter(session).map { key in
                shard(of: key).withLock { $0.sessions[key] = MemorySession(session) }
                return key
            }
        }
        done(result)
    }

    public func append(
        _ append: JournalAppend, done: @escaping @Sendable (AppendResult) -> Void
    ) -> AppendResult? {
        shard(of: append.session).withLock { shard in
            if let session = shard.sessions[append.session] { return session.append(append) }
            return .failed(shard.isClosed ? Self.closed : Self.gone)
        }
    }

    public func removeStore(
        _ feature: FeatureID, of session: SessionKey, marks: SessionMarks,
        done: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        let result = shard(of: session).withLock { shard -> Result<Void, JournalFailure> in
            if shard.isClosed { return .failure(Self.closed) }
            shard.sessions[session]?.removeStore(feature, marks: marks)
            return .success(())
        }
        done(result)
    }

    public func touch(
        _ touches: [SessionTouch], done: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        for touch in touches {
            let isClosed = shard(of: touch.session).withLock { shard in
                shard.sessions[touch.session]?.note(touch)
                return shard.isClosed
            }
            if isClosed { return done(.failure(Self.closed)) }
        }
        done(directory.withLock { $0.isClosed } ? .failure(Self.closed) : .success(()))
    }

    public func close() async {
        directory.withLock { $0.close() }
        for shard in shards {
            // Freed when the lock is free again: there may be many.
            _ = shard.withLock { shard in
                let sessions = shard.sessions
                shard.sessions = [:]
                shard.isClosed = true
                return sessions
            }
        }
    }

    func shard(of session: SessionKey) -> Lock<Shard> {
        shards[Int(truncatingIfNeeded: session.number) & (shards.count - 1)]
    }
}
