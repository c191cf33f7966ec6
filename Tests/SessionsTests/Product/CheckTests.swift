import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import Testing

@Suite("57: asynchronous checks")
struct CheckTests {
    /// Returns a till that gets prices when the gate is open.
    private func waitingTill(_ gate: Gate) -> Till {
        Till(prices: { _ in
            try await gate.wait()
            return 5
        })
    }

    @Test("57: a check adds its result by an action, which no client can send")
    func found() async throws {
        let fixture = try ProductFixture(till: Till(prices: { $0 == "tea anna" ? 7 : 1 }))
        let principal = Principal(issuer: "i", subject: "anna")
        _ = try await fixture.post(#"{"type":"buy","item":"tea"}"#, to: fixture.till, principal: principal).wait().get()
        #expect(try fixture.orders == [7])
        _ = try await fixture.post(#"{"type":"buy","item":"gift"}"#, to: fixture.till).wait().get()
        #expect(try fixture.orders == [7, 0])
    }

    @Test("57: a check refuses, with a code and a place")
    func refused() async throws {
        let fixture = try ProductFixture(
            till: Till(prices: { _ in throw Refusal(.notFound, code: "no-such", "No such item.", pointer: "/item") }))
        let result = try await fixture.post(#"{"type":"buy","item":"x"}"#, to: fixture.till).wait()
        guard case .failure(let error) = result else { return #expect(Bool(false), "it was not refused") }
        #expect(error.code == .notFound)
        #expect(error.refusalCode == "no-such")
        #expect(error.issues == [StoreError.Issue(pointer: "/item", detail: "No such item.")])
    }

    @Test("57: a check that throws is a failure of the feature")
    func failed() async throws {
        let failures = Collected<String>()
        let fixture = try ProductFixture(till: Till(prices: { _ in throw Till.Broken() }, failures: failures))
        let result = try await fixture.post(#"{"type":"buy","item":"x"}"#, to: fixture.till).wait()
        #expect(result.code == .failed)
        #expect(failures.all == ["check"])
    }

    @Test("57: while a check runs other intents continue")
    func notWaiting() async throws {
        let gate = Gate()
        let fixture = try ProductFixture(till: waitingTill(gate))
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        let answer = fixture.post(#"{"type":"buy","item":"tea"}"#, to: fixture.till)
        #expect(try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket).code == nil)
        #expect(try fixture.send(#"{"type":"stamp"}"#, to: fixture.till).code == nil)
        #expect(answer.value == nil)
        gate.open()
        _ = try await answer.wait().get()
        #expect(try fixture.orders == [5])
    }

    @Test("57: a check that takes longer than 5 s fails the intent, and not the session")
    func slow() async throws {
        let gate = Gate()
        let fixture = try ProductFixture(till: waitingTill(gate))
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        let answer = fixture.post(#"{"type":"buy","item":"tea"}"#, to: fixture.till)
        await fixture.clock.sleepers(atLeast: 1)
        fixture.clock.advance(by: .seconds(5))
        #expect(try await answer.wait().code == .checkTimeout)
        gate.open()
        #expect(try fixture.orders.isEmpty)
        #expect(try fixture.send(#"{"type":"stamp"}"#, to: fixture.till).code == nil)
    }

    @Test("57, 63: a check that ignores its cancellation counts among those that run until it ends")
    func stubborn() async throws {
        let (latch, executor) = (Latch(), TestExecutor())
        let till = Till(prices: { item in
            if item.hasPrefix("tea") { await latch.wait() }
            return 5
        })
        let fixture = try ProductFixture(till: till, { $0.runningChecks = 2 }, executor: executor)
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        let answers = (0..<2).map { _ in fixture.post(#"{"type":"buy","item":"tea"}"#, to: fixture.till) }
        await fixture.clock.sleepers(atLeast: 2)
        fixture.clock.advance(by: .seconds(5))
        for answer in answers { #expect(try await answer.wait().code == .checkTimeout) }
        #expect(try fixture.send(#"{"type":"buy","item":"milk"}"#, to: fixture.till).code == .busy)
        latch.open()
        await executor.idle()
        _ = try await fixture.post(#"{"type":"buy","item":"milk"}"#, to: fixture.till).wait().get()
        #expect(try fixture.orders == [5])
    }

    @Test("57: numbers behind one whose check runs wait for it, and are judged in their order")
    func numbers() async throws {
        let gate = Gate()
        let fixture = try ProductFixture(till: waitingTill(gate))
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        let first = fixture.post(
            #"{"type":"buy","item":"tea"}"#, to: fixture.till, name: .sequence(1, epoch: "phone"))
        let second = fixture.post(
            #"{"type":"put","items":2}"#, to: fixture.basket, name: .sequence(2, epoch: "phone"))
        let other = fixture.post(
            #"{"type":"put","items":1}"#, to: fixture.basket, name: .sequence(1, epoch: "tablet"))
        #expect(second.value == nil)
        #expect(other.value?.code == nil && other.value != nil)
        gate.open()
        _ = try await first.wait().get()
        _ = try await second.wait().get()
        #expect(try fixture.items == 3)
    }

    @Test("57: a number whose check fails temporarily is still expected, and its successors are told so")
    func numberReleased() async throws {
        let gate = Gate()
        let fixture = try ProductFixture(
            till: Till(prices: { _ in
                try await gate.wait()
                throw Refusal(.tooMany(retryAfter: .seconds(1)), "Later.")
            }))
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        let first = fixture.post(
            #"{"type":"buy","item":"tea"}"#, to: fixture.till, name: .sequence(1, epoch: "phone"))
        let second = fixture.post(
            #"{"type":"put","items":2}"#, to: fixture.basket, name: .sequence(2, epoch: "phone"))
        gate.open()
        #expect(try await first.wait().code == .tooMany)
        guard case .failure(let error) = try await second.wait() else {
            return #expect(Bool(false), "it overtook the first")
        }
        #expect(error.code == .outOfSequence)
        #expect(error.expectedNumber == 1)
    }

    @Test("57: a session that ends answers those that wait for a check")
    func ended() async throws {
        let gate = Gate()
        let fixture = try ProductFixture(till: waitingTill(gate))
        try fixture.send(#"{"type":"stamp"}"#, to: fixture.till)
        let first = fixture.post(
            #"{"type":"buy","item":"tea"}"#, to: fixture.till, name: .sequence(1, epoch: "phone"))
        let second = fixture.post(
            #"{"type":"put","items":2}"#, to: fixture.basket, name: .sequence(2, epoch: "phone"))
        try fixture.table.ended(fixture.session)
        #expect(try await second.wait().code == .gone)
        gate.open()
        #expect(try await first.wait().code == .gone)
    }
}
