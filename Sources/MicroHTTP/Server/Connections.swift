import Locking
import Synchronization

/// How many connections there are, in all and of each address.
final class Connections: Sendable {
    private struct State {
        var perAddress: [PeerAddress: Int] = [:]
        /// Handed to the library, which has not begun with them, by descriptor: it closes one that it cannot make without a
        /// word, and the system then gives its number to another.
        var begun: [Int32: PeerAddress] = [:]
    }

    let limit: Int
    private let limitPerAddress: Int
    private let isExempt: @Sendable (PeerAddress) -> Bool
    private let state = Lock(State())
    private let open = Atomic<Int>(0)

    init(_ configuration: HTTPServerConfiguration) {
        limit = configuration.connectionLimit
        limitPerAddress = configuration.connectionsPerAddress
        isExempt = configuration.isExempt
    }

    var count: Int { open.load(ordering: .sequentiallyConsistent) }

    /// Counts a connection that was accepted; false if its address has too many.
    func accepted(_ descriptor: Int32, _ address: PeerAddress) -> Bool {
        let isExempt = limitPerAddress == .max || address == .unknown || isExempt(address)
        let address = address.network
        return state.withLock { state in
            if let lost = state.begun.removeValue(forKey: descriptor) { leave(lost, &state) }
            guard isExempt || state.perAddress[address, default: 0] < limitPerAddress else { return false }
            state.perAddress[address, default: 0] += 1
            state.begun[descriptor] = address
            open.add(1, ordering: .sequentiallyConsistent)
            return true
        }
    }

    /// The library serves it.
    func started(_ descriptor: Int32) {
        _ = state.withLock { $0.begun.removeValue(forKey: descriptor) }
    }

    /// The library did not take it.
    func refused(_ descriptor: Int32) {
        state.withLock { state in
            if let address = state.begun.removeValue(forKey: descriptor) { leave(address, &state) }
        }
    }

    /// The library is about to close it.
    func closed(_ address: PeerAddress) { state.withLock { leave(address.network, &$0) } }

    private func leave(_ address: PeerAddress, _ state: inout State) {
        let count = (state.perAddress[address] ?? 1) - 1
        state.perAddress[address] = count > 0 ? count : nil
        open.subtract(1, ordering: .sequentiallyConsistent)
    }
}
