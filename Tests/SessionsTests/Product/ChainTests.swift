import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing

@Suite("58: a turn and the other stores of its session")
struct ChainTests {
    @Test("58: a turn reads another store, and what it sends there is committed with it")
    func together() throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        let before = fixture.journal.appended
        let outcome = try fixture.send(#"{"type":"order"}"#, to: fixture.till).get()
        #expect(try fixture.orders == [3])
        #expect(try fixture.items == 0)
        // The new store, the order and the emptied basket: one append.
        #expect(fixture.journal.appended == before + 1)
        #expect(outcome.version < (try fixture.session.stateNow(of: fixture.basket)).version)
    }

    @Test("58: an action of another store is performed in the same commit, and its refusal reverts the turn")
    func action() throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":3}"#, to: fixture.basket)
        let before = fixture.journal.appended
        try fixture.send(#"{"type":"give","items":2}"#, to: fixture.till)
        #expect(try fixture.items == 5)
        #expect(try fixture.orders == [-2])
        #expect(fixture.journal.appended == before + 1)
        let refused = try fixture.send(#"{"type":"give","items":0}"#, to: fixture.till)
        #expect(refused.refusalCode == "no-gift")
        #expect(try fixture.items == 5)
        #expect(try fixture.orders == [-2])
    }

    @Test("58: a missing store is created")
    func made() throws {
        let fixture = try ProductFixture()
        let refused = try fixture.send(#"{"type":"order"}"#, to: fixture.till)
        #expect(refused.code == .refused)
        #expect(refused.refusalCode == "empty-basket")
        #expect(fixture.session.hasStore(fixture.basket))
        #expect(try fixture.orders.isEmpty)
    }

    @Test("58: a store whose load failed is loaded again for the next turn that needs it")
    func loadedAnew() throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let first = try ProductFixture(kept: kept, time: time)
        try first.send(#"{"type":"put","items":3}"#, to: first.basket)
        try first.send(#"{"type":"stamp"}"#, to: first.till)
        let second = try ProductFixture(kept: kept, time: time)
        let session = try second.table.live(first.token)
        #expect(try session.told(#"{"type":"stamp"}"#, to: second.till) == "ran")
        second.journal.failLoads(.unavailable)
        #expect(try session.told(#"{"type":"order"}"#, to: second.till) == "unavailable")
        second.journal.failLoads(nil)
        #expect(try session.told(#"{"type":"order"}"#, to: second.till) == "ran")
    }

    @Test("58: a refusal in the chain reverts the chain, and is the answer")
    func refused() throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":2}"#, to: fixture.basket)
        let refused = try fixture.send(#"{"type":"orderAndRefuse"}"#, to: fixture.till)
        #expect(refused.code == .conflict)
        #expect(refused.refusalCode == "not-now")
        #expect(try fixture.orders.isEmpty)
        #expect(try fixture.items == 2)
        // Both stores continue from their states.
        try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket)
        try fixture.send(#"{"type":"order"}"#, to: fixture.till)
        #expect(try fixture.orders == [3])
    }

    @Test("58, 68: a throw in the chain undoes the chain, and is handed to the feature that threw and to the sender's")
    func threw() throws {
        let (ofBasket, ofTill) = (Collected<String>(), Collected<String>())
        let fixture = try ProductFixture(till: Till(failures: ofTill), basket: Trolley(failures: ofBasket))
        try fixture.send(#"{"type":"put","items":2}"#, to: fixture.basket)
        #expect(try fixture.send(#"{"type":"orderAndJam"}"#, to: fixture.till).code == .failed)
        #expect(try fixture.orders.isEmpty)
        #expect(try fixture.items == 2)
        #expect(ofBasket.all == ["execute"])
        #expect(ofTill.all == ["execute"])
    }

    @Test("58: a chain is bounded")
    func bounded() throws {
        let fixture = try ProductFixture()
        #expect(try fixture.send(#"{"type":"loop"}"#, to: fixture.till).code == .failed)
        #expect(try fixture.send(#"{"type":"stamp"}"#, to: fixture.till).code == nil)
    }

    @Test("58: a failed commit changes no store of the chain")
    func failedCommit() throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"put","items":2}"#, to: fixture.basket)
        fixture.journal.fail(.full)
        #expect(try fixture.send(#"{"type":"order"}"#, to: fixture.till).code == .full)
        fixture.journal.fail(nil)
        #expect(try fixture.items == 2)
        try fixture.send(#"{"type":"order"}"#, to: fixture.till)
        #expect(try fixture.orders == [2])
        #expect(try fixture.items == 0)
    }

    @Test("58: a store that has left memory is loaded before the turn runs")
    func passive() async throws {
        let kept = MemoryJournal()
        let first = try ProductFixture(kept: kept)
        try first.send(#"{"type":"put","items":4}"#, to: first.basket)
        try first.send(#"{"type":"stamp"}"#, to: first.till)
        let second = try ProductFixture(kept: kept)
        let session = try second.table.live(first.token)
        second.journal.holdLoads()
        let answer = Answer()
        session.send(IntentRequest(body: Array(#"{"type":"order"}"#.utf8)), to: second.till) { answer.set($0) }
        try await second.journal.untilLoadHeld()
        second.journal.releaseLoads()
        _ = try await answer.wait().get()
        #expect(String(decoding: try session.stateNow(of: second.till).view, as: UTF8.self).contains(#""orders":[4]"#))
    }

    @Test("59: a turn that runs again after a conflict has the same time and ids")
    func inputsAgain() throws {
        let kept = MemoryJournal()
        let first = try ProductFixture(kept: kept)
        try first.send(#"{"type":"stamp"}"#, to: first.till)
        let second = try ProductFixture(kept: kept, time: first.time)
        let other = try second.table.live(first.token)
        _ = try other.stateNow(of: second.basket)
        first.journal.hold()
        let answer = first.post(#"{"type":"stamp"}"#, to: first.till)
        let theirs = Answer()
        other.send(IntentRequest(body: Array(#"{"type":"put","items":1}"#.utf8)), to: second.basket) { theirs.set($0) }
        _ = try #require(theirs.value).get()
        first.time.step(by: .seconds(100))
        // Our append has a conflict, and the turn runs again.
        first.journal.releaseOne(.conflict)
        first.journal.release()
        _ = try #require(answer.value).get()
        let state = try first.state(Till.State.self, first.till)
        #expect(state.times.count == 2)
        #expect(state.times[1] - state.times[0] < .seconds(100))
        #expect(Set(state.ids).count == 2)
        #expect(state.ids.allSatisfy { $0.count == 36 })
    }

    @Test("56: a turn knows who sent its intent, and in which session")
    func whoAsks() throws {
        let fixture = try ProductFixture()
        let stream = TestStream(
            try #require(
                {
                    let opened = Box<Result<SessionStream, StoreError>>()
                    fixture.session.openStream(.all, from: .now) { opened.set($0) }
                    return opened.value
                }()
            ).get())
        let principal = Principal(issuer: "i", subject: "anna")
        try fixture.send(#"{"type":"who"}"#, to: fixture.till, principal: principal)
        try fixture.send(#"{"type":"who"}"#, to: fixture.till)
        let labels = try stream.read().named("label").map { String(decoding: $0.data, as: UTF8.self) }
        #expect(labels.count == 2)
        #expect(labels[0].contains("anna in \(fixture.session.id)"))
        #expect(labels[1].contains("nobody in \(fixture.session.id)"))
    }

    @Test("45: interceptors judge an intent once whose turn needs another store")
    func judgedOnce() throws {
        let judged = Collected<String>()
        let fixture = try ProductFixture(till: Till(judged: { judged.append("\($0)") }))
        #expect(try fixture.send(#"{"type":"order"}"#, to: fixture.till).refusalCode == "empty-basket")
        #expect(judged.all == ["order"])
    }

    @Test("45: interceptors judge an intent once whose turn needs a store that has to be loaded")
    func judgedOnceBesideLoad() async throws {
        let (kept, time, judged) = (MemoryJournal(), ManualTime(), Collected<String>())
        let first = try ProductFixture(kept: kept, time: time)
        try first.send(#"{"type":"put","items":2}"#, to: first.basket)
        let second = try ProductFixture(till: Till(judged: { judged.append("\($0)") }), kept: kept, time: time)
        let session = try second.table.live(first.token)
        second.journal.holdLoads()
        let answer = session.send(#"{"type":"order"}"#, to: second.till)
        #expect(answer.value == nil)
        second.journal.releaseLoads()
        #expect(try await answer.wait().told == "ran")
        #expect(judged.all == ["order"])
    }

    @Test("45: interceptors judge an intent once that waits for another store and then loses against another writer")
    func judgedOnceBesideConflict() throws {
        let judged = Collected<String>()
        let fixture = try ProductFixture(till: Till(judged: { judged.append("\($0)") }))
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        fixture.journal.hold()
        // It creates the basket, which it reads, and sells goods that it does not have.
        let answer = fixture.post(#"{"type":"order"}"#, to: fixture.till)
        fixture.journal.releaseOne(.conflict)
        fixture.journal.release()
        #expect(answer.value?.refusalCode == "empty-basket")
        #expect(judged.all == ["stamp", "order"])
    }

    @Test("40, 58: a request waits for the work of a store that launched work sent to")
    func settles() async throws {
        let (packing, executor) = (Gate(), SteppedExecutor())
        let fixture = try ProductFixture(basket: Trolley(packing: packing), executor: executor)
        let answer = fixture.post(#"{"type":"delegate"}"#, to: fixture.till, wait: .seconds(10))
        var random = SplitMix(seed: 1)
        while executor.step(&random) {}
        #expect(answer.value == nil)
        packing.open()
        while executor.step(&random) {}
        #expect(try answer.value?.get().isSettled == true)
        #expect(try fixture.items == 100)
    }

    @Test("40, 58: a request waits for work that begins in the same batch in which its other work ends with its store")
    func settlesAfterDisposal() async throws {
        let (packing, executor) = (Gate(), SteppedExecutor())
        let fixture = try ProductFixture(basket: Trolley(packing: packing), executor: executor)
        let answer = fixture.post(#"{"type":"delegate"}"#, to: fixture.till, wait: .seconds(10))
        fixture.journal.hold()
        // One is in flight, the other causes the step to run before the disposal.
        for _ in 0..<2 { _ = fixture.post(#"{"type":"put","items":1}"#, to: fixture.basket) }
        var random = SplitMix(seed: 1)
        while executor.step(&random) {}
        let removed = Box<Result<Bool, StoreError>>()
        fixture.session.removeStore(fixture.till) { removed.set($0) }
        fixture.journal.release()
        while executor.step(&random) {}
        #expect(try removed.value?.get() == true)
        #expect(answer.value == nil)
        packing.open()
        while executor.step(&random) {}
        #expect(try answer.value?.get().isSettled == true)
        #expect(try fixture.items == 102)
    }

    @Test("8: a bootstrap that another store refuses is reported, and its store answers intents")
    func refusedBootstrap() throws {
        let failures = Collected<String>()
        let table = SessionTable(
            environment: SessionEnvironment(
                features: try FeatureRegistry([FeatureDefinition(Trolley()), FeatureDefinition(Opening())]),
                journal: MemoryJournal(),
                report: {
                    if case .failure(let failure, let place) = $0 {
                        failures.append("\(place.instance) \(failure.stage)")
                    }
                }
            ))
        let session = try table.made(.bearer).session
        let opening = FeatureID(name: "opening", key: nil)
        #expect(try session.told(#"{"type":"note"}"#, to: opening) == "ran")
        #expect(failures.all == ["opening bootstrap"])
        #expect(table.diagnostics.bootstrapFailure != nil)
        #expect(try session.text(shownOf: opening).contains(#""notes":1"#))
    }
}

/// Sends an intent to the basket at its start, which the basket refuses.
private struct Opening: Feature {
    struct State: Codable, Equatable, Sendable { var notes = 0 }
    enum Intent: Codable, Sendable { case note }
    static let examples: [Intent] = [.note]
    static let name = "opening"
    let initialState = State()

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) throws { turn.send(.refuseEmpty, to: Trolley.self) }
    func reduce(_ state: inout State, _ intent: Intent) { state.notes += 1 }
}
