import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing

/// Faults in the order of waiting requests.
@Suite("75: lanes", .timeLimit(.minutes(10)))
struct FaultLaneTests {
    /// Returns a session with a held append, so that requests wait; at most four of a client's intents may.
    private func busyFixture() throws -> ProductFixture {
        let fixture = try ProductFixture { $0.queuedIntents = 4 }
        try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket)
        try fixture.send(#"{"type":"ring","after":1}"#, to: fixture.till)
        fixture.time.advance(by: .seconds(2))
        fixture.journal.hold()
        _ = fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket)
        #expect(fixture.journal.waiting == 1)
        return fixture
    }

    /// Sends intents until one more is refused.
    private func fillWithIntents(_ fixture: ProductFixture) -> [Answer] {
        let answers = (0..<4).map { _ in fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket) }
        #expect(fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket).told == "busy")
        #expect(answers.allSatisfy { $0.value == nil })
        return answers
    }

    /// Reads stores that do not exist yet until one more read is refused.
    private func fillWithOpens(_ fixture: ProductFixture) throws -> [Box<Result<StateSnapshot, StoreError>>] {
        let reads = (0..<5).map { _ in Box<Result<StateSnapshot, StoreError>>() }
        let feature = try #require(FeatureID("counter"))
        for read in reads { fixture.session.state(of: feature) { read.set($0) } }
        #expect(reads.last?.value?.code == .busy)
        return reads.dropLast()
    }

    private func give(_ fixture: ProductFixture) -> Answer {
        let answer = Answer()
        fixture.session.deliver(
            .action(Trolley.Action.give(items: 10), of: Trolley.self), to: fixture.basket, once: nil, makesStore: true
        ) { answer.set($0) }
        return answer
    }

    @Test("a client with the maximum of waiting intents blocks no reminder, delivery or read")
    func intents() throws {
        let fixture = try busyFixture()
        let answers = fillWithIntents(fixture)
        let (fired, read) = (Box<Bool>(), Box<Result<StateSnapshot, StoreError>>())
        fixture.session.fireReminders { fired.set(true) }
        let given = give(fixture)
        fixture.session.state(of: FeatureID(name: "counter", key: nil)) { read.set($0) }
        #expect(fired.value == nil && given.value == nil && read.value == nil)
        fixture.journal.release()
        #expect(fired.value == true && given.told == "ran")
        #expect(read.value?.code == .featureNotFound)
        #expect(answers.map(\.told) == ["ran", "ran", "ran", "ran"])
        #expect(try fixture.items == 16)
        #expect(try fixture.state(Till.State.self, fixture.till).rings == 1)
    }

    @Test("neither does a client with the maximum of waiting store openings, and intents have their own limit")
    func opens() throws {
        let fixture = try busyFixture()
        let reads = try fillWithOpens(fixture)
        let fired = Box<Bool>()
        fixture.session.fireReminders { fired.set(true) }
        let given = give(fixture)
        _ = fillWithIntents(fixture)
        #expect(fired.value == nil && given.value == nil)
        fixture.journal.release()
        #expect(fired.value == true && given.told == "ran")
        #expect(reads.allSatisfy { $0.value?.code == .featureNotFound })
        #expect(try fixture.state(Till.State.self, fixture.till).rings == 1)
    }

    @Test("lanes take turns: a single job in its lane is in the next batch, with any number in the others")
    func turns() async throws {
        let fixture = try ProductFixture { $0.queuedIntents = 1_000 }
        try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket)
        fixture.journal.hold()
        let answers = (0..<300).map { _ in fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket) }
        let given = give(fixture)
        fixture.journal.endOne(.committed)
        #expect(given.value == nil)
        fixture.journal.endOne(.committed)
        #expect(given.told == "ran")
        fixture.journal.release()
        for answer in answers { _ = try await answer.wait().get() }
        #expect(try fixture.items == 311)
    }
}
