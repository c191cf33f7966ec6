import Locking
import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("Stores that many share")
struct SpaceTests {
    private let milk = #"{"type":"add","text":"milk"}"#
    private let tea = #"{"type":"call","text":"tea"}"#

    @Test("79: two sessions have one store: both send, both see it, and each is known by a name of its own")
    func oneStore() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        #expect(try ann.send(milk).get().version == 2)
        #expect(try bob.send(#"{"type":"add","text":"bread"}"#).get().version == 3)
        let items = try ann.state().get().items
        #expect(try bob.state().get().items == items && items.map(\.text) == ["milk", "bread"])
        #expect(Set(items.map(\.by)).count == 2 && !items.contains { $0.by == "nobody" || $0.by == ann.session.id })
        // Another key is another store, in which nobody can be recognized.
        _ = try ann.send(milk, to: "picnic").get()
        let elsewhere = try ann.state(of: "picnic").get().items
        #expect(elsewhere.map(\.text) == ["milk"] && elsewhere[0].by != items[0].by)
    }

    @Test("a space is found by its name after it left memory, and its own id is no client's")
    func comesBack() throws {
        let journal = MemoryJournal()
        let first = try SpaceFixture(journal: journal)
        _ = try first.guest().send(milk).get()
        let id = try first.space("party").id
        let second = try SpaceFixture(journal: journal)
        #expect(try second.guest().state().get().items.map(\.text) == ["milk"])
        #expect(try second.space("party").id == id)
    }

    @Test("80: two callers' equal keys are two intents, and a repetition is answered from its own receipt")
    func keys() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let first = try ann.send(milk, key: "k").get()
        #expect(try !bob.send(milk, key: "k").get().isReplayed)
        let again = try ann.send(milk, key: "k").get()
        #expect(again.isReplayed && again.version == first.version)
        #expect(try ann.state().get().items.count == 2)
    }

    @Test("80: numbers count for each caller")
    func numbers() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        for client in [ann, bob] {
            #expect(try !client.send(milk, name: .sequence(1, epoch: "e")).get().isReplayed)
            #expect(try !client.send(milk, name: .sequence(2, epoch: "e")).get().isReplayed)
        }
        #expect(try ann.send(milk, name: .sequence(1, epoch: "e")).get().isReplayed)
        #expect(try ann.state().get().items.count == 4)
    }

    @Test("one caller's condition fails when another changed the store")
    func conditions() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        let version = try ann.send(milk).get().version
        _ = try bob.send(milk).get()
        #expect(try ann.send(milk, ifMatch: { $0.contains(version) }).code == .preconditionFailed)
        #expect(try ann.state().get().items.count == 2)
    }

    @Test("81: who has ended its session, or signed in under another credential, does nothing in a space any more")
    func ended() async throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        _ = try ann.send(milk).get()
        try fixture.table.ended(ann.session)
        #expect(try ann.send(milk).code == .gone)
        #expect(try ann.state().code == .gone)
        // What it did before stands.
        #expect(try bob.state().get().items.count == 1)
        _ = try await fixture.table.identify(
            bob.session, bob.token, nil, as: Principal(subject: "bob"), proof: ProofHash.of("a proof")
        ).get()
        #expect(try bob.send(milk).code == .signedOut)
    }

    @Test("81, 94: a caller that ends while its intent waits is refused, and the others' intents run")
    func endsWhileWaiting() throws {
        let journal = HeldJournal(MemoryJournal())
        let fixture = try SpaceFixture(journal: journal)
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        _ = try ann.send(milk).get()
        let space = try fixture.space("party")
        let chores = try #require(FeatureID("chores:party"))
        let answers = [Box<IntentResult>(), Box<IntentResult>(), Box<IntentResult>()]
        journal.hold()
        for (answer, client) in zip(answers, [bob, ann, bob]) {
            space.send(IntentRequest(body: Array(milk.utf8), client: client.client), to: chores) { answer.set($0) }
        }
        // The first one is being appended, the others wait.
        ann.session.end(.ended)
        journal.release()
        #expect(answers[0].value?.code == nil && answers[2].value?.code == nil)
        #expect(answers[1].value?.code == .gone)
        #expect(try bob.state().get().items.count == 3)
    }

    @Test("81: a rule is asked at each act, also of anonymous callers")
    func rules() async throws {
        let fixture = try SpaceFixture(rule: { who, key, access in
            key == "open" ? access == .read || who != nil : who?.claim("role") == "host"
        })
        let guest = try fixture.guest()
        let host = try await fixture.user("hal", ["role": "host"])
        #expect(try guest.state(of: "open").get().items.isEmpty)
        #expect(try guest.send(milk, to: "open").code == .forbidden)
        #expect(try guest.state().code == .forbidden)
        #expect(try host.send(milk).get().version == 2)
        #expect(try host.state().get().items.count == 1)
    }

    @Test("nobody disposes of a shared store without a rule that allows it, and a session's end ends no space")
    func disposal() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        _ = try ann.send(milk).get()
        let removed = Box<Result<Bool, StoreError>>()
        try fixture.space("party").removeStore(try #require(FeatureID("chores:party")), for: ann.client) {
            removed.set($0)
        }
        #expect(removed.value?.code == .forbidden)
        try fixture.table.ended(ann.session)
        #expect(try fixture.guest().state().get().items.count == 1)
    }

    @Test("a shared feature's turns send to no session's feature, a session has no shared store, and says so")
    func chains() throws {
        let fixture = try SpaceFixture()
        let ann = try fixture.guest()
        #expect(try ann.send(#"{"type":"sibling"}"#).code == .featureNotFound)
        let answer = Box<IntentResult>()
        ann.session.send(
            IntentRequest(body: Array(milk.utf8)), to: try #require(FeatureID("chores:party"))
        ) { answer.set($0) }
        #expect(answer.value?.code == .featureNotFound)
    }

    @Test("a key that the maker refuses is no instance, and leaves nothing")
    func refusedKey() throws {
        let fixture = try SpaceFixture()
        #expect(try fixture.guest().send(milk, to: "none").code == .featureNotFound)
        #expect(try fixture.space("none").storeIDs.isEmpty)
    }

    @Test("80: a session makes 32 spaces an hour, and no other session is held up by that")
    func newSpaces() throws {
        let fixture = try SpaceFixture()
        let (ann, bob) = (try fixture.guest(), try fixture.guest())
        for number in 1...32 { _ = try fixture.space("\(number)", for: ann) }
        for number in 33...1_000 {
            let error = #expect(throws: StoreError.self) { _ = try fixture.space("\(number)", for: ann) }
            #expect(error?.code == .tooManyNewSpaces && error?.retryAfter != nil)
        }
        _ = try fixture.space("1000", for: bob)
        // What there is takes nothing of it.
        #expect(throws: Never.self) { _ = try fixture.space("1000", for: ann) }
        fixture.time.advance(by: .seconds(3_600 / 32 + 1))
        #expect(throws: Never.self) { _ = try fixture.space("1001", for: ann) }
    }

    @Test("95: server code sends to a space once for each name, and its turn has no sender")
    func outside() async throws {
        let fixture = try SpaceFixture()
        let chores = try #require(FeatureID("chores:party"))
        for _ in 1...2 {
            let result = await fixture.table.deliver(
                .intent(.add(text: "milk"), of: Chores.self), toShared: chores, once: "payment-7")
            #expect(result.code == nil)
        }
        #expect(try fixture.guest().state().get().items == [Chores.Item(text: "milk", by: "nobody")])
    }

    @Test("80: requests that wait for one look-up of a space have each a permission of their own")
    func permissions() throws {
        let journal = HeldJournal(MemoryJournal())
        let fixture = try SpaceFixture(journal: journal)
        let name = try #require(SpaceName("chores:party"))
        let permits: [(@Sendable () -> Duration?)?] = [nil, { .seconds(9) }, { nil }, { .seconds(9) }, nil]
        let found = permits.map { _ in Box<SessionLookup>() }
        journal.holdLoads()
        for (permit, found) in zip(permits, found) { fixture.table.space(name, permit: permit) { found.set($0) } }
        journal.releaseLoads()
        let made = try #require(found[2].value?.session)
        // The last but one finds what was made; the others may not make it, and it has no store.
        #expect(found.map { $0.value?.session === made } == [false, false, true, true, false])
        guard case .unknown? = found[0].value, case .failed(let error)? = found[1].value,
            case .unknown? = found[4].value
        else {
            Issue.record("\(found.map(\.value))")
            return
        }
        #expect(error.code == .tooManyNewSpaces)
        _ = try fixture.guest().send(milk).get()
        let stored = Box<SessionLookup>()
        fixture.table.space(name, permit: nil) { stored.set($0) }
        #expect(stored.value?.session === made)
    }

    @Test("80: a key that ran before a sign-in is answered from its receipt after it")
    func keyAcrossSignIn() async throws {
        let fixture = try SpaceFixture()
        let guest = try fixture.guest()
        let first = try guest.send(milk, key: "k").get()
        let signedIn = try await fixture.table.identify(
            guest.session, guest.token, nil, as: Principal(subject: "ann"), proof: ProofHash.of("a proof")
        ).get()
        guard case .signedIn(let session, let credential, let token) = signedIn else { throw SessionTable.NotLive() }
        let ann = SpaceClient(fixture: fixture, session: session, token: token, credential: credential)
        let again = try ann.send(milk, key: "k").get()
        #expect(again.isReplayed && again.version == first.version)
        #expect(try ann.state().get().items.count == 1)
    }

    @Test("89: a debug build ends where a thread takes a session's lock under another's")
    func lockUnderLock() async {
        #if DEBUG
            await #expect(processExitsWith: .failure) {
                let (one, other) = (SoleLock(0), SoleLock(0))
                one.withLock { _ in other.withLock { _ in } }
            }
        #endif
    }

    @Test("93: what waits in a space keeps its caller's session in memory")
    func pins() throws {
        let journal = HeldJournal(MemoryJournal())
        let fixture = try SpaceFixture(
            journal: journal,
            change: { limits in (limits.evictAfter, limits.passivateAfter) = (.seconds(1), .seconds(1)) })
        let ann = try fixture.guest()
        _ = try ann.send(milk).get()
        let answer = Box<IntentResult>()
        journal.hold()
        try fixture.space("party").send(
            IntentRequest(body: Array(milk.utf8), client: ann.client), to: try #require(FeatureID("chores:party"))
        ) { answer.set($0) }
        fixture.time.advance(by: .seconds(60))
        fixture.table.sweep(part: 1)
        #expect(!ann.session.hasLeft)
        journal.release()
        #expect(answer.value?.code == nil)
        fixture.table.sweep(part: 1)
        #expect(ann.session.hasLeft)
    }
}
