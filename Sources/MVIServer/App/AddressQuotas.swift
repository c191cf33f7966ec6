import Locking
import Logging
import MicroHTTP
import Networks
import Sessions
import Synchronization

/// The quotas of client addresses. Their memory is bounded for any number of addresses.
final class AddressQuotas: Sendable {
    /// The rate of new sessions of an address; nil for no limit.
    let sessionRate: Rate?
    let addresses: ClientAddress

    /// The buckets for sessions that addresses make and for unknown tokens that they send. Addresses may share a
    /// bucket; clients cannot predict which.
    private let sessions: Lock<[TokenBucket]>
    private let unknownTokens: Lock<[TokenBucket]>
    /// The same for spaces, made with the first one.
    private let spaces = Lock<[TokenBucket]>([])
    private let streams: NetworkPlaces
    private let logger: Logger?
    private let hasWarned = Atomic<Bool>(false)
    private static let bucketCount = 16_384

    init(
        sessionRate: Rate?, streamLimit: Int, streamLimitPerAddress: Int, trusted: [AddressRange], logger: Logger? = nil
    ) {
        self.logger = logger
        self.sessionRate = sessionRate
        addresses = ClientAddress(trusted: trusted)
        streams = NetworkPlaces(streamLimit, perNetwork: streamLimitPerAddress)
        let buckets = [TokenBucket](repeating: TokenBucket(), count: sessionRate == nil ? 0 : Self.bucketCount)
        (sessions, unknownTokens) = (Lock(buckets), Lock(buckets))
    }

    /// Counts a new session of the request's address. Returns nil if it is allowed, or else the time to wait.
    func takeSession(_ head: RequestHead, now: Duration) -> Duration? {
        noteProxy(head)
        guard let sessionRate else { return nil }
        let place = bucket(of: head)
        return sessions.withLock { $0[place].take(sessionRate, now: now) }
    }

    /// Returns nil if the journal may be asked for a token from the request's address, or else the time to wait. Only
    /// unknown tokens count: see `noteUnknownToken`.
    func mayAskForToken(_ head: RequestHead, now: Duration) -> Duration? {
        guard let sessionRate else { return nil }
        let place = bucket(of: head)
        return unknownTokens.withLock { buckets in
            var bucket = buckets[place]
            return bucket.take(sessionRate, now: now)
        }
    }

    /// Counts an unknown token.
    func noteUnknownToken(_ head: RequestHead, now: Duration) {
        guard let sessionRate else { return }
        let place = bucket(of: head)
        _ = unknownTokens.withLock { $0[place].take(sessionRate, now: now) }
    }

    /// The hash seed is random in each process.
    private func bucket(of head: RequestHead) -> Int {
        Int(UInt(bitPattern: addresses.of(head).network.hashValue) % UInt(Self.bucketCount))
    }

    /// Warns once about a proxy that is not trusted: all its clients share the quotas of one address.
    private func noteProxy(_ head: RequestHead) {
        guard addresses.isPassedOn(head), !hasWarned.exchange(true, ordering: .relaxed) else { return }
        logger?.warning(
            "Requests come through an untrusted proxy, so its clients share one address. Start with --trusted-proxy.",
            metadata: ["proxy": "\(head.peer)"])
    }

    /// The rate of new spaces of an address.
    private static let spaceRate = Rate(perHour: 256)

    /// Returns the permission for a space that a request needs: it counts for the client's session and its address.
    func permit(_ head: RequestHead, _ session: Session) -> @Sendable () -> Duration? {
        { [self] in
            // First the session's, so that a session that may make no more takes nothing of its address.
            if let wait = session.takeSpace() { return wait }
            let (place, now) = (bucket(of: head), session.now)
            return spaces.withLock { buckets in
                if buckets.isEmpty { buckets = Array(repeating: TokenBucket(), count: Self.bucketCount) }
                return buckets[place].take(Self.spaceRate, now: now)
            }
        }
    }

    /// Counts a stream of the request's client until the place is released.
    func takeStream(_ head: RequestHead) throws(NetworkPlaces.Refusal) -> NetworkPlaces.Place {
        try streams.take(for: addresses.of(head))
    }
}
