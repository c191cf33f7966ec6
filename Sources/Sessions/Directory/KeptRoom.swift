import DequeModule
import Locking
import Networks
import SessionJournal

/// Makes room for a new session if the journal has the maximum number of sessions. First the network that stored most
/// sessions lately loses its newest ones; a client of that network is refused instead. Then anonymous sessions that
/// were used only once, and not lately, are reclaimed.
final class KeptRoom: Sendable {
    private struct State {
        /// The callbacks that wait for the journal to reclaim sessions; nil if it does not.
        var waiting: [@Sendable (Bool) -> Void]?
        /// The time before which the journal is not asked again, on the monotonic clock, since it found no session.
        var pausedUntil: Duration = .zero
        /// The places of ended sessions, and the times on the monotonic clock at which they are free again.
        var ends: Deque<(until: Duration, place: NetworkPlaces.Place)> = []
    }

    /// The anonymous sessions in memory that this process stored, by the networks of their clients.
    private let latest = NetworkPlaces(.max)
    /// The sessions that ended before they were stored, by the networks of their clients.
    private let ends: NetworkPlaces
    private let state = Lock(State())
    private let journal: any Journal
    private let time: TimeSource
    private let limits: SessionLimits

    init(_ journal: any Journal, _ time: TimeSource, _ limits: SessionLimits) {
        (self.journal, self.time, self.limits) = (journal, time, limits)
        ends = NetworkPlaces(limits.sessions, perNetwork: max(1, limits.sessions / 16))
    }

    /// The number of sessions below which a network does not count as filling the journal.
    private static let many = 64
    /// The number of sessions that a network loses at once.
    private static let handful = 4
    /// The number of sessions that the journal reclaims at once.
    private static let batch = 1_000
    private static let pause: Duration = .seconds(10)

    /// Counts a stored anonymous session as long as the place is held.
    func take(for address: PeerAddress?) -> NetworkPlaces.Place? {
        address.flatMap { try? latest.take(for: $0) }
    }

    /// Returns true if the end of a session that was never stored may be remembered for as long as its token lasts, false
    /// if its network has its share of such ends.
    func takesEnd(from address: PeerAddress?) -> Bool {
        let now = time.monotonic()
        // Released outside the lock, before another place is taken.
        _ = state.withLock { state in
            let count = state.ends.prefix { $0.until <= now }.count
            defer { state.ends.removeFirst(count) }
            return Array(state.ends.prefix(count))
        }
        guard let place = try? ends.take(for: address) else { return false }
        state.withLock { $0.ends.append((now + limits.sessionLife, place)) }
        return true
    }

    /// Stores a new session and makes room for it if there is none.
    ///
    /// - Parameters:
    ///   - generation: the generation of the journal's secret from which the epoch follows; nil if there is none.
    ///   - address: the client's address; nil for a client that is signed in.
    func create(
        _ session: SessionRecord, credential: StoredCredential? = nil, of generation: [UInt8]? = nil,
        from address: PeerAddress?, attempts: Int = 4, _ done: @escaping Done<SessionKey>
    ) {
        let made: Done<SessionKey> = { [self] result in
            guard case .failure(let error) = result, error.code == .tooManySessions, attempts > 0 else {
                return done(result)
            }
            let again: @Sendable (Bool) -> Void = { [self] isWorthIt in
                guard isWorthIt else { return done(result) }
                create(
                    session, credential: credential, of: generation, from: address, attempts: attempts - 1, done)
            }
            let isLast = attempts == 1
            switch latest.giveWay(to: address, above: isLast ? 1 : Self.many, atMost: Self.handful) {
            case .asked: again(true)
            case .ownHasMost: again(false)
            case .nobody: if isLast { again(false) } else { reclaim(again) }
            }
        }
        if let generation, let shared = journal as? any SharedJournal {
            shared.create(session, credential: credential, of: generation, done: made)
        } else {
            journal.create(session, credential: credential, done: made)
        }
    }

    private func reclaim(_ done: @escaping @Sendable (Bool) -> Void) {
        let now = time.monotonic()
        let begins = state.withLock { state -> Bool? in
            if state.pausedUntil > now { return nil }
            defer { state.waiting = (state.waiting ?? []) + [done] }
            return state.waiting == nil
        }
        // Sessions that the journal cannot reclaim may still make room.
        guard let begins else { return done(true) }
        guard begins else { return }
        let sinceEpoch = time.sinceEpoch()
        journal.reclaim(
            // The journal may learn with a delay when a session was last used.
            lastSeenBefore: sinceEpoch - limits.touchDelays.anonymous * 2,
            usedFor: limits.touchDelays.anonymous,
            tombstoneUntil: sinceEpoch + limits.sessionLife, limit: Self.batch
        ) { [self] result in
            let count = (try? result.get()) ?? 0
            let waiting = state.withLock { state in
                if count == 0 { state.pausedUntil = now + Self.pause }
                defer { state.waiting = nil }
                return state.waiting ?? []
            }
            for done in waiting { done(true) }
        }
    }
}

extension Session {
    /// Records the client's address for a session that was brought into memory and is not stored yet.
    package func noteOrigin(_ address: PeerAddress) {
        core.withLock { core in
            if core.key == nil { core.makeRare().origin = address }
        }
    }

    /// Ends an anonymous session to make room for one of another network.
    func giveWay() {
        guard !isSignedIn, let key = core.withLock({ $0.key }) else { return }
        closeAll()
        let until = max(shared.time.sinceEpoch() + shared.limits.tombstoneLife, created + shared.limits.sessionLife)
        shared.journal.remove(key, tombstoneUntil: until) { [self] result in
            // On failure it stays closed, and the sweep tries again.
            if case .success = result { end(.ended) }
        }
    }
}
