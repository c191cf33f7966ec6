import Synchronization

/// Sessions by their token, in shards to reduce contention.
final class SessionTable: Sendable {
    private final class Shard: Sendable {
        let sessions = Mutex<[String: Session]>([:])
    }

    private let shards = (0..<16).map { _ in Shard() }

    private func shard(_ token: String) -> Shard { shards[Int(token.utf8.last ?? 0) & 15] }

    func insert(_ session: Session) {
        shard(session.token).sessions.withLock { $0[session.token] = session }
    }

    subscript(token: String) -> Session? {
        shard(token).sessions.withLock { $0[token] }
    }

    var all: [Session] { shards.flatMap { $0.sessions.withLock { Array($0.values) } } }
}
