import Locking
import Logging
import MicroHTTP
import Networks
import Sessions
import Synchronization

/// The quotas of each address. Memory is bounded whatever the number of addresses.
final class AddressQuotas: Sendable {
    /// The rate of new sessions of an address; nil for no limit.
    let sessionRate: Rate?
    let addresses: ClientAddress

    /// Addresses share buckets, mostly each with none; which ones, no client can know. The sessions that they make, and the
    /// tokens that they send of no session.
    private let sessions: Lock<[TokenBucket]>
    private let unknownTokens: Lock<[TokenBucket]>
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

    /// Counts a new session of the request's address; nil if it may have one, else in how much time.
    func takeSession(_ head: RequestHead, now: Duration) -> Duration? {
        noteProxy(head)
        guard let sessionRate else { return nil }
        let place = bucket(of: head)
        return sessions.withLock { $0[place].take(sessionRate, now: now) }
    }

    /// Returns true if the journal may be asked for a token that the request's address sends: nil if it may, else in how much time.
    /// Only tokens of no session count: see `noteUnknownToken`.
    func mayAskForToken(_ head: RequestHead, now: Duration) -> Duration? {
        guard let sessionRate else { return nil }
        let place = bucket(of: head)
        return unknownTokens.withLock { buckets in
            var bucket = buckets[place]
            return bucket.take(sessionRate, now: now)
        }
    }

    /// Counts a token of no session.
    func noteUnknownToken(_ head: RequestHead, now: Duration) {
        guard let sessionRate else { return }
        let place = bucket(of: head)
        _ = unknownTokens.withLock { $0[place].take(sessionRate, now: now) }
    }

    /// Seeded anew in each process.
    private func bucket(of head: RequestHead) -> Int {
        Int(UInt(bitPattern: addresses.of(head).network.hashValue) % UInt(Self.bucketCount))
    }

    /// Says once that a proxy is in front whose word is not taken: all its clients have one address's quotas.
    private func noteProxy(_ head: RequestHead) {
        guard addresses.isPassedOn(head), !hasWarned.exchange(true, ordering: .relaxed) else { return }
        logger?.warning(
            "Requests come through a proxy that is not trusted, so all its clients count as one. Start with --trusted-proxy.",
            metadata: ["proxy": "\(head.peer)"])
    }

    /// Counts a stream of the request's client, until the place is released.
    func takeStream(_ head: RequestHead) throws(NetworkPlaces.Refusal) -> NetworkPlaces.Place {
        try streams.take(for: addresses.of(head))
    }
}
