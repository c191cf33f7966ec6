import Locking
import MVITesting
import TestSupport
import Testing

@testable import MVI

@Suite(.timeLimit(.minutes(10)))
struct QueueTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    @Test("48: intents and steps alternate in a batch; many steps leave the intents their bound")
    func alternation() async {
        let log = AppendLog<Script>.held
        let store = HostedStore(
            { intent, turn in
                if intent != "go" { return turn.dispatch(intent) }
                for _ in 0..<100 { turn.launch { await $0.dispatch("step") } }
            }, environment: StoreEnvironment(clock: clock, executor: executor, queueLimit: 40), log: log)
        log.end()
        store.accept("go")
        executor.pause()
        log.end()
        executor.resume()
        await log.batches(atLeast: 3)
        await executor.idle()
        // One step is in flight, 99 wait.
        let answers = Collected<String>()
        for _ in 0..<41 { store.accept("intent", completion: { answers.append($0.text) }) }
        #expect(answers.all == ["busy"])
        for _ in 0..<4 { log.end() }
        #expect(log.batches.map(\.count) == [1, 1, 1, 64, 64, 11])
        let messages = log.batches.map { $0.map { $0.state.messages.last } }
        #expect(messages[3] == (0..<64).map { $0.isMultiple(of: 2) ? "intent" : "step" })
        #expect(messages[4].prefix(17) == messages[3].prefix(16) + ["step"])
        #expect(answers.all.count { $0 == "committed" } == 40)
        #expect(store.messages.count == 140)
        await executor.idle()
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("48: a thread hands the queue on after 512 jobs at the latest")
    func handedOn() async {
        executor.pause()
        let store = HostedStore({ _, turn in turn.dispatch("x") }, environment: StoreEnvironment(executor: executor))
        let told = Collected<Int>()
        // Each answer sends the next intent.
        @Sendable func next(_ count: Int) {
            told.append(count)
            if count < 2000 { store.accept("x", completion: { _ in next(count + 1) }) }
        }
        next(0)
        #expect(store.messages.count <= 512)
        await executor.held()
        executor.resume()
        await told.atLeast(2001)
        #expect(told.all == Array(0...2000))
        await executor.idle()
        store.dispose()
    }

    @Test("43, 44: observers that block stop neither a store nor launched work, of no store")
    func blockingObservers() async throws {
        let gate = BlockingGate()
        let watched = (0..<3).map { _ in
            HostedStore(Script(own: .observing { if case .started = $0.event { gate.wait() } }))
        }
        for store in watched { store.start() }
        await gate.isReached()
        let handler: Script.Handler = { _, turn in turn.launch { await $0.dispatch("worked") } }
        for store in [HostedStore(handler), HostedStore(handler), watched[0]] {
            try await store.settled(store.send("go").id)
            #expect(store.messages.last == (store === watched[0] ? "go" : "worked"))
            store.dispose()
        }
        for _ in watched { gate.open() }
        for store in watched {
            await store.observersCaughtUp()
            store.dispose()
        }
    }

    @Test("8, 49: a bootstrap that threw is run again until that is committed, and is reported once")
    func thrownBootstrap() async {
        let log = AppendLog<Script>([.unavailable, .unavailable])
        let ran = Collected<StartReason>()
        let script = Script(
            onBootstrap: { reason, _ in
                ran.append(reason)
                throw Broken()
            }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(
            script, state: Script.State(), environment: StoreEnvironment(clock: clock, executor: executor), log: log)
        store.start()
        await clock.advance(by: .seconds(1), running: executor)
        #expect(ran.all == [.restored, .restored, .restored])
        #expect(store.diagnostics.failures == 1)
        #expect(store.messages == ["failed"])
        store.dispose()
    }

    @Test("31: a store whose bootstrap was tried again is released with its last holder")
    func released() async {
        weak var released: HostedStore<Script>?
        do {
            let store = HostedStore(
                Script(), environment: StoreEnvironment(clock: clock, executor: executor),
                log: AppendLog<Script>([.unavailable, .unavailable, .conflict(newer: Script.State())]))
            store.start()
            store.accept("a")
            await clock.advance(by: .milliseconds(250), running: executor)
            #expect(store.queue.isIdle)
            released = store
        }
        #expect(released == nil)
    }
}
