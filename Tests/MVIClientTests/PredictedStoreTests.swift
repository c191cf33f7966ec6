import MVITesting
import Observation
import Testing

@testable import MVIClient

@Suite("A store with predictions", .timeLimit(.minutes(10)))
struct PredictedStoreTests {
    struct Count: Codable, Equatable, Sendable { var count: Int }
    enum Step: Codable, Equatable, Sendable { case add(amount: Int) }
    typealias Store = RemoteStore<Count, Step, Never>

    private struct Setup {
        let client: TestClient
        let transport: FakeTransport
        let store: Store
        let watching: Task<Void, Never>
    }

    /// A store that shows a count of 0 in version 1.
    private static func live(patience: Duration = .seconds(300)) async -> Setup {
        let transport = FakeTransport()
        let client = TestClient(transport) { options in
            options.credentials = MemoryCredentialStorage("t")
            options.patience = patience
        }
        let store = Store("tally", on: client.server) { state, intent in
            if case .add(let amount) = intent { state.count += amount }
        }
        let watching = Task { await store.watch() }
        await transport.request(1).accept()
        await transport.request(1).state(1, #"{"count":0}"#)
        await observed { store.state == Count(count: 0) }
        return Setup(client: client, transport: transport, store: store, watching: watching)
    }

    @Test func `an intent is shown before its answer, and pending until its state comes`() async {
        let setup = await Self.live()
        let store = setup.store
        store.post(.add(amount: 2))
        await observed { store.state == Count(count: 2) && store.pending.map(\.status) == [.sending] }
        let (confirmed, intent) = await (store.confirmed, store.pending.first?.intent)
        #expect(confirmed == Count(count: 0) && intent == .add(amount: 2))
        await setup.transport.request(2).answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        await observed { store.pending.map(\.status) == [.sent] && store.state == Count(count: 2) }
        await setup.transport.request(1).state(2, #"{"count":2}"#)
        await observed { store.pending.isEmpty && store.confirmed == Count(count: 2) }
        setup.watching.cancel()
    }

    @Test func `only what changes is drawn again`() async {
        let setup = await Self.live()
        let store = setup.store
        let confirmed = await Redraws.of { _ = store.confirmed }
        store.post(.add(amount: 2))
        await observed { store.state == Count(count: 2) }
        #expect(confirmed.all.isEmpty)
        let pending = await Redraws.of { _ = store.pending }
        await setup.transport.request(1).state(1, #"{"count":1}"#)
        await observed { store.state == Count(count: 3) }
        #expect(confirmed.all.count == 1 && pending.all.isEmpty)
        setup.watching.cancel()
    }

    @Test func `a sequence of states has the predicted ones`() async {
        let setup = await Self.live()
        var states = setup.store.states.makeAsyncIterator()
        #expect(await states.next() == Count(count: 0))
        setup.store.post(.add(amount: 3))
        #expect(await states.next() == Count(count: 3))
        setup.watching.cancel()
    }

    @Test func `a refused intent is taken back, tried again with its key, and dismissed`() async {
        let setup = await Self.live()
        let store = setup.store
        store.post(.add(amount: 2))
        let refusal = #"{"type":"/problems/refused","detail":"Not now."}"#
        let first = await setup.transport.request(2)
        first.answer(409, refusal, type: "application/problem+json")
        await observed { store.state == Count(count: 0) && store.pending.map(\.status) == [.failed] }
        let failed = await store.pending.first
        #expect(failed?.error?.message == "Not now.")
        failed?.retry()
        await observed { store.state == Count(count: 2) && store.pending.map(\.status) == [.sending] }
        let second = await setup.transport.request(3)
        #expect(second.request["Idempotency-Key"] == first.request["Idempotency-Key"])
        second.answer(409, refusal, type: "application/problem+json")
        await observed { store.pending.map(\.status) == [.failed] }
        await store.pending.first?.dismiss()
        await observed { store.pending.isEmpty }
        setup.watching.cancel()
    }

    @Test func `a state is held for a second at most`() async {
        let setup = await Self.live()
        let store = setup.store
        store.post(.add(amount: 2))
        _ = await setup.transport.request(2)
        await observed { store.pending.count == 1 }
        await setup.transport.request(1).state(5, #"{"count":12}"#)
        // The timers of the stream, the answer and the held state.
        await setup.client.clock.sleepers(atLeast: 2)
        let held = await store.state
        #expect(held == Count(count: 2))
        setup.client.clock.advance(by: .seconds(1))
        await observed { store.state == Count(count: 12) && store.pending.map(\.status) == [.sending] }
        setup.watching.cancel()
    }

    @Test func `an intent whose caller is canceled is taken back`() async {
        let setup = await Self.live()
        let store = setup.store
        let sending = Task { try await store.send(.add(amount: 2)) }
        _ = await setup.transport.request(2)
        await observed { store.state == Count(count: 2) }
        sending.cancel()
        await observed { store.state == Count(count: 0) && store.pending.isEmpty }
        setup.watching.cancel()
    }

    @Test(arguments: [false, true])
    func `the state that an intent held is shown when it is refused or canceled, not after the next`(
        isCanceled: Bool
    ) async {
        let setup = await Self.live()
        let store = setup.store
        let sending = Task { try await store.send(.add(amount: 2)) }
        let first = await setup.transport.request(2)
        store.post(.add(amount: 30))
        await setup.transport.request(1).state(5, #"{"count":100}"#)
        if isCanceled {
            // It waits for the next attempt.
            first.told(.end(TransportFailure()))
            sending.cancel()
        } else {
            first.answer(409, #"{"type":"/problems/refused"}"#, type: "application/problem+json")
        }
        await observed { store.pending.map(\.status) == (isCanceled ? [.sending] : [.failed, .sending]) }
        #expect(await store.state == Count(count: 130))
        setup.watching.cancel()
    }

    @Test func `a prediction that the state differs from is reported`() async {
        let setup = await Self.live()
        setup.store.post(.add(amount: 2))
        await setup.transport.request(2).answer(202, #"{"intent":"i","session":"s1","version":2}"#)
        await setup.transport.request(1).state(2, #"{"count":1}"#)
        await observed { setup.store.state == Count(count: 1) }
        #expect(setup.client.reports.all == [#"A prediction for "tally" differs from the server's state."#])
        setup.watching.cancel()
    }

    // MARK: The stream after an answer

    @Test func `an answered intent has a lost stream connect at once, 16 times a second at most`() throws {
        var play = try Play.live()
        try play.end(cut: true)
        play.send(1)
        play.accepted(try play.request().id, version: 2)
        #expect(play.requests.isEmpty && play.connection.deadline == play.now + .milliseconds(60))
        play.advance(by: .milliseconds(60))
        #expect(play.requests.map(\.target) == ["/events?feature=counter"])
    }

    @Test func `a stream that was told when to come back does so, whatever is answered`() throws {
        var play = try Play.live()
        try play.event("goaway", #"{"reason":"drain","retry":8000}"#)
        play.send(1)
        play.accepted(try play.request().id, version: 2)
        #expect(play.requests.isEmpty)
        play.advance(by: .seconds(10))
        #expect(play.requests.map(\.target) == ["/events?feature=counter"])
        // The head of a refusal with Retry-After.
        play.refuse(try #require(play.stream), 503, "overloaded", retryAfter: .seconds(8))
        play.send(2)
        play.accepted(try play.request().id, version: 3)
        #expect(play.requests.isEmpty)
    }
}
