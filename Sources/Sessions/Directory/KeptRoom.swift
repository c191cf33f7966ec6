import Locking
import Networks
import SessionJournal

/// Room for one session more where as many are kept as may be. First the network that has kept most sessions lately gives
/// some up, its newest; a client of that network itself is refused. Then anonymous sessions that were used once, and not
/// lately, are reclaimed.
final class KeptRoom: Sendable {
    private struct State {
        /// Who waits for the journal to reclaim sessions; nil if it does not.
        var waiting: [@Sendable (Bool) -> Void]?
        /// When it is worth trying again, on the monotonic clock: the journal found none.
        var pausedUntil: Duration = .zero
    }

    /// The anonymous sessions that this process has kept and that are in memory, by the networks of their clients.
    private let latest = NetworkPlaces(.max)
    private let state = Lock(State())
    private let journal: any Journal
    private let time: TimeSource
    private let limits: SessionLimits

    init(_ journal: any Journal, _ time: TimeSource, _ limits: SessionLimits) {
        (self.journal, self.time, self.limits) = (journal, time, limits)
    }

    /// A network with fewer is not the one that fills the journal.
    private static let many = 64
    /// Sessions that a network gives up at once.
    private static let handful = 4
    /// Sessions that the journal reclaims at once.
    private static let batch = 1_000
    private static let pause: Duration = .seconds(10)

    /// Counts an anonymous session that was kept, as long as the place is held.
    func take(for address: PeerAddress?) -> NetworkPlaces.Place? {
        address.flatMap { try? latest.take(for: $0) }
    }

    /// Keeps a new session, and makes room for it where there is none.
    ///
    /// - Parameters:
    ///   - generation: that of the journal's secret from which its epoch follows; nil if it follows from nothing.
    ///   - address: that of the client; nil for one that is signed in.
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
        // Others than those that the journal can reclaim may give way still.
        guard let begins else { return done(true) }
        guard begins else { return }
        let sinceEpoch = time.sinceEpoch()
        journal.reclaim(
            // The journal may be behind by the delay with when a session was last used.
            lastSeenBefore: sinceEpoch - limits.touchDelay * 2, usedFor: limits.touchDelay,
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
    /// Notes where the client is that brought a session into memory which is not kept yet.
    package func noteOrigin(_ address: PeerAddress) {
        core.withLock { core in
            if core.key == nil { core.origin = address }
        }
    }

    /// Ends an anonymous session for the sake of one of another network.
    func giveWay() {
        guard !isSignedIn, let key = core.withLock({ $0.key }) else { return }
        closeAll()
        let until = max(shared.time.sinceEpoch() + shared.limits.tombstoneLife, created + shared.limits.sessionLife)
        shared.journal.remove(key, tombstoneUntil: until) { [self] result in
            // Else it stays closed, and the sweep tries again.
            if case .success = result { end(.ended) }
        }
    }
}
