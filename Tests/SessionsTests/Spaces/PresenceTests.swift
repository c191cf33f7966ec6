import EventStream
import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing
import WireJSON

@testable import Sessions

@Suite("86: presence", .timeLimit(.minutes(5)))
struct PresenceTests {
    private let room = "room:bar"
    private let who = #"{"type":"who"}"#

    /// Advances the time to a moment, and lets what is due then run.
    private func pass(_ fixture: SpaceFixture, _ time: Duration) throws {
        let clock = try #require(fixture.table.environment.clock as? ManualClock)
        fixture.time.advance(by: time)
        clock.advance(by: time)
    }

    /// Opens a stream, later than others before.
    private func look(_ client: SpaceClient, at room: String = "room:bar") throws -> BundleReader {
        client.fixture.time.advance(by: .milliseconds(1))
        return try client.stream(room)
    }

    /// Reads until something was told of a stream's viewers.
    private func told(_ reader: BundleReader) async throws -> [String] {
        let clock = try #require(reader.stream.own.session.shared.clock as? ManualClock)
        var texts: [String] = []
        while texts.isEmpty {
            // A look that was under way while a test advanced the time has its next one later than that.
            clock.advance(by: .seconds(1))
            texts = try reader.events().filter { $0.hasPrefix("presence ") }.map { String($0.dropFirst(9)) }
            await Task.yield()
        }
        return texts
    }

    private func event(_ names: String..., count: Int? = nil) -> String {
        let viewers = names.map { #"{"name":"\#($0)"}"# }.joined(separator: ",")
        return #"{"feature":"room:bar","count":\#(count ?? names.count),"viewers":[\#(viewers)]}"#
    }

    @Test("each stream tells the whole set: a client with several streams once, one that shows nothing only counted")
    func whole() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob, spy) = (try await fixture.user("ann"), try fixture.guest(), try await fixture.user("spy"))
        let first = try look(ann)
        #expect(try first.events().map(\.kind).suffix(2) == ["state room:bar", "presence room:bar"])
        let second = try look(ann)
        #expect(try await told(second) == [event("ann")])
        let other = try look(bob)
        #expect(try await told(other) == [event("ann")])
        let hidden = try look(spy)
        _ = try hidden.events()
        try pass(fixture, .seconds(1))
        for reader in [first, second, other, hidden] {
            #expect(try await told(reader) == [event("ann", "guest", count: 3)])
        }
        // Nothing of it is in the log.
        let head = try fixture.space(room).core.withLock { $0.head.number }
        _ = try bob.send(who, to: room).get()
        #expect(try fixture.space(room).core.withLock { $0.head.number } == head + 1)
        #expect(try other.events().first?.contains("3: ann guest") == true)
    }

    @Test("who leaves is gone ten seconds later, and nobody sees who comes back before")
    func grace() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
        let reader = try look(ann)
        _ = try await told(reader)
        var stream: BundleReader? = try look(bob)
        try pass(fixture, .seconds(1))
        #expect(try await told(reader) == [event("ann", "bob")])
        for _ in 0..<3 {
            withExtendedLifetime(stream) {}
            stream = nil
            try pass(fixture, .seconds(9))
            stream = try look(bob)
            try pass(fixture, .seconds(5))
            #expect(try reader.events().isEmpty)
        }
        withExtendedLifetime(stream) {}
        stream = nil
        try pass(fixture, .seconds(9))
        #expect(try reader.events().isEmpty)
        try pass(fixture, .seconds(1))
        #expect(try await told(reader) == [event("ann")])
    }

    @Test("a store with many viewers names a hundred, counts all, and tells them once a second")
    func many() async throws {
        let fixture = try SpaceFixture()
        let reader = try await look(fixture.user("ann"))
        _ = try await told(reader)
        var others: [BundleReader] = []
        for _ in 0..<150 { others.append(try look(fixture.guest())) }
        #expect(try reader.events().isEmpty)
        try pass(fixture, .seconds(1))
        let told = try await told(reader)
        #expect(told.count == 1 && told[0].contains(#""count":151,"#))
        #expect(told[0].split(separator: "guest").count == 100)
        // Other nodes are told all of them, and what any stream shows of them.
        let faces = try #require(fixture.table.presences.first?.faces)
        #expect(faces.count == 151 && faces.count { $0.shown != nil } == 100)
        withExtendedLifetime(others) {}
    }

    @Test("who may not look any more is gone at once, and is told nothing more")
    func revoked() async throws {
        let denied = Lock(false)
        let fixture = try SpaceFixture { principal, key, access in
            principal?.subject != "bob" || key != "bar" || !denied.withLock { $0 }
        }
        let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
        let reader = try look(ann)
        _ = try await told(reader)
        let lost = try look(bob)
        try pass(fixture, .seconds(1))
        for reader in [reader, lost] { #expect(try await told(reader).last == event("ann", "bob")) }
        denied.withLock { $0 = true }
        fixture.table.recheck(Subject(issuer: "i", id: "bob"))
        #expect(try lost.events().map(\.kind) == ["denied room:bar"])
        try pass(fixture, .seconds(1))
        #expect(try await told(reader) == [event("ann")])
        try pass(fixture, .seconds(20))
        #expect(try lost.events().isEmpty)
    }

    @Test("a client whose session ends is gone at once")
    func ended() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
        let reader = try look(ann)
        _ = try await told(reader)
        let other = try look(bob)
        try pass(fixture, .seconds(1))
        #expect(try await told(reader) == [event("ann", "bob")])
        await awaitResult { done in fixture.table.end(bob.session) { _ in done(()) } }
        _ = try other.events()
        #expect(other.isOver)
        other.stream.closed()
        try pass(fixture, .seconds(1))
        #expect(try await told(reader) == [event("ann")])
    }

    @Test("a feature that asks is told each new set by an action")
    func action() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
        _ = try ann.send(#"{"type":"open"}"#, to: room).get()
        let reader = try look(ann)
        _ = try await told(reader)
        let other = try look(bob)
        try pass(fixture, .seconds(1))
        _ = try await told(reader)
        let state = try ann.snapshot(of: room).value!.get()
        let told = try WireJSON.decode(Room.State.self, from: state.view).told
        #expect(told == ["1: ann", "2: ann bob"])
        withExtendedLifetime(other) {}
    }

    @Test("what others are shown of a client has a limit, beyond which it is only counted")
    func limit() async throws {
        let reports = Lock(0)
        let fixture = try SpaceFixture(report: { if case .failure = $0 { reports.withLock { $0 += 1 } } })
        let reader = try await look(fixture.user("long"))
        #expect(try await told(reader) == [event(count: 1)])
        #expect(reports.withLock { $0 } == 1)
    }

    @Test("after a restart nothing is told until clients had time to come back")
    func restart() async throws {
        let journal = MemoryJournal()
        let before = try SpaceFixture(journal: journal)
        let ann = try await before.user("ann")
        _ = try ann.send(who, to: room).get()
        let fixture = try SpaceFixture(journal: journal)
        guard case .live(let session, let credential) = try fixture.table.found(ann.token) else { throw Gone() }
        let back = SpaceClient(fixture: fixture, session: session, token: ann.token, credential: credential)
        let reader = try look(back)
        #expect(try reader.events().map(\.kind) == ["hello", "state room:bar"])
        try pass(fixture, .seconds(4))
        let other = try await look(fixture.user("bob"))
        #expect(try reader.events().isEmpty && other.events().count == 2)
        try pass(fixture, .seconds(6))
        #expect(try await told(reader) == [event("ann", "bob")])
        // A space of this process has nobody to wait for.
        let new = try await look(fixture.user("eve"), at: "room:new")
        #expect(try new.events().last?.hasPrefix("presence") == true)
    }

    @Test("a part of a bundle that shows patches tells viewers, too", arguments: DeltaForm.allCases)
    func bundle(form: DeltaForm) async throws {
        let fixture = try SpaceFixture()
        let ann = try await fixture.user("ann")
        let reader = try ann.stream("party", room, own: ["tally"], delta: form)
        #expect(try await told(reader) == [event("ann")])
        let id = reader.lastID
        let other = try await look(fixture.user("bob"))
        try pass(fixture, .seconds(1))
        #expect(try await told(reader) == [event("ann", "bob")])
        #expect(reader.lastID == id)
        withExtendedLifetime(other) {}
    }

    // MARK: Nodes

    /// Carries what the nodes tell each other now.
    private func report(_ nodes: SpacePair, from sender: SpaceFixture? = nil) throws {
        for (from, to) in [(nodes.here, nodes.there), (nodes.there, nodes.here)] where sender?.table !== to.table {
            to.table.watched(from.table.presences, of: try #require(from.node))
        }
    }

    @Test("streams of each node tell the clients of all, and a client of two nodes once")
    func nodes() async throws {
        let nodes = try SpacePair()
        nodes.pass(10)
        nodes.there.time.advance(by: .milliseconds(10))
        let (ann, bob) = (try await nodes.here.user("ann"), try await nodes.there.user("bob"))
        _ = try ann.send(who, to: room).get()
        let readers = try [look(ann), look(bob), look(nodes.moved(ann, to: nodes.there))]
        try report(nodes)
        for node in [nodes.here, nodes.there] { try pass(node, .seconds(1)) }
        for reader in readers { #expect(try await told(reader) == [event("ann", "bob")]) }
        // The owner's turns know all.
        _ = try ann.send(who, to: room).get()
        #expect(try readers[1].events().last?.contains("2: ann bob") == true)
    }

    @Test("clients of a node that is gone are gone fifteen seconds after its last report")
    func lostNode() async throws {
        let nodes = try SpacePair()
        nodes.pass(10)
        nodes.there.time.advance(by: .milliseconds(10))
        let (ann, bob) = (try await nodes.here.user("ann"), try await nodes.there.user("bob"))
        _ = try ann.send(who, to: room).get()
        let (reader, other) = (try look(ann), try look(bob))
        try report(nodes)
        try pass(nodes.here, .seconds(1))
        #expect(try await told(reader) == [event("ann", "bob")])
        for _ in 0..<6 {
            try report(nodes)
            try pass(nodes.here, .seconds(10))
        }
        #expect(try reader.events().isEmpty)
        try pass(nodes.here, .seconds(5))
        #expect(try await told(reader) == [event("ann")])
        withExtendedLifetime(other) {}
    }

    @Test("a node that hears of another's clients for the first time tells it of its own")
    func answer() async throws {
        let nodes = try SpacePair()
        nodes.pass(10)
        nodes.there.time.advance(by: .milliseconds(10))
        let (ann, bob) = (try await nodes.here.user("ann"), try await nodes.there.user("bob"))
        let sent = Lock<[PresenceReport]>([])
        nodes.here.table.environment.onPresence { report in sent.withLock { $0.append(report) } }
        let reader = try look(ann)
        try pass(nodes.here, .seconds(1))
        _ = try await told(reader)
        #expect(sent.withLock { $0.map(\.faces.count) } == [1])
        let other = try look(bob)
        try report(nodes, from: nodes.there)
        #expect(sent.withLock { $0.map(\.faces.count) } == [1, 1])
        try report(nodes, from: nodes.there)
        #expect(sent.withLock { $0.count } == 2)
        withExtendedLifetime(other) {}
    }

    /// The number of clients that a node's streams are told now.
    private func toldNow(_ node: SpaceFixture) throws -> Int {
        let space = try node.space(room)
        let feature = try #require(FeatureID(room))
        let book = try #require(space.core.withLock { $0.rare?.presences[feature] })
        space.look(at: book)
        return book.told.set.count
    }

    /// Carries what the nodes tell each other, as soon as they do.
    private func connect(_ nodes: SpacePair) {
        for (from, to) in [(nodes.here, nodes.there), (nodes.there, nodes.here)] {
            from.table.environment.onPresence { [from, to] report in
                if let node = from.node { to.table.watched([report], of: node) }
            }
        }
    }

    @Test("the first client on a node is told the whole set, never itself alone")
    func newNode() async throws {
        let nodes = try SpacePair()
        connect(nodes)
        nodes.pass(20)
        let (ann, bob) = (try await nodes.here.user("ann"), try await nodes.there.user("bob"))
        _ = try ann.send(who, to: room).get()
        let reader = try look(ann)
        try pass(nodes.here, .seconds(1))
        #expect(try await told(reader) == [event("ann")])
        nodes.there.time.advance(by: .seconds(2))
        let other = try look(bob)
        #expect(try other.events().map(\.kind) == ["hello", "state room:bar"])
        for node in [nodes.here, nodes.there] { try pass(node, .seconds(1)) }
        for reader in [reader, other] { #expect(try await told(reader) == [event("ann", "bob")]) }
    }

    @Test("clients of a node that leaves come to another one, and nobody sees them go")
    func deploy() async throws {
        let nodes = try SpacePair()
        connect(nodes)
        nodes.pass(20)
        let (ann, bob) = (try await nodes.here.user("ann"), try await nodes.here.user("bob"))
        _ = try ann.send(who, to: room).get()
        await awaitResult { done in nodes.here.table.leaveNodes { done(()) } }
        nodes.pass(1, running: [nodes.there])
        let reader = try look(nodes.moved(ann, to: nodes.there))
        #expect(try reader.events().map(\.kind) == ["hello", "state room:bar"])
        try pass(nodes.there, .seconds(4))
        #expect(try toldNow(nodes.there) == 0)
        nodes.pass(1, running: [nodes.there])
        let other = try look(nodes.moved(bob, to: nodes.there))
        try pass(nodes.there, .seconds(5))
        for reader in [reader, other] { #expect(try await told(reader) == [event("ann", "bob")]) }
        // A while later there is nobody to wait for.
        let new = try await look(nodes.there.user("eve"), at: "room:new")
        try pass(nodes.there, .seconds(1))
        #expect(try await told(new).last?.contains("\"count\":1") == true)
    }

    private struct Gone: Error {}
}
