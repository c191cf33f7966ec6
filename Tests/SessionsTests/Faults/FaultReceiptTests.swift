import MVI
import SessionJournal
import Sessions
import TestSupport
import Testing

/// Faults in keys and numbers of requests.
@Suite("Faults of receipts and numbers")
struct FaultReceiptTests {
    private let probe: FeatureID

    init() throws { probe = try Probes().first }

    @Test("an expired key is free even if the append that removed its receipt failed")
    func forgottenReceipt() throws {
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let table = try cluster.node(Probe.definition(), journal: journal, limits: { $0.receiptLife = .seconds(60) })
        let (session, _) = try table.made(.bearer)
        #expect(try session.told(.put(text: "1"), to: probe, name: .key("a")) == "ran")
        cluster.time.advance(by: .seconds(61))
        journal.fail(.unavailable)
        #expect(try session.told(.put(text: "2"), to: probe, name: .key("b")) == "unavailable")
        journal.fail(nil)
        let told = try session.told(.put(text: "1"), to: probe, name: .key("a"))
        let entries = try session.entries(of: probe)
        do {
            #expect(told == "ran")
            #expect(entries == ["1", "1"])
        }
    }

    @Test("48: labels that an append would have dropped from the journal go with the next one if it fails")
    func forgottenLabels() throws {
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let table = try cluster.node(Probe.definition(), journal: journal)
        let (session, _) = try table.made(.bearer)
        for text in ["a", "b", "c"] { try session.told(.say(text: text), to: probe) }
        #expect(try journal.keptLabels(of: session) == 3)
        // Their receipts have expired.
        cluster.time.advance(by: .seconds(301))
        table.sweep(part: 1)
        journal.fail(.unavailable)
        #expect(try session.told(.put(text: "1"), to: probe) == "unavailable")
        journal.fail(nil)
        #expect(try session.told(.put(text: "2"), to: probe) == "ran")
        let kept = try journal.keptLabels(of: session)
        do {
            #expect(kept == 0)
        }
    }

    @Test("30: a lost label is reported after a restart even if the append that should have recorded it failed")
    func forgottenLoss() throws {
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let table = try cluster.node(
            FeatureDefinition(Tally()), Probe.definition(), journal: journal, limits: { $0.outboxLabels = 2 })
        let (session, token) = try table.made(.bearer)
        let tally = try #require(FeatureID("tally"))
        // The third replaces the first, which no client got.
        #expect(try session.told(#"{"type":"shout","text":"a"}"#, to: tally) == "ran")
        #expect(try session.told(#"{"type":"whisper","text":"b"}"#, to: tally) == "ran")
        #expect(try session.told(#"{"type":"shout","text":"c"}"#, to: tally) == "ran")
        journal.fail(.unavailable)
        #expect(try session.told(.put(text: "1"), to: probe) == "unavailable")
        journal.fail(nil)
        // The second has expired, and another store's append reports that.
        cluster.time.advance(by: .seconds(11))
        table.sweep(part: 1)
        #expect(try session.told(.put(text: "2"), to: probe) == "ran")

        let restarted = try cluster.node(FeatureDefinition(Tally()), Probe.definition()).live(token)
        let events = try restarted.opened(.features([tally]), from: .unspecified).read()
        #expect(try events.said == ["c"])
        do {
            #expect(events.names.contains("reset"))
        }
    }

    @Test("a client of an Intent-Epoch continues after 64 newer ones while its receipts are kept")
    func manyEpochs() throws {
        let (session, _) = try Cluster().node(Probe.definition()).made(.bearer)
        for number in 1...3 {
            let name = IntentRequest.Name.sequence(UInt64(number), epoch: "old")
            #expect(try session.told(.put(text: "\(number)"), to: probe, name: name) == "ran")
        }
        for index in 0..<64 {
            let name = IntentRequest.Name.sequence(1, epoch: "new\(index)")
            #expect(try session.told(.put(text: "x"), to: probe, name: name) == "ran")
        }
        #expect(try session.told(.put(text: "3"), to: probe, name: .sequence(3, epoch: "old")) == "replayed")
        let told = try session.told(.put(text: "4"), to: probe, name: .sequence(4, epoch: "old"))
        do {
            #expect(told == "ran")
        }
    }

    @Test("a number behind one that is in flight is judged when its turn comes, and runs")
    func numberBehindOneInFlight() throws {
        let journal = HeldJournal()
        let (session, _) = try Cluster().node(Probe.definition(), journal: journal).made(.bearer)
        try session.told(.put(text: "new"), to: probe)
        journal.hold()
        let first = try session.send(.put(text: "1"), to: probe, name: .sequence(1, epoch: "e"))
        let second = try session.send(.put(text: "2"), to: probe, name: .sequence(2, epoch: "e"))
        journal.release()
        #expect(first.told == "ran")
        do {
            #expect(second.told == "ran")
        }
    }

    @Test("a number behind one that fails is refused with the number that is expected, whose retry runs")
    func numberBehindOneThatFails() throws {
        let journal = HeldJournal()
        let (session, _) = try Cluster().node(Probe.definition(), journal: journal).made(.bearer)
        try session.told(.put(text: "new"), to: probe)
        journal.hold()
        let first = try session.send(.put(text: "1"), to: probe, name: .sequence(1, epoch: "e"))
        let second = try session.send(.put(text: "2"), to: probe, name: .sequence(2, epoch: "e"))
        journal.endOne(.failed(.full))
        journal.release()
        #expect([first.told, second.told] == ["full", "expected 1"])
        #expect(try session.told(.put(text: "1"), to: probe, name: .sequence(1, epoch: "e")) == "ran")
        #expect(try session.told(.put(text: "2"), to: probe, name: .sequence(2, epoch: "e")) == "ran")
        #expect(try session.entries(of: probe) == ["new", "1", "2"])
    }

    @Test("a number behind a refusal that could not be kept is not run, so that none is skipped for good")
    func numberBehindRefusalThatFails() throws {
        let cluster = Cluster()
        let journal = HeldJournal(cluster.kept)
        let (session, token) = try cluster.node(Probe.definition(), journal: journal).made(.bearer)
        try session.told(.put(text: "new"), to: probe)
        journal.hold()
        session.refuseUnread(.sequence(1, epoch: "e"))
        let second = try session.send(.put(text: "2"), to: probe, name: .sequence(2, epoch: "e"))
        journal.endOne(.failed(.full))
        journal.release()

        let restarted = try cluster.node(Probe.definition()).live(token)
        let retried = try restarted.told(.put(text: "1"), to: probe, name: .sequence(1, epoch: "e"))
        do {
            #expect(second.told == "expected 1")
            #expect(retried == "ran")
        }
    }
}
