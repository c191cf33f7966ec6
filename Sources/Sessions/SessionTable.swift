import DequeModule
import EventStream
import SessionJournal
import Locking

/// What a token names.
public enum SessionLookup: Sendable {
    /// A session.
    case live(Session)
    /// A session that was deleted or has expired not long ago.
    case ended
    /// Nothing.
    case unknown
}

/// A server's sessions, by the hash of their token.
///
/// All methods may be called from any thread.
public final class SessionTable: Sendable {
    /// What all the sessions share.
    public let environment: SessionEnvironment

    private struct Shard {
        var sessions: [TokenHash: Session] = [:]
        /// Each session once, in the order in which they are to be looked at for expiry.
        var checks: Deque<(hash: TokenHash, at: Duration)> = []
        /// Ended sessions and when to forget them.
        var tombstones: [TokenHash: Duration] = [:]
        var tombstoneOrder: Deque<(hash: TokenHash, until: Duration)> = []
    }

    private struct Totals {
        var sessions = 0
        var isDraining = false
        /// The shard whose sessions the next sweep goes through.
        var nextShard = 0
    }

    private static let shardCount = 64
    private let shards: [Lock<Shard>]
    private let totals = Lock(Totals())

    /// An empty table.
    public init(environment: SessionEnvironment) {
        self.environment = environment
        shards = (0..<Self.shardCount).map { _ in Lock(Shard()) }
    }

    /// How many sessions there are.
    public var count: Int { totals.withLock { $0.sessions } }

    /// How many notes it holds about sessions that are gone or to be looked at: bounded, whatever clients do.
    public var traceCount: Int {
        shards.reduce(0) { count, lock in
            count + lock.withLock { $0.checks.count + $0.tombstones.count + $0.tombstoneOrder.count }
        }
    }

    /// Whether `drain` was called: no new stream should begin.
    public var isDraining: Bool { totals.withLock { $0.isDraining } }

    /// Makes a session and its token; nil when there are as many as there may be.
    public func create(_ credential: Session.Credential) -> (session: Session, token: SessionToken)? {
        let hasPlace = totals.withLock { totals in
            guard totals.sessions < environment.limits.sessions else { return false }
            totals.sessions += 1
            return true
        }
        guard hasPlace else { return nil }
        let token = SessionToken.random()
        let hash = token.hash
        let session = Session(
            id: Epoch.random(), epoch: Epoch.random(), credential: credential, tokenHash: hash,
            environment: environment)
        let check = environment.time.monotonic() + environment.limits.sessionLife
        shard(hash).withLock { shard in
            shard.sessions[hash] = session
            shard.checks.append((hash, check))
        }
        return (session, token)
    }

    /// What a token names. A live session is touched: it lives on from now.
    public func lookup(_ token: SessionToken) -> SessionLookup {
        let hash = token.hash
        let now = environment.time.monotonic()
        let found = shard(hash).withLock { shard in
            shard.sessions[hash].map { SessionLookup.live($0) }
                ?? ((shard.tombstones[hash] ?? .zero) > now ? .ended : .unknown)
        }
        guard case .live(let session) = found else { return found }
        if session.timeLeft(now: now) <= .zero {
            end(session, .expired)
            return .ended
        }
        session.touch()
        return found
    }

    /// Ends a session and remembers for a while that it was there.
    public func end(_ session: Session, _ reason: GoAwayReason) {
        let hash = session.tokenHash
        let until = environment.time.monotonic() + environment.limits.tombstoneLife
        let bound = max(1, environment.limits.sessions / Self.shardCount)
        let isRemoved = shard(hash).withLock { shard in
            guard shard.sessions.removeValue(forKey: hash) != nil else { return false }
            // Sessions that end before their time leave their check behind; it must not outgrow what it checks.
            if shard.checks.count > 2 * shard.sessions.count + 64 {
                shard.checks.removeAll { shard.sessions[$0.hash] == nil }
            }
            shard.tombstones[hash] = until
            shard.tombstoneOrder.append((hash, until))
            if shard.tombstoneOrder.count > bound {
                shard.tombstones[shard.tombstoneOrder.removeFirst().hash] = nil
            }
            return true
        }
        guard isRemoved else { return }
        totals.withLock { $0.sessions -= 1 }
        session.end(reason)
    }

    /// Ends the sessions whose time is over, a bounded number a call, and forgets old tombstones: called every few
    /// seconds, it keeps up without ever holding anything up for long. Each call also goes through one part of the sessions and
    /// gives back the memory of their labels whose time is over.
    public func sweep(limit: Int = 1_000) {
        let now = environment.time.monotonic()
        forgetExpiredLabels(now: now)
        for lock in shards {
            var due: [Session] = []
            lock.withLock { shard in
                var steps = limit / Self.shardCount + 1
                while steps > 0, let next = shard.checks.first, next.at <= now {
                    steps -= 1
                    shard.checks.removeFirst()
                    if let session = shard.sessions[next.hash] { due.append(session) }
                }
                while let oldest = shard.tombstoneOrder.first, oldest.until <= now {
                    shard.tombstoneOrder.removeFirst()
                    shard.tombstones[oldest.hash] = nil
                }
            }
            for session in due {
                let left = session.timeLeft(now: now)
                if left <= .zero {
                    end(session, .expired)
                } else {
                    lock.withLock { shard in
                        if shard.sessions[session.tokenHash] != nil {
                            shard.checks.append((session.tokenHash, now + left))
                        }
                    }
                }
            }
        }
    }

    /// How many labels are kept, in all sessions.
    public var labelCount: Int {
        shards.reduce(0) { count, lock in
            count + lock.withLock { Array($0.sessions.values) }.reduce(0) { $0 + $1.labelCount }
        }
    }

    private func forgetExpiredLabels(now: Duration) {
        let next = totals.withLock { totals in
            defer { totals.nextShard = (totals.nextShard + 1) % Self.shardCount }
            return totals.nextShard
        }
        for session in shards[next].withLock({ Array($0.sessions.values) }) { session.forgetExpiredLabels(now: now) }
    }

    /// Tells every stream that the server goes away, and answers every request that waits.
    public func drain() {
        totals.withLock { $0.isDraining = true }
        for shard in shards {
            let sessions = shard.withLock { Array($0.sessions.values) }
            for session in sessions { session.drain() }
        }
    }

    private func shard(_ hash: TokenHash) -> Lock<Shard> { shards[hash.shard % Self.shardCount] }
}
