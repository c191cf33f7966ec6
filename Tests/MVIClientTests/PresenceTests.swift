import MVITesting
import Testing
import WireJSON

@testable import MVIClient

@Suite("Who looks at a store of a client", .timeLimit(.minutes(10)))
struct PresenceTests {
    struct Count: Codable, Equatable, Sendable { var count: Int }
    struct Face: Codable, Equatable, Sendable { var name: String }
    typealias Store = RemoteStore<Count, Never, Never>

    private static let ana = #"{"name":"Ana"}"#

    private static func data(_ viewers: String..., count: Int = 1, feature: String = "counter") -> String {
        #"{"feature":"\#(feature)","count":\#(count),"viewers":[\#(viewers.joined(separator: ","))]}"#
    }

    private static func presence(_ viewers: String..., count: Int = 1) throws -> StorePresence {
        let json = "[\(viewers.joined(separator: ","))]"
        return StorePresence(count: count, shown: try WireJSON.decode([JSONText].self, from: Array(json.utf8)))
    }

    /// A stream that has shown Ana.
    private static func live() throws -> Play {
        var play = try Play.live()
        try play.event("presence", data(ana))
        #expect(play.deliveries == [.presence(try presence(ana))])
        return play
    }

    @Test func `each other set of a watched store is delivered`() throws {
        var play = try Self.live()
        let same = #"{"feature":"counter","new":1,"count":1, "viewers":[ {"name":"Ana"} ]}"#
        #expect(try play.event("presence", same).isEmpty)
        #expect(try play.event("presence", Self.data(Self.ana, feature: "stranger")).isEmpty)
        try play.event("presence", Self.data(Self.ana, count: 2))
        #expect(play.deliveries == [.presence(try Self.presence(Self.ana, count: 2))])
        try play.event("presence", Self.data("1", count: 2))
        #expect(play.deliveries == [.presence(try Self.presence("1", count: 2))])
    }

    @Test func `another watcher of the same store gets the known set`() throws {
        var play = try Self.live()
        play.handle(.watch("counter"))
        #expect(play.deliveries == [.count(1), .presence(try Self.presence(Self.ana))])
    }

    @Test func `the set stays over reconnects, also to another epoch`() throws {
        var play = try Self.live()
        for (epoch, deliveries) in [("e1", []), ("e2", [IntentDelivery.forgotten])] {
            #expect(try play.end(cut: true).allSatisfy { if case .deliver = $0 { false } else { true } })
            play.advance(by: .seconds(3))
            try play.hello(epoch: epoch)
            #expect(play.deliveries == deliveries)
            #expect(try play.event("presence", Self.data(Self.ana)).isEmpty)
        }
    }

    @Test(arguments: [("end", IntentDelivery.ended), ("denied", .denied)])
    func `a lost store has none, until another event comes`(event: String, delivery: IntentDelivery) throws {
        var play = try Self.live()
        try play.event(event, #"{"feature":"counter"}"#)
        #expect(play.deliveries == [delivery, .presence(nil)])
        try play.event("presence", Self.data(Self.ana))
        #expect(play.deliveries == [.presence(try Self.presence(Self.ana))])
    }

    @Test(arguments: ["ended", "identity"])
    func `an ended session and a sign-out forget it`(reason: String) throws {
        var play = try Self.live()
        try play.event("goaway", #"{"reason":"\#(reason)","retry":1}"#)
        #expect(play.deliveries == [.presence(nil)])
        #expect(play.conditions == [reason == "ended" ? .ended : .signedOut])
    }

    @Test func `another session forgets it`() throws {
        var play = try Self.live()
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        let refused = play.refuse(try play.request().id, 404, "session-not-found")
        #expect(refused.contains(.deliver(feature: "counter", .presence(nil))))
        play.answer(try play.request().id, 201, #"{"id":"s2","token":"token-2"}"#)
        try play.hello(epoch: "e2", session: "s2")
        try play.event("presence", Self.data(Self.ana))
        #expect(play.deliveries == [.presence(try Self.presence(Self.ana))])
    }

    @Test func `a store that is watched again begins without`() throws {
        var play = try Self.live()
        play.handle(.unwatch("counter"))
        play.handle(.watch("counter"))
        #expect(play.deliveries.isEmpty)
        try play.hello()
        try play.event("presence", Self.data(Self.ana))
        #expect(play.deliveries == [.presence(try Self.presence(Self.ana))])
    }

    /// A store whose stream has shown a state.
    private static func store() async -> (store: Store, stream: FakeTransport.Started, watching: Task<Void, Never>) {
        let transport = FakeTransport()
        let client = TestClient(transport) { $0.credentials = MemoryCredentialStorage("t") }
        let store = Store("tally", on: client.server)
        let watching = Task { await store.watch() }
        let stream = await transport.request(1)
        stream.accept()
        stream.state(1, #"{"count":1}"#)
        await observed { store.state?.count == 1 }
        return (store, stream, watching)
    }

    private static func event(_ data: String) -> String { "event: presence\ndata: \(data)\n\n" }

    @Test func `it is observable, with what matches the app's type, and redraws no view unchanged`() async {
        let (store, stream, watching) = await Self.store()
        let before = await store.presence
        #expect(before == nil)
        let viewers = [Self.ana, #"{"other":1}"#, #"{"name":"Ben","new":[]}"#]
        let event = Self.event(Self.data(viewers.joined(separator: ","), count: 5, feature: "tally"))
        stream.write(event)
        await observed { store.presence?.count == 5 }
        let faces = await store.presence?.viewers(as: Face.self)
        #expect(faces == [Face(name: "Ana"), Face(name: "Ben")])
        let redrawn = await Redraws.of { _ = store.presence }
        stream.write(event)
        stream.state(2, #"{"count":2}"#)
        await observed { store.state?.count == 2 }
        #expect(redrawn.all.isEmpty)
        stream.write(Self.event(Self.data(count: 1, feature: "tally")))
        await observed { store.presence?.count == 1 }
        #expect(redrawn.all.count == 1)
        watching.cancel()
    }

    @Test func `a store that nobody watches has none`() async {
        let (store, stream, watching) = await Self.store()
        stream.write(Self.event(Self.data(Self.ana, feature: "tally")))
        await observed { store.presence != nil }
        watching.cancel()
        await observed { store.presence == nil }
    }
}
