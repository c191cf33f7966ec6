import Locking
import MVI
import MVITesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct SubscriptionTests {
    @Test("21: subscribing gives the state now, then every later one")
    func currentFirst() async throws {
        let store = Store({ intent, turn in turn.dispatch(intent) })
        try await store.send("a")
        var events = store.subscribe(.states).makeAsyncIterator()
        #expect(await events.next()?.text == "a")
        try await store.send("b")
        try await store.send("c")
        #expect(await events.next()?.text == "a,b")
        #expect(await events.next()?.text == "a,b,c")
        store.dispose()
    }

    @Test("21, 22: who subscribes while others write sees each later state once, in order, without a gap")
    func noGap() async {
        let store = Store(
            { intent, turn in turn.dispatch(intent) }, environment: StoreEnvironment(queueLimit: .max))
        await concurrently(8) { index in
            if index.isMultiple(of: 2) {
                for _ in 0..<100 { store.accept("x") }
                return
            }
            let seen = Collected<Int>()
            let subscription = store.subscribe(.states) { event in
                if case .state(let state) = event { seen.append(state.messages.count) }
            }
            let all = await seen.until { $0.last == 400 }
            #expect(all == Array((all.first ?? 0)...400))
            subscription.cancel()
        }
        store.dispose()
    }

    @Test("22: an asynchronous observer that is slow sees every state all the same, and the store does not wait for it")
    func slowObserver() async throws {
        let store = Store({ intent, turn in turn.dispatch(intent) })
        let subscription = store.subscribe(.states)
        for _ in 0..<1000 { try await store.send("x") }
        store.dispose()
        var count = 0
        for await _ in subscription { count += 1 }
        #expect(count == 1001)
    }

    @Test("23: a turn without messages emits no state, and its labels go out")
    func noMessages() async throws {
        let store = Store({ intent, turn in turn.publish(intent) })
        var events = store.subscribe().makeAsyncIterator()
        try await store.send("a")
        try await store.send("b")
        #expect(await events.next()?.text == "")
        #expect(await events.next()?.text == "!a")
        #expect(await events.next()?.text == "!b")
        store.dispose()
    }

    @Test("23, 24: the view is derived, an equal one is not sent again, also the first one is mapped")
    func viewState() async throws {
        let store = Store(Halves())
        store.start()
        let subscription = store.subscribe()
        for _ in 0..<5 { try await store.send(.up) }
        store.dispose()
        var seen: [Int] = []
        for await event in subscription { if case .state(let half) = event { seen.append(half) } }
        #expect(seen == [0, 1, 2])
        #expect(store.view == 2)
        #expect(store.state.count == 5)
    }

    @Test("25: cancelling a subscription ends it, the others go on, and the count is as before")
    func cancel() async throws {
        let store = Store({ intent, turn in turn.dispatch(intent) })
        let first = store.subscribe(.states)
        let second = store.subscribe(.states)
        #expect(store.diagnostics.subscribers == 2)
        first.cancel()
        first.cancel()
        #expect(store.diagnostics.subscribers == 1)
        try await store.send("a")
        var ended = first.makeAsyncIterator()
        #expect(await ended.next() == nil)
        var events = second.makeAsyncIterator()
        #expect(await events.next()?.text == "")
        #expect(await events.next()?.text == "a")
        second.cancel()
        #expect(store.diagnostics.subscribers == 0)
        store.dispose()
    }

    @Test("25: a subscription ends with its last holder")
    func released() {
        let store = Store({ intent, turn in turn.dispatch(intent) })
        _ = store.subscribe()
        #expect(store.diagnostics.subscribers == 0)
        store.dispose()
    }

    @Test("25: a consumer that is cancelled while it waits goes on with nil, and the store counts it no more")
    func consumerCancelled() async {
        let store = Store({ intent, turn in turn.dispatch(intent) })
        let seen = Collected<String>()
        let task = Task {
            for await event in store.subscribe(.states) { seen.append(event.text) }
            seen.append("end")
        }
        await seen.atLeast(1)
        task.cancel()
        await task.value
        #expect(seen.all == ["", "end"])
        #expect(store.diagnostics.subscribers == 0)
        store.dispose()
    }

    @Test("25: consumers cancelled at any moment all end")
    func manyCancelled() async {
        let store = Store({ intent, turn in turn.dispatch(intent) }, environment: StoreEnvironment(queueLimit: .max))
        await concurrently(64) { index in
            let task = Task { for await _ in store.subscribe() {} }
            if index.isMultiple(of: 3) { store.accept("x") }
            if index.isMultiple(of: 2) { await Task.yield() }
            task.cancel()
            await task.value
        }
        #expect(store.diagnostics.subscribers == 0)
        store.dispose()
    }

    @Test("25: once cancel has returned on the sink's own thread, the sink is called no more")
    func cancelledInSink() {
        let store = Store({ intent, turn in
            turn.dispatch(intent)
            turn.publish("one")
            turn.publish("two")
        })
        let seen = Collected<String>()
        let held = Lock<Subscription<Script>?>(nil)
        let subscription = store.subscribe { event in
            seen.append(event.text)
            if event.text == "!one" { held.withLock { $0 }?.cancel() }
        }
        held.withLock { $0 = subscription }
        store.accept("a")
        #expect(seen.all == ["", "a", "!one"])
        store.dispose()
    }

    @Test("26: labels go to every subscriber in publish order, the same one twice if it was published twice")
    func labels() async throws {
        let store = Store({ _, turn in
            turn.publish("a")
            turn.publish("b")
            turn.publish("a")
        })
        let first = store.subscribe(.labels)
        let second = store.subscribe()
        try await store.send("go")
        store.dispose()
        for (subscription, state) in [(first, []), (second, [""])] {
            var seen: [String] = []
            for await event in subscription { seen.append(event.text) }
            #expect(seen == state + ["!a", "!b", "!a"])
        }
    }

    @Test("27: labels that nobody was there for reach the first subscriber who takes labels, and only that one")
    func labelsKept() async throws {
        let store = Store({ intent, turn in turn.publish(intent) })
        try await store.send("a")
        let states = store.subscribe(.states)
        try await store.send("b")
        let first = store.subscribe()
        let second = store.subscribe(.labels)
        try await store.send("c")
        store.dispose()
        var seen: [[String]] = []
        for subscription in [states, first, second] {
            var texts: [String] = []
            for await event in subscription { texts.append(event.text) }
            seen.append(texts)
        }
        #expect(seen == [[""], ["", "!a", "!b", "!c"], ["!c"]])
        #expect(store.diagnostics.undeliveredLabels == 0)
    }

    @Test("27: labels that a subscriber did not take before it left reach the next one")
    func labelsNotTaken() async throws {
        let store = Store({ intent, turn in turn.publish(intent) })
        let first = store.subscribe()
        var events = first.makeAsyncIterator()
        #expect(await events.next()?.text == "")
        try await store.send("a")
        try await store.send("b")
        #expect(await events.next()?.text == "!a")
        first.cancel()
        #expect(await events.next() == nil)
        try await store.send("c")
        let second = store.subscribe(.labels)
        store.dispose()
        var seen: [String] = []
        for await event in second { seen.append(event.text) }
        #expect(seen == ["!b", "!c"])
    }

    @Test("28: a label comes after the state of its turn and before the next one")
    func labelsInOrder() async throws {
        let store = Store({ intent, turn in
            turn.publish("before \(intent)")
            turn.dispatch(intent)
            turn.publish("after \(intent)")
        })
        let subscription = store.subscribe()
        try await store.send("a")
        try await store.send("b")
        store.dispose()
        var seen: [String] = []
        for await event in subscription { seen.append(event.text) }
        #expect(seen == ["", "a", "!before a", "!after a", "a,b", "!before b", "!after b"])
    }

    @Test("30: labels beyond the bound push out the oldest, counted and reported, and block nothing")
    func labelsBeyondBound() async throws {
        let lost = Collected<Int>()
        let environment = StoreEnvironment(
            labelLimit: 2, report: { if case .undelivered(let count, _) = $0 { lost.append(count) } })
        let store = Store(
            { intent, turn in
                turn.publish(intent)
                turn.publish(intent + intent)
            }, environment: environment)
        try await store.send("a")
        try await store.send("b")
        #expect(lost.all == [2])
        #expect(store.diagnostics.undeliveredLabels == 2)
        let subscription = store.subscribe(.labels)
        store.dispose()
        var seen: [String] = []
        for await event in subscription { seen.append(event.text) }
        #expect(seen == ["!b", "!bb"])
    }

    @Test("30: with a bound of zero no label waits, and each that nobody takes is counted")
    func noLabelsKept() async throws {
        let store = Store(
            { intent, turn in turn.publish(intent) }, environment: StoreEnvironment(labelLimit: 0))
        try await store.send("a")
        #expect(store.diagnostics.undeliveredLabels == 1)
        let subscription = store.subscribe(.labels)
        try await store.send("b")
        store.dispose()
        var seen: [String] = []
        for await event in subscription { seen.append(event.text) }
        #expect(seen == ["!b"])
    }
}

/// Shows half of its count, rounded down.
private struct Halves: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case up }
    static let examples: [Intent] = [.up]
    let initialState = State(count: 0)
    func reduce(_ state: inout State, _ intent: Intent) { state.count += 1 }
    func view(_ state: State) -> Int { state.count / 2 }
}
