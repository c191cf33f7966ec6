import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct EndTests {
    @Test("31: the end cancels work and is told to observers once; a second one does nothing")
    func order() async throws {
        let order = Collected<String>()
        let isDisposed = Collected<Bool>()
        let executor = TestExecutor()
        let stores = Collected<HostedStore<Script>>()
        let script = Script(
            own: .observing { if case .ended = $0.event { order.append("ended") } },
            onExecute: { _, turn in
                turn.launch { _ in
                    await withTaskCancellationHandler {
                        try? await Gate().wait()
                    } onCancel: {
                        isDisposed.append(stores.all[0].session.isEnded)
                        order.append("cancelled")
                    }
                }
            })
        let store = HostedStore(script, environment: StoreEnvironment(executor: executor))
        store.start()
        stores.append(store)
        try await store.send("go")
        await executor.idle()
        store.dispose()
        store.dispose()
        await store.observersCaughtUp()
        #expect(order.all == ["cancelled", "ended"])
        #expect(isDisposed.all == [true])
        #expect(store.session.isEnded)
    }

    @Test("32: after the end intents are refused, and the state is the last one")
    func late() async throws {
        let store = HostedStore({ intent, turn in turn.dispatch(intent) })
        try await store.send("a")
        store.dispose()
        await #expect {
            try await store.send("b")
        } throws: { error in
            (error as? StoreError)?.code == .gone
        }
        #expect(store.messages == ["a"])
        store.start()
        store.beginWatching()
        store.endWatching()
        #expect(store.messages == ["a"])
    }

    @Test("31, 32: intents that wait when the store ends are refused, each told once")
    func waiting() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, log: log)
        log.end()
        let told = Collected<String>()
        for intent in ["a", "b", "c"] {
            store.accept(
                intent,
                completion: { told.append("\(intent) \($0.text)") })
        }
        store.dispose()
        #expect(told.all == ["b gone", "c gone"])
        // What was in flight is permanent, and its caller must not be told otherwise.
        log.end()
        #expect(told.all == ["b gone", "c gone", "a committed"])
        #expect(store.messages == ["a"])
    }

    @Test("31: a commit that fails after the end refuses its intents")
    func failsAfterEnd() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, log: log)
        log.end()
        let told = Collected<Bool>()
        store.accept("a", completion: { told.append((try? $0.get()) != nil) })
        store.dispose()
        log.end(.unavailable)
        #expect(told.all == [false])
        #expect(store.messages.isEmpty)
    }

    @Test("32, 33: what work does after the end is dropped and counted, and returns")
    func lateWork() async throws {
        let gate = Gate()
        let states = Collected<[String]>()
        let store = HostedStore({ _, turn in
            turn.launch { work in
                await gate.waitDespiteCancellation()
                await work.dispatch("late")
                await work.publish("late")
                await work.turn { $0.launch { await $0.dispatch("later") } }
                states.append(work.state.messages)
            }
        })
        try await store.send("go")
        await gate.waiters()
        store.dispose()
        gate.open()
        await states.atLeast(1)
        #expect(store.messages.isEmpty)
        #expect(store.diagnostics.droppedAfterEnd == 3)
    }

    @Test("31: a store that ends while many threads use it tells each caller once and keeps nothing running")
    func races() async {
        for _ in 0..<20 {
            let store = HostedStore(
                { intent, turn in
                    turn.dispatch(intent)
                    turn.launch(id: "work", policy: .cancelPrevious) { work in
                        await work.dispatch("step")
                        try await Gate().wait()
                    }
                }, environment: StoreEnvironment(queueLimit: .max))
            let told = Collected<Bool>()
            await concurrently(4) { thread in
                for index in 0..<50 {
                    if thread == 3, index == 25 { store.dispose() }
                    store.accept("x", completion: { told.append((try? $0.get()) != nil) })
                }
            }
            await told.atLeast(200)
            #expect(told.all.count == 200)
            #expect(store.diagnostics.runningWork == 0)
            #expect(store.messages.count { $0 == "x" } == told.all.count { $0 })
        }
    }

    @Test("31: a store with nothing running is released with its last holder, one with work when it is disposed")
    func released() async throws {
        weak var released: HostedStore<Script>?
        do {
            let store = HostedStore({ intent, turn in turn.dispatch(intent) })
            try await store.send("a")
            released = store
        }
        #expect(released == nil)

        let executor = TestExecutor()
        do {
            let store = HostedStore(
                { _, turn in
                    turn.timer(id: "tick", every: .seconds(1)) { _ in }
                    turn.whileWatched(id: "watch") { _ in try await Gate().wait() }
                    turn.throttle(id: "throttle", for: .seconds(10)) { _ in }
                }, environment: StoreEnvironment(clock: ManualClock(), executor: executor))
            try await store.send("go")
            store.beginWatching()
            store.endWatching()
            await executor.idle()
            #expect(store.diagnostics.runningWork == 3)
            released = store
            store.dispose()
        }
        await executor.idle()
        #expect(released == nil)
    }
}
