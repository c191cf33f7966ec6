import MVI
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

/// Faults of two processes, or two builds, that write to one session.
@Suite("Faults between writers")
struct FaultWriterTests {
    private let shop: FeatureID
    private let tally: FeatureID

    init() throws {
        shop = try #require(FeatureID("shop"))
        tally = try #require(FeatureID("tally"))
    }

    @Test("51: a state of a newer schema from another process stays unchanged, and its store answers 503")
    func newerStateOfAnotherWriter() throws {
        let cluster = Cluster()
        let (old, token) = try cluster.node(FeatureDefinition(Shop.First()), FeatureDefinition(Tally())).made(.bearer)
        #expect(try old.told(#"{"type":"add"}"#, to: shop) == "ran")
        let stream = try old.opened(.features([shop]), from: .now)
        _ = try stream.read()
        let deployed = try cluster.node(FeatureDefinition(Shop.Migrated()), FeatureDefinition(Tally())).live(token)
        #expect(try deployed.told(#"{"type":"add"}"#, to: shop) == "ran")
        let kept = try deployed.text(shownOf: shop)

        let told = try (0..<3).map { _ in try old.told(#"{"type":"add"}"#, to: shop) }
        let other = try old.told(#"{"type":"add","amount":1}"#, to: tally)
        let reader = try cluster.node(FeatureDefinition(Shop.Migrated()), FeatureDefinition(Tally())).live(token)
        let (after, seen) = (try reader.text(shownOf: shop), try stream.read().names)
        #expect(other == "ran")
        #expect(kept == #"{"lines":["item 0","new"]}"#)
        do {
            #expect(told == ["unavailable", "unavailable", "unavailable"])
            #expect(after == kept)
            #expect(seen.contains("goaway"))
        }
    }

    @Test("44: a store's start is reported once after a conflict, with the committed turn")
    func startToldOnce() async throws {
        let cluster = Cluster()
        let probe = try #require(FeatureID("probe:a"))
        let (events, told) = AsyncStream.makeStream(of: String.self)
        let hooks = Probe.Hooks(observe: { observation in
            switch observation.event {
            case .started(let reason): told.yield("started \(reason)")
            case .intent(let intent): told.yield(intent.text)
            default: break
            }
        })
        let (first, token) = try cluster.node(Probe.definition()).made(.bearer)
        try first.told(.put(text: "1"), to: probe)
        let second = try cluster.node(Probe.definition(hooks)).live(token)
        try first.told(.put(text: "2"), to: probe)
        #expect(try second.told(.put(text: "3"), to: probe) == "ran")
        #expect(try second.entries(of: probe) == ["1", "2", "3"])
        var seen = events.makeAsyncIterator()
        #expect(await [seen.next(), seen.next()] == ["started restored", "3"])
    }

    @Test("51: a store of a newer schema that is not in memory answers 503 in an older build, and its state stays")
    func newerStateLoaded() throws {
        let cluster = Cluster()
        let new = try cluster.node(FeatureDefinition(Shop.Migrated()), FeatureDefinition(Tally()))
        let (session, token) = try new.made(.bearer)
        #expect(try session.told(#"{"type":"add"}"#, to: shop) == "ran")
        let kept = try session.text(shownOf: shop)

        let old = try cluster.node(FeatureDefinition(Shop.First()), FeatureDefinition(Tally())).live(token)
        let told = try old.told(#"{"type":"add"}"#, to: shop)
        let shown = old.shown(shop)
        #expect(try old.told(#"{"type":"add","amount":1}"#, to: tally) == "ran")
        let reader = try cluster.node(FeatureDefinition(Shop.Migrated()), FeatureDefinition(Tally())).live(token)
        let after = try reader.text(shownOf: shop)
        do {
            #expect(told == "unavailable")
            #expect(shown == nil)
            #expect(after == kept)
        }
    }

    @Test("a store that one process disposes and creates again has no version that another process showed")
    func madeAnewBesideAnotherWriter() throws {
        let cluster = Cluster()
        let (one, token) = try cluster.node(FeatureDefinition(Tally())).made(.bearer)
        try one.told(#"{"type":"add","amount":1}"#, to: tally)
        let other = try cluster.node(FeatureDefinition(Tally())).live(token)
        try other.told(#"{"type":"add","amount":1}"#, to: tally)
        let before = try #require(other.shown(tally))
        #expect(try one.removed(tally))

        let after = try #require(one.shown(tally))
        #expect(after.text != before.text)
        do {
            #expect(after.version > before.version)
        }
    }

    @Test("an older build shows what a newer one showed under its version, and starts no store again")
    func shownByAnotherBuild() throws {
        let cluster = Cluster()
        let (old, token) = try cluster.node(FeatureDefinition(Shop.First())).made(.bearer)
        #expect(try old.told(#"{"type":"add"}"#, to: shop) == "ran")
        let deployed = try cluster.node(FeatureDefinition(Shop.ShownAnew())).live(token)
        #expect(try deployed.told(#"{"type":"add"}"#, to: shop) == "ran")
        let shown = try #require(deployed.shown(shop))

        // After a conflict with the other build it catches up and runs again; only its own turn follows.
        #expect(try old.told(#"{"type":"add"}"#, to: shop) == "ran")
        let after = try #require(old.shown(shop))
        #expect(after.version == shown.version + 1)
    }

    @Test("52: a node adopts the log's new epoch from another node, and its streams start again")
    func epochOfAnotherWriter() throws {
        let cluster = Cluster()
        let (session, _) = try cluster.node(FeatureDefinition(Tally())).made(.bearer)
        let add = #"{"type":"add","amount":1}"#
        #expect(try session.told(add, to: tally) == "ran")
        let stream = try session.opened(.features([tally]), from: .now)
        _ = try stream.read()
        let renamed = "another-name"
        let before = try #require(session.shown(tally)).version
        let head = session.core.withLock { $0.head }
        let next = SessionHead(number: head.number + 1, nonce: 1)
        let key = try #require(session.core.withLock { $0.key })
        _ = cluster.kept.append(
            JournalBatch(session: key, expecting: head, head: next, time: .zero, epoch: renamed)
        ) { _ in }

        #expect(try session.told(add, to: tally) == "ran")
        #expect(session.epoch == renamed)
        #expect(try #require(session.shown(tally)).version == before + 2)
        #expect(try stream.read().names.contains("reset"))
    }

    @Test("a store that is disposed while its commit is in flight gets none of its old versions again")
    func disposedBehindCommit() throws {
        let cluster = Cluster()
        let add = #"{"type":"add","amount":1}"#
        let (_, token) = try cluster.node(FeatureDefinition(Tally())).made(.bearer)
        let journal = SimulatedJournal(cluster.kept, seed: 1, trouble: .none)
        let table = try cluster.node(FeatureDefinition(Tally()), journal: journal)
        table.find(token) { _ in }
        journal.settle()
        let session = try table.live(token)
        _ = session.send(add, to: tally)
        journal.settle()

        let answer = session.send(add, to: tally)
        session.removeStore(tally) { _ in }
        #expect(journal.work() && journal.tell())
        #expect(answer.told == "ran")
        let before = try #require(session.shown(tally))
        journal.settle()
        journal.crash()
        let after = try #require(cluster.node(FeatureDefinition(Tally())).live(token).shown(tally))
        #expect(after.text != before.text)
        do {
            #expect(after.version > before.version)
        }
    }

    @Test("a view that new code shows before its commit shares its version with no other view")
    func newViewNotKept() throws {
        let cluster = Cluster()
        let (old, token) = try cluster.node(FeatureDefinition(Shop.First())).made(.bearer)
        try old.told(#"{"type":"add"}"#, to: shop)
        let journal = HeldJournal(cluster.kept)
        let deployed = try cluster.node(FeatureDefinition(Shop.ShownAnew()), journal: journal).live(token)
        journal.fail(.unavailable)
        // A reader of the new build may get the committed view, or a refusal.
        let first = deployed.shown(shop)
        try old.told(#"{"type":"add"}"#, to: shop)
        let second = try #require(old.shown(shop))
        do {
            #expect(first?.version != second.version || first?.text == second.text)
        }
    }

    @Test("a version is the sequence number of the turn that last changed the view, over all stores")
    func versionIsSequence() throws {
        let probes = try Probes()
        let (session, _) = try Cluster().node(Probe.definition()).made(.bearer)
        try session.told(.put(text: "1"), to: probes.first)
        try session.told(.put(text: "2"), to: probes.first)
        let first = try #require(session.shown(probes.first))
        try session.told(.put(text: "3"), to: probes.second)
        let second = try #require(session.shown(probes.second))
        let stream = try session.opened(.all, from: .now)
        _ = try stream.read()
        try session.told(.say(text: "4"), to: probes.first)
        let label = try #require(try stream.read().named("label").first).json
        let version = try #require(label.version)
        do {
            #expect(second.version > first.version)
            #expect(label.id == "\(session.epoch).\(version).0")
        }
        #expect(try session.removed(probes.first))
        #expect(try #require(session.shown(probes.first)).version > version)
    }
}
