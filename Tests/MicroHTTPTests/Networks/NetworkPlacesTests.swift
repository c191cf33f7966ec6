import Locking
import Testing

@testable import Networks

/// A holder of a place that leaves it when asked.
private final class Guest: Sendable {
    let place: Lock<NetworkPlaces.Place?>
    let wasAsked = Lock(false)

    init(_ places: NetworkPlaces, _ address: String) throws {
        let client: PeerAddress = try #require(PeerAddress(address))
        let place = try places.take(for: client)
        self.place = Lock(place)
        place.onGiveWay { [weak self] in self?.leave(asked: true) }
    }

    func leave(asked: Bool = false) {
        if asked { wasAsked.withLock { $0 = true } }
        let place = place.withLock { $0.take() }
        withExtendedLifetime(place) {}
    }

    var isAsked: Bool { wasAsked.withLock { $0 } }
}

@Suite("Places that networks share")
struct NetworkPlacesTests {
    @Test(arguments: [
        (["192.0.2.1"], "192.0.2.1"), (["2001:db8::", "2001:db8:0:100::", "2001:db8:0:102::"], "2001:db8:0:102::7"),
        (["10.0.0.1"], "::ffff:10.0.0.1"),
    ])
    func `an address lies in its networks`(networks: [String], address: String) throws {
        #expect(try #require(PeerAddress(address)).networks.map(\.description) == networks)
        #expect(PeerAddress.unknown.networks == [])
    }

    @Test func `one address has as many as it may, an IPv6 one with all of its 64 bits`() throws {
        let places = NetworkPlaces(100, perNetwork: 3)
        let guests = try ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map { try Guest(places, $0) }
        #expect(throws: NetworkPlaces.Refusal.ofNetwork) { try Guest(places, "2001:db8::4") }
        let other = try Guest(places, "2001:db8:0:1::4")
        guests[0].leave()
        let next = try Guest(places, "2001:db8::4")
        #expect(places.taken == 4)
        withExtendedLifetime((guests, other, next)) {}
    }

    @Test func `when few are left the newest place of the network that has most goes to one that has fewer`() throws {
        let places = NetworkPlaces(32)
        let many = try (0..<20).map { _ in try Guest(places, "192.0.2.1") }
        let some = try (0..<10).map { _ in try Guest(places, "192.0.2.2") }
        #expect(places.taken == 30 && many.allSatisfy { !$0.isAsked })
        let one = try Guest(places, "203.0.113.9")
        #expect(many.map(\.isAsked) == Array(repeating: false, count: 19) + [true])
        #expect(places.taken == 30)
        let another = try Guest(places, "192.0.2.2")
        #expect(many.count { $0.isAsked } == 2 && some.allSatisfy { !$0.isAsked })
        // The address with the most is refused, and nobody is asked.
        #expect(throws: NetworkPlaces.Refusal.ofNetwork) { try Guest(places, "192.0.2.1") }
        #expect(places.taken == 30)
        withExtendedLifetime((one, another)) {}
    }

    @Test func `a network alone has all of them`() throws {
        let places = NetworkPlaces(32)
        let guests = try (0..<32).map { _ in try Guest(places, "192.0.2.1") }
        #expect(throws: NetworkPlaces.Refusal.ofAll) { try Guest(places, "192.0.2.1") }
        #expect(guests.allSatisfy { !$0.isAsked })
    }

    @Test func `networks of one each keep what they have`() throws {
        let places = NetworkPlaces(8)
        let guests = try (1...8).map { try Guest(places, "192.0.2.\($0)") }
        #expect(throws: NetworkPlaces.Refusal.ofAll) { try Guest(places, "203.0.113.9") }
        #expect(guests.allSatisfy { !$0.isAsked })
    }

    @Test func `the networks of one owner's 48 bits count together`() throws {
        let places = NetworkPlaces(64)
        let many = try (0..<60).map { try Guest(places, "2001:db8:0:\(String($0, radix: 16))::1") }
        let neighbour = try Guest(places, "2001:db9::1")
        // Each has one, but their owner has the most.
        #expect(many.count { $0.isAsked } == 1)
        #expect(throws: NetworkPlaces.Refusal.ofNetwork) { try Guest(places, "2001:db8:0:7::2") }
        // Another of that owner's replaces one of its own.
        let own = try Guest(places, "2001:db8:0:ffff::1")
        #expect(many.count { $0.isAsked } == 2 && places.taken == 60)
        #expect(throws: Never.self) { try Guest(places, "192.0.2.1") }
        withExtendedLifetime((neighbour, own)) {}
    }

    @Test func `inside the network that has most, the part that has most gives way`() throws {
        let places = NetworkPlaces(64)
        let many = try (0..<40).map { _ in try Guest(places, "2001:db8:0:1::1") }
        let few = try (0..<20).map { try Guest(places, "2001:db8:0:\(String(512 + $0, radix: 16))::1") }
        let newcomer = try Guest(places, "2001:db8:0:400::1")
        #expect(many.count { $0.isAsked } == 1 && few.allSatisfy { !$0.isAsked })
        withExtendedLifetime(newcomer) {}
    }

    @Test func `what counts for no network is bounded by the limit alone`() throws {
        let places = NetworkPlaces(32, perNetwork: 1)
        let proxied = try (0..<30).map { _ in try places.take(for: nil) }
        let client = try Guest(places, "192.0.2.1")
        let last = try places.take(for: nil)
        #expect(throws: NetworkPlaces.Refusal.ofAll) { try places.take(for: nil) }
        withExtendedLifetime((proxied, client, last)) {}
    }

    @Test func `one that has to give way before it says how is told at once, and takes no more`() throws {
        let places = NetworkPlaces(4)
        let address = try #require(PeerAddress("192.0.2.1"))
        let held = try (0..<3).map { _ in try places.take(for: address) }
        let other = try Guest(places, "192.0.2.2")
        let told = Lock(0)
        for place in held { place.onGiveWay { told.withLock { $0 += 1 } } }
        #expect(told.withLock { $0 } == 1)
        #expect(!held[2].add(1))
        withExtendedLifetime(other) {}
    }

    @Test func `places of several each are counted one by one`() throws {
        let places = NetworkPlaces(100, perNetwork: 50)
        let address = try #require(PeerAddress("192.0.2.1"))
        let place = try places.take(20, for: address)
        #expect(place.add(30) && !place.add(1))
        #expect(places.taken == 50)
        #expect(throws: NetworkPlaces.Refusal.ofNetwork) { try places.take(for: address) }
    }

    @Test func `networks give way at once when somebody asks for it`() throws {
        let places = NetworkPlaces(.max)
        let many = try (0..<10).map { _ in try Guest(places, "192.0.2.1") }
        let (most, newcomer) = (try #require(PeerAddress("192.0.2.1")), PeerAddress("192.0.2.2"))
        guard case .nobody = places.giveWay(to: newcomer, above: 11, atMost: 3) else { Issue.record(); return }
        guard case .ownHasMost = places.giveWay(to: most, above: 2, atMost: 3) else { Issue.record(); return }
        guard case .asked(3) = places.giveWay(to: newcomer, above: 2, atMost: 3) else { Issue.record(); return }
        #expect(many.count { $0.isAsked } == 3 && places.taken == 7)
        guard case .asked(6) = places.giveWay(to: newcomer, above: 2, atMost: 100) else { Issue.record(); return }
        #expect(places.taken == 1)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `whatever comes and goes, the counts are those of who is there`(seed: UInt64) throws {
        var random = Seeded(seed)
        let (limit, own) = (Int.random(in: 1...80, using: &random), Int.random(in: 1...40, using: &random))
        let places = NetworkPlaces(limit, perNetwork: own)
        var guests: [Guest] = []
        for _ in 0..<2_000 {
            if Bool.random(using: &random) {
                let address =
                    Bool.random(using: &random)
                    ? "192.0.2.\(Int.random(in: 1...4, using: &random))"
                    : "2001:db8:\(Int.random(in: 0...1, using: &random)):\(Int.random(in: 0...3, using: &random))00::1"
                if let guest = try? Guest(places, address) { guests.append(guest) }
            } else if let index = guests.indices.randomElement(using: &random) {
                guests.remove(at: index).leave()
            }
            guests.removeAll(where: \.isAsked)
            #expect(places.taken == guests.count)
        }
        for guest in guests { guest.leave() }
        #expect(places.taken == 0)
        guard case .nobody = places.giveWay(to: nil, above: 1, atMost: 1) else { Issue.record(); return }
    }
}

/// SplitMix64 (Steele and others, 2014).
private struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
        return bits ^ bits >> 31
    }
}
