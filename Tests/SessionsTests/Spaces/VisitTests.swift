import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("What deleted people leave in shared stores", .timeLimit(.minutes(5)))
struct VisitTests {
    private let milk = #"{"type":"add","text":"milk"}"#
    private let bread = #"{"type":"add","text":"bread"}"#

    @Test("a space's visits are noted with a caller's first intent, then once a day, and again with a subject")
    func noted() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(journal: journal)
        let ann = try await fixture.user("ann")
        _ = try ann.state().get()
        #expect(try await journal.visits(of: "ann").isEmpty)
        _ = try ann.send(milk).get()
        let first = try #require(try await journal.visits(of: "ann").first)
        #expect(first.space == SpaceName("chores:party") && first.visit.session == ann.session.id)
        #expect(!first.visit.isForgotten)
        fixture.time.advance(by: .seconds(3600))
        _ = try ann.send(milk).get()
        #expect(try await journal.visits(of: "ann") == [first])
        fixture.time.advance(by: .seconds(24 * 3600))
        _ = try ann.send(milk).get()
        let later = try await journal.visits(of: "ann")
        #expect(later.count == 1 && later[0].visit.lastUse > first.visit.lastUse)
        // Another space has visits of its own.
        _ = try ann.send(milk, to: "picnic").get()
        #expect(try await journal.visits(of: "ann").count == 2)
    }

    @Test("a refused intent is no visit, and neither is one whose commit fails")
    func notNoted() async throws {
        let kept = MemoryJournal()
        let fixture = try SpaceFixture(journal: kept, rule: { who, _, _ in who?.subject == "ann" })
        let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
        #expect(try bob.send(milk).code == .forbidden)
        _ = try ann.send(milk).get()
        #expect(try await kept.visits(of: "bob").isEmpty)
        #expect(try await kept.visits(of: "ann").count == 1)
    }

    @Test("a person's deletion removes the person from each space: state, receipts and visits, and nobody else")
    func forgotten() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(journal: journal)
        let (ann, bob, guest) = (try await fixture.user("ann"), try await fixture.user("bob"), try fixture.guest())
        for client in [ann, bob, guest] {
            for list in ["party", "picnic"] { _ = try client.send(milk, key: "k", to: list).get() }
        }
        let data = try await fixture.table.forget(Subject(issuer: "i", id: "ann"))
        #expect(data.spaces == 2 && data.sessions == 1)
        for list in ["party", "picnic"] { #expect(try bob.state(of: list).get().items.count == 2) }
        #expect(try await journal.visits(of: "ann").isEmpty)
        #expect(try await journal.visits(of: "bob").count == 2)
        let stored = try await journal.stored("party")
        #expect(stored.receipts.count == 2)
        #expect(!stored.receipts.contains { "\($0.key)".contains(ann.session.id) })
        // The others' receipts are answered as before.
        #expect(try bob.send(milk, key: "k").get().isReplayed)
    }

    @Test("what a client sent before it signed in goes with its person")
    func signedInLater() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(journal: journal)
        let bob = try fixture.guest()
        _ = try bob.send(milk).get()
        let ann = try fixture.guest()
        _ = try ann.send(bread).get()
        _ = try await fixture.table.identify(
            ann.session, ann.token, nil, as: Principal(issuer: "i", subject: "ann"), proof: ProofHash.of("a proof")
        ).get()
        #expect(try await journal.visits(of: "ann").map(\.visit.session) == [ann.session.id])
        #expect(try await fixture.table.forget(Subject(issuer: "i", id: "ann")).spaces == 1)
        #expect(try bob.state().get().items.map(\.text) == ["milk"])
    }

    @Test("a sign-in that keeps no stores makes another person, in names, receipts, exports and deletions")
    func anotherPerson() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(journal: journal)
        let guest = try fixture.guest()
        _ = try guest.send(milk, key: "k").get()
        let signed = try await fixture.table.identify(
            guest.session, guest.token, nil, as: Principal(issuer: "i", subject: "ann"), proof: ProofHash.of("a proof"),
            keepsStores: false
        ).get()
        guard case .signedIn(let session, let credential, let token) = signed else { throw SessionTable.NotLive() }
        let ann = SpaceClient(fixture: fixture, session: session, token: token, credential: credential)
        #expect(try !ann.send(milk, key: "k").get().isReplayed)
        #expect(try ann.send(milk, key: "k").get().isReplayed)
        let names = try ann.state().get().items.map(\.by)
        #expect(Set(names).count == 2 && names.count == 2)
        let ofAnn = Subject(issuer: "i", id: "ann")
        #expect(try await fixture.table.spaces(visitedBy: ofAnn).map(\.sender) == [names[1]])
        // A renewal, or a restart, makes nobody another person.
        _ = try await fixture.table.identify(
            session, token, credential, as: Principal(issuer: "i", subject: "ann", claims: ["role": "staff"]),
            proof: ProofHash.of("another")
        ).get()
        let later = try SpaceFixture(journal: journal)
        guard case .live(let loaded, let again?) = try later.table.found(token) else { throw SessionTable.NotLive() }
        let back = SpaceClient(fixture: later, session: loaded, token: token, credential: again)
        #expect(try back.send(milk, key: "k").get().isReplayed)
        _ = try back.send(bread).get()
        #expect(try back.state().get().items.map(\.by) == names + [names[1]])
        #expect(try await later.table.forget(ofAnn).spaces == 1)
        let rest = try later.guest().state().get().items
        #expect(rest.map(\.by) == [names[0]] && rest.map(\.text) == ["milk"])
        #expect(try await journal.stored("party").receipts.count == 1)
    }

    @Test("who sent what was not in the journal when another person signed in does not become that person")
    func anotherPersonMeanwhile() async throws {
        let kept = MemoryJournal()
        let journal = HeldJournal(kept)
        let fixture = try SpaceFixture(journal: journal)
        let guest = try fixture.guest()
        let space = try fixture.space("party", for: guest)
        let answer = Box<IntentResult>()
        journal.hold()
        space.send(
            IntentRequest(body: Array(bread.utf8), client: guest.client), to: try #require(FeatureID("chores:party"))
        ) { answer.set($0) }
        try await journal.untilHeld()
        _ = try await fixture.table.identify(
            guest.session, guest.token, nil, as: Principal(issuer: "i", subject: "ann"), proof: ProofHash.of("a proof"),
            keepsStores: false
        ).get()
        journal.release()
        _ = try #require(answer.value).get()
        #expect(try await kept.visits(of: "ann").isEmpty)
        #expect(try await fixture.table.forget(Subject(issuer: "i", id: "ann")).spaces == 0)
        #expect(try fixture.guest().state().get().items.map(\.text) == ["bread"])
    }

    @Test("what a client sent goes with its person also where the client signed in before its turn was in the journal")
    func signedInMeanwhile() async throws {
        let kept = MemoryJournal()
        let journal = HeldJournal(kept)
        let fixture = try SpaceFixture(journal: journal)
        let ann = try fixture.guest()
        let space = try fixture.space("party", for: ann)
        let answer = Box<IntentResult>()
        journal.hold()
        space.send(
            IntentRequest(body: Array(bread.utf8), client: ann.client), to: try #require(FeatureID("chores:party"))
        ) { answer.set($0) }
        try await journal.untilHeld()
        _ = try await fixture.table.identify(
            ann.session, ann.token, nil, as: Principal(issuer: "i", subject: "ann"), proof: ProofHash.of("a proof")
        ).get()
        #expect(try await kept.visits(of: "ann").isEmpty)
        journal.release()
        _ = try #require(answer.value).get()
        #expect(try await kept.visits(of: "ann").map(\.visit.session) == [ann.session.id])
        #expect(try await fixture.table.forget(Subject(issuer: "i", id: "ann")).spaces == 1)
        #expect(try fixture.guest().state().get().items.isEmpty)
    }

    @Test("a person's deletion waits for the person's turns under way, and removes what they left")
    func underWay() async throws {
        let kept = MemoryJournal()
        let journal = HeldJournal(kept)
        let fixture = try SpaceFixture(journal: journal)
        let ann = try await fixture.user("ann")
        let space = try fixture.space("party", for: ann)
        let answer = Box<IntentResult>()
        journal.hold()
        space.send(
            IntentRequest(body: Array(bread.utf8), client: ann.client), to: try #require(FeatureID("chores:party"))
        ) { answer.set($0) }
        try await journal.untilHeld()
        let isOver = Box<Bool>()
        let deletion = Task {
            defer { isOver.set(true) }
            return try await fixture.table.forget(Subject(issuer: "i", id: "ann"))
        }
        while isOver.value == nil, space.queue.length == 0 { await Task.yield() }
        #expect(isOver.value == nil)
        journal.release()
        #expect(try await deletion.value.spaces == 1)
        #expect(try #require(answer.value).code == nil)
        #expect(try await kept.visits(of: "ann").isEmpty)
        #expect(try fixture.guest().state().get().items.isEmpty)
    }

    @Test("recorded turns of the space go, and the next ones can be read")
    func recordings() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(
            journal: journal,
            change: {
                $0.recordings = RecordingLimit(turns: 100, bytes: 1 << 20)
                $0.recordingDelay = .zero
            })
        let (ann, bob) = (try await fixture.user("ann"), try fixture.guest())
        _ = try ann.send(bread).get()
        // A state so large that the next turns would be recorded as its changes.
        let much = #"{"type":"add","text":"\#(String(repeating: "milk ", count: 200))"}"#
        for _ in 0..<8 { _ = try bob.send(much).get() }
        let space = try fixture.space("party").id
        #expect(try await fixture.table.export(space)?.turns.isEmpty == false)
        _ = try await fixture.table.forget(Subject(issuer: "i", id: "ann"))
        #expect(try await fixture.table.export(space)?.turns.isEmpty == true)
        _ = try bob.send(milk).get()
        let export = try #require(try await fixture.table.export(space))
        #expect(export.turns.count == 1)
        let turn = try #require(export.turns.first)
        #expect(!String(decoding: turn.recording, as: UTF8.self).contains("bread"))
    }

    @Test("a store that refuses fails the deletion, which an hour later is tried again by itself")
    func refused() async throws {
        let journal = MemoryJournal()
        let way = WatchedJournal(journal)
        let fixture = try SpaceFixture(journal: way)
        let (ann, bob) = (try await fixture.user("ann"), try fixture.guest())
        for list in ["party", "picnic"] { _ = try ann.send(bread, to: list).get() }
        _ = try bob.send(#"{"type":"add","text":"glue"}"#).get()
        await #expect(throws: StoreError.self) { try await fixture.table.forget(Subject(issuer: "i", id: "ann")) }
        // The other space is done.
        #expect(try bob.state(of: "picnic").get().items.isEmpty)
        #expect(try await journal.visits(.forgotten).map(\.space) == [SpaceName("chores:party")])
        _ = try bob.send(milk).get()
        let forgotten = way.nextForgotten()
        fixture.table.sweep()
        try await forgotten.wait()
        #expect(try await journal.visits(.forgotten).isEmpty)
        #expect(try bob.state().get().items.map(\.text) == ["glue", "milk"])
    }

    @Test("who comes back after a deletion is noted anew")
    func comesBack() async throws {
        let journal = MemoryJournal()
        let fixture = try SpaceFixture(journal: journal)
        _ = try await fixture.user("ann").send(bread).get()
        _ = try await fixture.table.forget(Subject(issuer: "i", id: "ann"))
        let ann = try await fixture.user("ann")
        _ = try ann.send(milk).get()
        #expect(try await journal.visits(of: "ann").map(\.visit.isForgotten) == [false])
        #expect(try ann.state().get().items.map(\.text) == ["milk"])
    }
}

/// Opens a gate when visits were deleted.
private final class WatchedJournal: InterposedJournal {
    let base: any Journal
    private let gate = Lock(Gate())

    init(_ base: any Journal) { self.base = base }

    func nextForgotten() -> Gate {
        let next = Gate()
        gate.withLock { $0 = next }
        return next
    }

    func append(_ batch: JournalBatch, done: @escaping @Sendable (AppendResult) -> Void) -> AppendResult? {
        base.append(batch, done: done)
    }

    func perform<Value: Sendable>(
        _ operation: JournalOperation, _ done: @escaping Done<Value>,
        _ body: @escaping @Sendable (@escaping Done<Value>) -> Void
    ) {
        body { [self] result in
            done(result)
            if case .forget = operation { gate.withLock { $0 }.open() }
        }
    }
}

extension MemoryJournal {
    func visits(_ query: VisitQuery) async throws -> [SpaceVisit] {
        try await awaitResult { visits(query, limit: 100, done: $0) }.get()
    }

    func visits(of subject: String) async throws -> [SpaceVisit] {
        try await visits(.subject(Subject(issuer: "i", id: subject)))
    }

    func stored(_ list: String) async throws -> StoredSession {
        let name = try #require(SpaceName("chores:\(list)"))
        let found = try await awaitResult { load(TokenHash(space: name), now: .zero, done: $0) }.get()
        guard case .found(let session) = found else { throw SessionTable.NotLive() }
        return session
    }
}
