import Locking

/// A limited number of places, shared between the networks of clients: if few are left, the network with the most gives
/// way to one with fewer.
///
/// The newest place of that network is taken back. Its holder needs a moment to end, so this begins in the last
/// sixteenth of the places. Any thread may call the methods.
package final class NetworkPlaces: Sendable {
    /// The reason for a refusal.
    package enum Refusal: Error {
        /// The network has its largest number, or the most of all while few are left.
        case ofNetwork
        /// All places are taken.
        case ofAll
    }

    fileprivate struct Member {
        let address: PeerAddress?
        var count: Int
        /// Ends the use of the places.
        var giveWay: (@Sendable () -> Void)?
        /// True after it was asked to give way.
        var isLeaving = false

        /// Not stored, since there are very many members.
        var networks: [PeerAddress] { address?.networks ?? [] }
    }

    fileprivate struct State {
        var taken = 0
        var shares = NetworkShares()
        var members = NumberedList<Member>()
        /// The number of places of members that are leaving.
        var leavingCount = 0
        /// The members by their narrowest network, newest last. Some may be gone.
        var order: [PeerAddress: [UInt64]] = [:]
    }

    private let limit: Int
    private let limitPerNetwork: Int
    private let state = Lock(State())

    /// - Parameter perNetwork: The largest number for one IPv4 address, or for the first 64 bits of an IPv6 one.
    package init(_ limit: Int, perNetwork: Int = .max) {
        (self.limit, limitPerNetwork) = (limit, perNetwork)
    }

    /// The number of taken places.
    package var taken: Int { state.withLock { $0.taken } }

    /// True if a place is free.
    package var hasRoom: Bool { taken < limit }

    /// The number of places reserved for networks with few of them.
    private var reserve: Int { max(1, limit / 16) }
    /// The number of places that a network may have while any are free.
    private var least: Int { max(1, limit / 1024) }

    /// Takes places until the returned object is released.
    ///
    /// - Parameter address: The client's; nil for one to which only the limit applies and which never gives way.
    package func take(_ count: Int = 1, for address: PeerAddress?) throws(Refusal) -> Place {
        let networks = address?.networks ?? []
        let (result, giveWay) = state.withLock { state -> (Result<UInt64, Refusal>, (@Sendable () -> Void)?) in
            let (refusal, other) = admit(count, networks, &state)
            if let refusal { return (.failure(refusal), other) }
            let number = state.members.append(Member(address: address, count: count))
            if let narrowest = networks.last {
                state.order[narrowest, default: []].append(number)
                state.compact(narrowest, networks)
            }
            return (.success(number), other)
        }
        giveWay?()
        return Place(self, try result.get())
    }

    /// Counts additional places and selects the holder that gives way.
    private func admit(
        _ count: Int, _ networks: [PeerAddress], _ state: inout State
    ) -> (refusal: Refusal?, other: (@Sendable () -> Void)?) {
        let own = state.shares.share(of: networks[...])
        guard networks.isEmpty || own + count <= limitPerNetwork else { return (.ofNetwork, nil) }
        var other: (@Sendable () -> Void)?
        if !networks.isEmpty, state.taken - state.leavingCount + count > limit - reserve {
            if let largest = state.shares.largest(above: networks[...], with: count) {
                other = state.removeNewest(of: largest)
            } else {
                // Others share the places with it, and none of them has more.
                let widest = state.shares.share(of: networks[..<1])
                guard widest + count <= least || widest == state.taken else { return (.ofNetwork, nil) }
            }
        }
        guard state.taken + count <= limit else { return (.ofAll, other) }
        state.taken += count
        state.shares.add(count, to: networks[...])
        return (nil, other)
    }

    /// The result of asking a network to give way.
    package enum Outcome {
        /// This number of holders was asked.
        case asked(Int)
        /// The client's own network has the most.
        case ownHasMost
        /// No network has enough.
        case nobody
    }

    /// Makes the network with the most places give some of them up, newest first.
    ///
    /// - Parameters:
    ///   - address: The client that needs a place; nil for one without a network.
    ///   - least: Networks with fewer places are not asked.
    package func giveWay(to address: PeerAddress?, above least: Int, atMost limit: Int) -> Outcome {
        let networks = address?.networks ?? []
        let (outcome, holders) = state.withLock { state -> (Outcome, [@Sendable () -> Void]) in
            guard state.shares.largest >= least else { return (.nobody, []) }
            var holders: [@Sendable () -> Void] = []
            while holders.count < limit, state.shares.largest >= least,
                let largest = state.shares.largest(above: networks[...], with: 1),
                let holder = state.removeNewest(of: largest)
            {
                holders.append(holder)
            }
            return (holders.isEmpty ? .ownHasMost : .asked(holders.count), holders)
        }
        for giveWay in holders { giveWay() }
        return outcome
    }

    fileprivate func add(_ count: Int, _ number: UInt64) -> Bool {
        let (isAdded, giveWay) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard let member = state.members[number], !member.isLeaving else { return (false, nil) }
            let (refusal, other) = admit(count, member.networks, &state)
            if refusal == nil { state.members[number]?.count += count }
            return (refusal == nil, other)
        }
        giveWay?()
        return isAdded
    }

    fileprivate func leave(_ number: UInt64) {
        // Its closure is released after the lock.
        _ = state.withLock { state -> Member? in
            guard let member = state.members[number] else { return nil }
            state.members[number] = nil
            state.taken -= member.count
            if member.isLeaving { state.leavingCount -= member.count } else { state.left(member) }
            return member
        }
    }

    /// Returns false if it has to give way already.
    fileprivate func set(_ giveWay: @escaping @Sendable () -> Void, _ number: UInt64) -> Bool {
        state.withLock { state in
            guard state.members[number]?.isLeaving == false else { return false }
            state.members[number]?.giveWay = giveWay
            return true
        }
    }

    /// Taken places, which are free again when this is released.
    package final class Place: Sendable {
        private let places: NetworkPlaces
        private let number: UInt64

        fileprivate init(_ places: NetworkPlaces, _ number: UInt64) { (self.places, self.number) = (places, number) }

        deinit { places.leave(number) }

        /// Takes more places. Returns false if there are none, or if it has to give way.
        package func add(_ more: Int) -> Bool { places.add(more, number) }

        /// Sets the function that ends the use of the place when another network needs it. Called at most once, on any
        /// thread; at once if that is already the case.
        package func onGiveWay(_ action: @escaping @Sendable () -> Void) {
            if !places.set(action, number) { action() }
        }
    }
}

extension NetworkPlaces.State {
    /// Removes the newest holder, which is about to leave, from the shares.
    fileprivate mutating func removeNewest(of network: PeerAddress) -> (@Sendable () -> Void)? {
        while let number = order[network]?.popLast() {
            guard let member = members[number], !member.isLeaving else { continue }
            left(member)
            members[number]?.isLeaving = true
            leavingCount += member.count
            return member.giveWay ?? {}
        }
        return nil
    }

    fileprivate mutating func left(_ member: NetworkPlaces.Member) {
        shares.add(-member.count, to: member.networks[...])
        if let narrowest = member.networks.last, shares.share(of: member.networks[...]) == 0 { order[narrowest] = nil }
    }

    /// Removes entries that are gone when they are as many as the others.
    fileprivate mutating func compact(_ network: PeerAddress, _ networks: [PeerAddress]) {
        guard let numbers = order[network], numbers.count > 16 + 2 * shares.share(of: networks[...]) else { return }
        order[network] = numbers.filter { members[$0]?.isLeaving == false }
    }
}
