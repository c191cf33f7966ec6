/// How much of a total each network has, and the networks inside it: IPv6 addresses by their first 48, 56 and 64 bits,
/// IPv4 addresses by themselves.
struct NetworkShares: Sendable {
    private var ranking = Ranking<PeerAddress>()
    private var inside: [PeerAddress: NetworkShares] = [:]

    /// - Parameter networks: the widest network first; each lies inside the one before it.
    mutating func add(_ change: Int, to networks: ArraySlice<PeerAddress>) {
        guard let widest = networks.first else { return }
        ranking.add(change, to: widest)
        if networks.count > 1 { inside[widest, default: NetworkShares()].add(change, to: networks.dropFirst()) }
        if ranking[widest] == 0 { inside[widest] = nil }
    }

    /// What the narrowest of the networks has.
    func share(of networks: ArraySlice<PeerAddress>) -> Int {
        guard let widest = networks.first else { return 0 }
        return networks.count == 1 ? ranking[widest] : inside[widest]?.share(of: networks.dropFirst()) ?? 0
    }

    /// The narrowest network that has most where a newcomer would still have less than it had; nil if the newcomer's own
    /// networks have most, or as much.
    func largest(above newcomer: ArraySlice<PeerAddress>, with change: Int) -> PeerAddress? {
        guard let largest = ranking.largest else { return nil }
        guard let widest = newcomer.first else { return narrowest(in: largest.key) }
        guard largest.key != widest else {
            return inside[widest]?.largest(above: newcomer.dropFirst(), with: change)
        }
        guard largest.number > ranking[widest] + change else { return nil }
        return narrowest(in: largest.key)
    }

    /// What the network has that has most.
    var largest: Int { ranking.largest?.number ?? 0 }

    private func narrowest(in network: PeerAddress) -> PeerAddress {
        guard let inside = inside[network], let largest = inside.ranking.largest else { return network }
        return inside.narrowest(in: largest.key)
    }
}
