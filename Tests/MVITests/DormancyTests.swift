import MVI
import MVITesting
import Sessions
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct DormancyTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor) }

    @Test("52: a store with work, even if it only waits or holds back, stays")
    func work() async throws {
        let store = HostedStore(
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
        #expect(store.inMemory.isAtRest)
        for intent in ["launch", "queue", "debounce", "throttle", "timer"] {
            try await store.send(intent)
            await executor.idle()
            #expect(!store.inMemory.isAtRest, "while there is work: \(intent)")
            try await store.send("stop")
            await executor.idle()
        }
        try await store.send("queue")
        await clock.advance(by: .seconds(1), running: executor)
        #expect(!store.inMemory.isAtRest)
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.inMemory.isAtRest)
        store.dispose()
    }

    @Test("52, 63: a store with work that was cancelled and has not ended stays")
    func cancelled() async throws {
        let gate = Gate()
        let passed = Collected<Bool>()
        let store = HostedStore(
            { intent, turn in
                if intent == "stop" { return turn.cancel("a") }
                turn.launch(id: "a") { _ in
                    await gate.waitDespiteCancellation()
                    passed.append(Task.isCancelled)
                }
            }, environment: environment)
        try await store.send("go")
        await gate.waiters()
        try await store.send("stop")
        #expect(!store.inMemory.isAtRest)
        gate.open()
        await passed.atLeast(1)
        await executor.idle()
        #expect(passed.all == [true])
        #expect(store.inMemory.isAtRest)
        store.dispose()
    }

    @Test("52: a store that is watched stays")
    func watched() {
        let store = HostedStore({ _, _ in }, environment: environment)
        store.beginWatching()
        #expect(!store.inMemory.isAtRest)
        store.endWatching()
        #expect(store.inMemory.isAtRest)
        store.dispose()
    }

    @Test("52: work registered for watchers by bootstrap comes back with it; what anything else registered does not")
    func registered() async throws {
        let script = Script(
            onBootstrap: { _, turn in turn.whileWatched(id: "own") { _ in } },
            onExecute: { intent, turn in
                if intent == "register" { turn.whileWatched(id: "other") { _ in } } else { turn.cancel("other") }
            })
        let store = HostedStore(script, environment: environment)
        store.start()
        try await store.send("register")
        #expect(!store.inMemory.isAtRest)
        try await store.send("forget")
        #expect(store.inMemory.isAtRest)
        store.dispose()
    }

    @Test("52: a registration that a later step of bootstrap's work makes is not bootstrap's own")
    func registeredLater() async {
        let script = Script(onBootstrap: { _, turn in
            turn.launch { work in await work.turn { $0.whileWatched(id: "later") { _ in } } }
        })
        let store = HostedStore(script, environment: environment)
        store.start()
        await executor.idle()
        #expect(!store.inMemory.isAtRest)
        store.dispose()
    }

    @Test("52: a queue with a commit in flight, or with something to be retried, is not idle")
    func commits() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, environment: environment, log: log)
        #expect(!store.queue.isIdle)
        log.end(.unavailable)
        // Bootstrap is owed.
        #expect(!store.queue.isIdle)
        await clock.sleepers()
        await clock.advance(by: .milliseconds(250), running: executor)
        log.end()
        #expect(store.queue.isIdle)
        store.dispose()
    }

    @Test("40, 52: a store that a request waits for to settle stays until that is told")
    func settling() async throws {
        let gate = Gate()
        let told = Collected<Bool>()
        let store = HostedStore({ _, turn in turn.launch { _ in try await gate.wait() } }, environment: environment)
        let outcome = try await store.send("go")
        await executor.idle()
        let waits = store.whenSettled(outcome.id, id: 1) { [weak store] in
            told.append(store?.inMemory.isAtRest ?? false)
        }
        #expect(waits)
        #expect(!store.inMemory.isAtRest)
        gate.open()
        await told.atLeast(1)
        #expect(told.all == [true])
        store.dispose()
    }
}

extension SessionStore {
    /// True if the store may leave memory; what people are told of it is the same.
    fileprivate var isAtRest: Bool {
        #expect(isDormant == obstacles.isEmpty, "\(obstacles)")
        return isDormant
    }
}
