import Locking
import Networks

/// How many connections there are, in all and of each network.
final class Connections: Sendable {
    typealias Place = NetworkPlaces.Place

    let limit: Int
    private let isExempt: @Sendable (PeerAddress) -> Bool
    private let places: NetworkPlaces
    /// The places of those handed to the library, which has not begun with them, by descriptor: it closes one that it cannot
    /// make without a word, and the system then gives its number to another.
    private let begun = Lock<[Int32: Place]>([:])

    init(_ configuration: HTTPServerConfiguration) {
        limit = configuration.connectionLimit
        places = NetworkPlaces(configuration.connectionLimit, perNetwork: configuration.connectionsPerAddress)
        isExempt = configuration.isExempt
    }

    var count: Int { places.taken }

    /// Counts a connection that was accepted; false if its address has too many, or its network most while few are left.
    func accepted(_ descriptor: Int32, _ address: PeerAddress) -> Bool {
        // Its number was given anew, so the library has closed what had it.
        refused(descriptor)
        let counted = address == .unknown || isExempt(address) ? nil : address
        guard let place = try? places.take(for: counted) else { return false }
        begun.withLock { $0[descriptor] = place }
        return true
    }

    /// The library serves it, as long as the place is held.
    func started(_ descriptor: Int32) -> Place? { begun.withLock { $0.removeValue(forKey: descriptor) } }

    /// The library did not take it.
    func refused(_ descriptor: Int32) { _ = started(descriptor) }
}
