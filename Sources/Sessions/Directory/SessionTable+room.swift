import Locking
import SessionJournal

/// Room for one session more where memory has as many as it may: those that are not used leave it, empty ones first, so
/// that making sessions keeps no one out who uses one. What leaves is kept, and comes back when it is asked for.
extension SessionTable {
    /// Takes a place for a session in which nothing has happened yet; false if all sessions are in use.
    func enter() -> Bool { places.enter() || makeRoom() && places.enter() }

    /// Whether such a session would find a place.
    var hasRoom: Bool { places.hasRoom || makeRoom() }

    /// Takes a place for a session that is brought back. It finds one always: only sessions in use go beyond the limit, and
    /// streams and connections have bounds of their own.
    func enterAgain() {
        if !enter() { places.enterBeyondLimit() }
    }

    /// How long it is not tried again when all were in use: looking at all of them takes milliseconds.
    private static let pause: Duration = .milliseconds(100)

    private func makeRoom() -> Bool {
        let now = Moment(environment.time)
        let first = totals.withLock { $0.isFullUntil > now.monotonic ? nil : $0.nextRoom }
        guard let first else { return false }
        for onlyEmpty in [true, false] {
            for index in first..<(first + Self.shardCount)
            where makeRoom(in: shards[index % Self.shardCount], onlyEmpty: onlyEmpty, now: now) {
                totals.withLock { $0.nextRoom = (index + 1) % Self.shardCount }
                return true
            }
        }
        totals.withLock { $0.isFullUntil = now.monotonic + Self.pause }
        return false
    }

    /// An eighth of a shard's unused sessions leave memory, those that were used least recently: so that looking at all
    /// of them is not done for each new one.
    private func makeRoom(in shard: Lock<Shard>, onlyEmpty: Bool, now: Moment) -> Bool {
        let sessions = shard.withLock { Array($0.sessions.values) }
        let unused = sessions.compactMap { session in
            session.unusedSince(onlyEmpty: onlyEmpty).map { (session: session, since: $0) }
        }
        var evicted: [(Session, SessionNote)] = []
        for (session, _) in unused.sorted(by: { $0.since < $1.since }).prefix(max(1, unused.count / 8)) {
            if let note = evict(session, from: shard, now: now, after: .zero) { evicted.append((session, note)) }
        }
        environment.metrics.evictions.increment(by: Int64(evicted.count))
        note(evicted)
        return !evicted.isEmpty
    }
}
