import Locking
import Logging
import MicroHTTP
import Sessions
import Synchronization

/// What each address may have and do. Bounded in memory, whatever addresses there are.
final class AddressQuotas: Sendable {
    /// How often an address may make a session; nil for as often as it likes.
    let sessionRate: Rate?
    /// How many streams an address may have open.
    let streamLimit: Int
    let addresses: ClientAddress

    /// Addresses share buckets, mostly each with none; which ones, no client can know.
    private let buckets: Lock<[TokenBucket]>
    private let streams = Lock<[PeerAddress: Int]>([:])
    private let logger: Logger?
    private let hasWarned = Atomic<Bool>(false)
    private static let bucketCount = 16_384

    init(sessionRate: Rate?, streamLimit: Int, trusted: [AddressRange], logger: Logger? = nil) {
        self.logger = logger
        self.sessionRate = sessionRate
        self.streamLimit = streamLimit
        addresses = ClientAddress(trusted: trusted)
        buckets = Lock([TokenBucket](repeating: TokenBucket(), count: sessionRate == nil ? 0 : Self.bucketCount))
    }

    /// Counts a new session of the request's address; nil if it may have one, else in how much time.
    func takeSession(_ head: RequestHead, now: Duration) -> Duration? {
        noteProxy(head)
        guard let sessionRate else { return nil }
        // Seeded anew in each process.
        let place = Int(UInt(bitPattern: addresses.of(head).network.hashValue) % UInt(Self.bucketCount))
        return buckets.withLock { $0[place].take(sessionRate, now: now) }
    }

    /// Says once that a proxy is in front whose word is not taken: all its clients have one address's quotas.
    private func noteProxy(_ head: RequestHead) {
        guard addresses.isPassedOn(head), !hasWarned.exchange(true, ordering: .relaxed) else { return }
        logger?.warning(
            "Requests come through a proxy that is not trusted, so all its clients count as one. Start with --trusted-proxy.",
            metadata: ["proxy": "\(head.peer)"])
    }

    /// Counts a stream of an address, until the place that is returned is left; nil if it has too many.
    func takeStream(_ head: RequestHead) -> StreamPlace? {
        let address = addresses.of(head).network
        let isTaken = streams.withLock { streams in
            guard streams[address, default: 0] < streamLimit else { return false }
            streams[address, default: 0] += 1
            return true
        }
        return isTaken ? StreamPlace(self, address) : nil
    }

    fileprivate func leaveStream(_ address: PeerAddress) {
        streams.withLock { streams in
            let count = (streams[address] ?? 1) - 1
            streams[address] = count > 0 ? count : nil
        }
    }

    /// One stream's place in its address's quota, left when nothing holds it any more.
    final class StreamPlace: Sendable {
        private let quotas: AddressQuotas
        private let address: PeerAddress

        init(_ quotas: AddressQuotas, _ address: PeerAddress) {
            (self.quotas, self.address) = (quotas, address)
        }

        deinit { quotas.leaveStream(address) }
    }
}
