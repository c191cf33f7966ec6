/// The share of each network in a total, including the networks inside it: IPv6 addresses by their first 48, 56 and 64
/// bits, IPv4 addresses as a whole.
struct NetworkShares: Sendable {
    private var ranking = Ranking<PeerAddress>()
    private var inside: [PeerAddress: NetworkShares] = [:]

    /// - Parameter networks: Widest first; each is inside the previous one.
    mutating func add(_ change: Int, to networks: ArraySlice<PeerAddress>) {
        guard let widest = networks.first else { return }
        ranking.add(change, to: widest)
        if networks.count > 1 { inside[widest, default: NetworkShares()].add(change, to: networks.dropFirst()) }
        if ranking[widest] == 0 { inside[widest] = nil }
    }

    /// Returns the share of the narrowest of the networks.
    func share(of networks: ArraySlice<PeerAddress>) -> Int {
        guard let widest = networks.first else { return 0 }
        return networks.count == 1 ? ranking[widest] : inside[widest]?.share(of: networks.dropFirst()) ?? 0
    }

    /// Returns the narrowest network with the largest share that exceeds the newcomer's after the change; nil if the
    /// newcomer's own networks have the largest, or an equal one.
    func largest(above newcomer: ArraySlice<PeerAddress>, with change: Int) -> PeerAddress? {
        guard let largest = ranking.largest else { return nil }
        guard let widest = newcomer.first else { return narrowest(in: largest.key) }
        guard largest.key != widest else {
            return inside[widest]?.largest(above: newcomer.dropFirst(), with: change)
        }
        guard largest.number > ranking[widest] + change else { return nil }
        return narrowest(in: largest.key)
    }

    /// The share of the network with the most.
    var largest: Int { ranking.largest?.number ?? 0 }

    private func narrowest(in network: PeerAddress) -> PeerAddress {
        guard let inside = inside[network], let largest = inside.ranking.largest else { return network }
        return inside.narrowest(in: largest.key)
    }
}
