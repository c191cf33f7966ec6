import MVI
import SessionJournal
import Sessions
import TestSupport
import Testing

/// Faults that clients of streams see. Each known issue goes with the fault.
@Suite("Faults of streams")
struct FaultStreamTests {
    private let probes: Probes

    init() throws { probes = try Probes() }

    @Test("28: a label comes after its state even if the commits of two stores have an unknown outcome")
    func unknownCommitsOfTwoStores() throws {
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let (session, _) = try cluster.node(Probe.definition(), journal: journal).made(.bearer)
        try session.told(.put(text: "new"), to: probes.first)
        try session.told(.put(text: "new"), to: probes.second)
        let client = EagerClient(try session.opened(.all, from: .now).stream)

        journal.hold()
        let answers = [
            try session.send(.say(text: "a"), to: probes.first), try session.send(.say(text: "b"), to: probes.second),
        ]
        // The first writer learns of both commits at once.
        journal.holdLoads()
        while journal.waiting > 0 { journal.endOne(.lost) }
        journal.releaseLoads()
        journal.release()

        #expect(answers.map(\.told) == ["ran", "ran"])
        #expect(try client.events.said.sorted() == ["a", "b"] && client.faults == [])
        let early = try client.events.labelsBeforeTheirState
        do {
            #expect(early == [])
        }
    }

    @Test("52: a stream shows a store that was idle in memory while another of its stores was loaded")
    func idleStoreWhileAnotherLoads() async throws {
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let table = try cluster.node(Probe.definition(), journal: journal)
        let (session, token) = try table.made(.bearer)
        try session.told(.put(text: "a"), to: probes.first)
        try session.told(.put(text: "b"), to: probes.second)
        cluster.time.advance(by: .seconds(400))
        table.sweep(part: 1)
        // A request loads the first again; then nothing happens for a while.
        let again = try table.live(token)
        _ = try again.stateNow(of: probes.first)
        cluster.time.advance(by: .seconds(400))

        journal.holdLoads()
        let opened = Box<Result<SessionStream, StoreError>>()
        try table.live(token).openStream(.features([probes.first, probes.second]), from: .now) { opened.set($0) }
        try await journal.untilLoadHeld()
        table.sweep(part: 1)
        journal.releaseLoads()

        let events = try TestStream(#require(opened.value).get()).read()
        let greeted = try events.first?.json.features
        let states = try Set(events.named("state").map { try $0.json.feature })
        do {
            #expect(greeted == ["probe:a", "probe:b"])
            #expect(states == ["probe:a", "probe:b"])
        }
    }

    @Test("30: labels that overflow an unread open stream cause a reset for the next client without a cursor")
    func overflowOfDeadStream() throws {
        let fixture = try Fixture { $0.outboxLabels = 2 }
        let dead = try fixture.stream("tally")
        _ = try dead.read()
        for text in ["a", "b", "c", "d"] { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        dead.stream.closed()

        let events = try fixture.stream("tally").read()
        #expect(try events.said == ["c", "d"])
        let resets = try events.named("reset").map { try $0.json }
        do {
            #expect(resets.map(\.reason) == ["overflow"])
            #expect(resets.map(\.labelsLost) == [true])
        }
    }

    @Test("30: a reset that the socket did not write is sent to the next client without a cursor, and to no other")
    func resetNotTaken() throws {
        let fixture = try Fixture { $0.outboxLabels = 2 }
        for text in ["a", "b", "c", "d"] { try fixture.send(#"{"type":"shout","text":"\#(text)"}"#) }
        let cut = try fixture.stream("tally")
        // It was read, but the socket wrote nothing of it.
        #expect(try #require(try cut.readBatch()).names.contains("reset"))
        cut.stream.closed()

        let taker = try fixture.stream("tally")
        let events = try taker.read()
        do {
            #expect(events.names.contains("reset"))
        }
        #expect(try events.said == ["c", "d"])
        taker.stream.closed()
        #expect(try !fixture.stream("tally").read().names.contains("reset"))
    }

    @Test("37: a label arrives even while two large views change between all writes to the stream")
    func labelBesideLargeViews() throws {
        let (session, _) = try Cluster().node(Probe.definition()).made(.bearer)
        let stream = try session.opened(.features([probes.first, probes.second]), from: .now)
        try session.told(.fill(text: "x", bytes: 80_000), to: probes.first)
        try session.told(.fill(text: "x", bytes: 80_000), to: probes.second)
        _ = try stream.read()

        try session.told(.say(text: "hello"), to: probes.first)
        var said: [String] = []
        for round in 0..<10 {
            try session.told(.fill(text: "\(round)", bytes: 80_000), to: probes.first)
            try session.told(.fill(text: "\(round)", bytes: 80_000), to: probes.second)
            said += try stream.readBatch()?.said ?? []
        }
        do {
            #expect(said == ["hello"])
        }
        #expect(try said + stream.read().said == ["hello"])
    }
}
