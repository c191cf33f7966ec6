import Locking
import Networks

/// The number of connections, in total and for each network.
final class Connections: Sendable {
    typealias Place = NetworkPlaces.Place

    let limit: Int
    private let isExempt: @Sendable (PeerAddress) -> Bool
    private let places: NetworkPlaces
    /// The places of connections that the library has received but not started, by descriptor. It silently closes a
    /// connection that it cannot create, and the system then reuses its number.
    private let begun = Lock<[Int32: Place]>([:])

    init(_ configuration: HTTPServerConfiguration) {
        limit = configuration.connectionLimit
        places = NetworkPlaces(configuration.connectionLimit, perNetwork: configuration.connectionsPerAddress)
        isExempt = configuration.isExempt
    }

    var count: Int { places.taken }

    /// Counts a connection. Returns false if its address has too many, or its network most while few are left.
    func accepted(_ descriptor: Int32, _ address: PeerAddress) -> Bool {
        // The number was reused, so the library has closed the earlier connection.
        refused(descriptor)
        let counted = address == .unknown || isExempt(address) ? nil : address
        guard let place = try? places.take(for: counted) else { return false }
        begun.withLock { $0[descriptor] = place }
        return true
    }

    /// Marks a connection as served by the library. It counts while the place is held.
    func started(_ descriptor: Int32) -> Place? { begun.withLock { $0.removeValue(forKey: descriptor) } }

    /// Releases a connection that the library refused.
    func refused(_ descriptor: Int32) { _ = started(descriptor) }
}
