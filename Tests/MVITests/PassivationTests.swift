import MVI
import MVITesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct PassivationTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor) }

    private func rejection(_ store: Store<Script>) async -> String {
        do throws(IntentRejection) {
            try await store.send("late")
            return "none"
        } catch {
            return "\(error)"
        }
    }

    @Test("52: an idle store becomes passive: it refuses what comes, observers hear of no end, its state is kept")
    func passive() async throws {
        let observed = Collected<String>()
        let script = Script(own: .observing { if case .ended = $0.event { observed.append("ended") } })
        let store = Store(script, environment: environment)
        #expect(!store.passivate())
        store.start()
        try await store.send("a")
        #expect(store.passivate())
        #expect(!store.passivate())
        #expect(await rejection(store) == "passivated")
        #expect(!store.beginWatching())
        #expect(store.messages == ["a"])
        #expect(!store.isDisposed)
        let subscription = store.subscribe()
        for await event in subscription { Issue.record("a passive store sent \(event)") }
        await store.observersCaughtUp()
        #expect(observed.all.isEmpty)
        #expect(store.diagnostics.droppedAfterEnd == 0)
    }

    @Test("52: a store with work, even if it only waits or holds back, stays")
    func work() async throws {
        let store = Store(
            { intent, turn in
                switch intent {
                case "launch": turn.launch(id: "a") { try await $0.sleep(for: .seconds(1)) }
                case "queue":
                    for _ in 0..<2 { turn.launch(id: "a", policy: .queue) { try await $0.sleep(for: .seconds(1)) } }
                case "debounce": turn.debounce(id: "a", for: .seconds(1)) { _ in }
                case "throttle": turn.throttle(id: "a", for: .seconds(1)) { _ in }
                case "timer": turn.timer(id: "a", every: .seconds(1)) { _ in }
                default: turn.cancel("a")
                }
            }, environment: environment)
        for intent in ["launch", "queue", "debounce", "throttle", "timer"] {
            try await store.send(intent)
            await executor.idle()
            #expect(!store.passivate(), "while there is work: \(intent)")
            try await store.send("stop")
            await executor.idle()
        }
        try await store.send("queue")
        await clock.advance(by: .seconds(1), running: executor)
        #expect(!store.passivate())
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.passivate())
    }

    @Test("52: a store that somebody looks at, or that owes a label, stays")
    func watched() async throws {
        let store = Store({ intent, turn in turn.publish(intent) }, environment: environment)
        let subscription = store.subscribe(.labels)
        #expect(!store.passivate())
        subscription.cancel()
        store.beginWatching()
        #expect(!store.passivate())
        store.endWatching()
        try await store.send("label")
        #expect(!store.passivate())
        let taker = store.subscribe(.labels) { _ in }
        taker.cancel()
        #expect(store.passivate())
    }

    @Test("52: work registered for watchers by bootstrap comes back with it; what anything else registered does not")
    func registered() async throws {
        let script = Script(
            onBootstrap: { _, turn in turn.whileWatched(id: "own") { _ in } },
            onExecute: { intent, turn in
                if intent == "register" { turn.whileWatched(id: "other") { _ in } } else { turn.cancel("other") }
            })
        let store = Store(script, environment: environment)
        store.start()
        try await store.send("register")
        #expect(!store.passivate())
        try await store.send("forget")
        #expect(store.passivate())
        #expect(await rejection(store) == "passivated")
    }

    @Test("52: a registration that a later step of bootstrap's work makes is not bootstrap's own")
    func registeredLater() async {
        let script = Script(onBootstrap: { _, turn in
            turn.launch { work in await work.turn { $0.whileWatched(id: "later") { _ in } } }
        })
        let store = Store(script, environment: environment)
        store.start()
        await executor.idle()
        #expect(!store.passivate())
        store.dispose()
    }

    @Test("52: a store with a commit in flight, or with something to be retried, stays")
    func commits() async throws {
        let log = HeldLog<Script>()
        let store = Store({ intent, turn in turn.dispatch(intent) }, environment: environment, log: log)
        #expect(!store.passivate())
        log.end(.unavailable)
        // Bootstrap is owed.
        #expect(!store.passivate())
        await clock.advance(by: .milliseconds(250), running: executor)
        log.end()
        await executor.idle()
        #expect(store.passivate())
    }

    @Test("40, 52: a store that somebody waits for to settle stays until that is told")
    func settling() async throws {
        let gate = Gate()
        let told = Collected<Bool>()
        let store = Store({ _, turn in turn.launch { _ in try await gate.wait() } }, environment: environment)
        let outcome = try await store.send("go")
        await executor.idle()
        let waits = store.whenSettled(outcome.id, id: 1) { [weak store] in told.append(store?.passivate() ?? false) }
        #expect(waits)
        #expect(!store.passivate())
        gate.open()
        await executor.idle()
        await told.atLeast(1)
        #expect(told.all == [true])
    }

    @Test("52: of many threads that use a store while it becomes passive, each is served or told so")
    func race() async {
        for _ in 0..<50 {
            let store = Store({ intent, turn in turn.dispatch(intent) })
            let results = Collected<Bool>()
            await concurrently(4) { thread in
                if thread == 0 {
                    while !store.passivate() { await Task.yield() }
                } else {
                    do throws(IntentRejection) {
                        try await store.send("\(thread)")
                        results.append(true)
                    } catch {
                        if case .passivated = error { results.append(false) }
                    }
                }
            }
            #expect(results.all.count == 3)
            #expect(store.messages.count == results.all.count { $0 })
        }
    }
}
