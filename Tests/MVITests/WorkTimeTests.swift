import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct WorkTimeTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    /// A started store whose work runs on the test's executor and clock.
    func store(_ onExecute: @escaping Script.Handler) -> HostedStore<Script> {
        HostedStore(onExecute, environment: StoreEnvironment(clock: clock, executor: executor))
    }

    @Test("38: debounce runs the last of several calls, once the interval has passed without another")
    func debounce() async throws {
        let store = store { intent, turn in
            turn.debounce(id: "search", for: .milliseconds(300)) { await $0.dispatch(intent) }
        }
        try await store.send("a")
        await clock.advance(by: .milliseconds(200), running: executor)
        let last = try await store.send("ab")
        await clock.advance(by: .milliseconds(299), running: executor)
        #expect(store.messages.isEmpty)
        await clock.advance(by: .milliseconds(1), running: executor)
        #expect(store.messages == ["ab"])
        await store.settled(last.id)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("38: throttle runs the first call at once and drops others until the interval has passed")
    func throttle() async throws {
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("save") }
            turn.throttle(id: "save", for: .seconds(1)) { await $0.dispatch(intent) }
        }
        let first = try await store.send("1")
        await store.settled(first.id)
        let second = try await store.send("2")
        #expect(second.isSettled)
        await clock.advance(by: .milliseconds(999), running: executor)
        try await store.send("3")
        await clock.advance(by: .milliseconds(1), running: executor)
        try await store.send("4")
        await executor.idle()
        #expect(store.messages == ["1", "4"])
        try await store.send("stop")
        try await store.send("5")
        await executor.idle()
        #expect(store.messages == ["1", "4", "5"])
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("38: throttle with the latest call runs the last of those that it held back, at the interval's end")
    func throttleLatest() async throws {
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("save") }
            turn.throttle(id: "save", for: .seconds(1), latest: true) { await $0.dispatch(intent) }
        }
        try await store.send("1")
        let second = try await store.send("2")
        #expect(!second.isSettled)
        let third = try await store.send("3")
        #expect(!store.whenSettled(second.id, id: 1) {})
        #expect(store.whenSettled(third.id, id: 1) {})
        await clock.advance(by: .milliseconds(999), running: executor)
        #expect(store.messages == ["1"])
        await clock.advance(by: .milliseconds(1), running: executor)
        #expect(store.messages == ["1", "3"])
        // The interval began anew.
        try await store.send("4")
        await clock.advance(by: .milliseconds(999), running: executor)
        #expect(store.messages == ["1", "3"])
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.messages == ["1", "3", "4"])
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.diagnostics.runningWork == 0)
        try await store.send("5")
        await executor.idle()
        let held = try await store.send("6")
        try await store.send("stop")
        #expect(!store.whenSettled(held.id, id: 1) {})
        await clock.advance(by: .seconds(3), running: executor)
        #expect(store.messages == ["1", "3", "4", "5"])
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("38: a timer fires each interval until it is cancelled; setting it again starts it anew; nobody waits for it")
    func timer() async throws {
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("tick") }
            turn.timer(id: "tick", every: .seconds(1)) { await $0.dispatch(intent) }
        }
        #expect(try await store.send("a").isSettled)
        await clock.advance(by: .milliseconds(2500), running: executor)
        #expect(store.messages == ["a", "a"])
        try await store.send("b")
        await clock.advance(by: .milliseconds(999), running: executor)
        #expect(store.messages == ["a", "a"])
        await clock.advance(by: .milliseconds(1), running: executor)
        #expect(store.messages == ["a", "a", "b"])
        try await store.send("stop")
        await clock.advance(by: .seconds(5), running: executor)
        #expect(store.messages == ["a", "a", "b"])
        #expect(clock.sleeperCount == 0)
        store.dispose()
    }

    @Test("39: work that runs while watched starts with the first watcher and stops a grace period after the last")
    func whileWatched() async throws {
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("watch") }
            turn.whileWatched(id: "watch", grace: .seconds(5)) { work in
                await work.dispatch("begins")
                try await Gate().wait()
            }
        }
        #expect(try await store.send("go").isSettled)
        await executor.idle()
        #expect(store.messages.isEmpty)
        store.beginWatching()
        store.beginWatching()
        await executor.idle()
        #expect(store.messages == ["begins"])
        store.endWatching()
        await clock.advance(by: .seconds(6), running: executor)
        #expect(store.diagnostics.runningWork == 1)
        // Back in time: it runs on.
        store.endWatching()
        await clock.advance(by: .seconds(4), running: executor)
        store.beginWatching()
        await clock.advance(by: .seconds(2), running: executor)
        #expect(store.diagnostics.runningWork == 1)
        #expect(store.messages == ["begins"])
        // Too late: it is cancelled, and starts anew.
        store.endWatching()
        await clock.advance(by: .seconds(5), running: executor)
        #expect(store.diagnostics.runningWork == 0)
        store.beginWatching()
        await executor.idle()
        #expect(store.messages == ["begins", "begins"])
        try await store.send("stop")
        #expect(store.diagnostics.runningWork == 0)
        store.endWatching()
        store.beginWatching()
        await executor.idle()
        #expect(store.messages == ["begins", "begins"])
        store.dispose()
    }

    @Test("39: registering an id again takes the place of what runs, watched, in its grace period and not watched")
    func registerAgain() async throws {
        let store = store { intent, turn in
            turn.whileWatched(id: "watch", grace: .seconds(5)) { work in
                await work.dispatch(intent)
                try await Gate().wait()
            }
        }
        store.beginWatching()
        try await store.send("a")
        await executor.idle()
        try await store.send("b")
        await executor.idle()
        #expect(store.messages == ["a", "b"])
        #expect(store.diagnostics.runningWork == 1)
        store.endWatching()
        await clock.advance(by: .seconds(4), running: executor)
        try await store.send("c")
        await executor.idle()
        #expect(store.messages == ["a", "b", "c"])
        // The grace period goes on.
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.diagnostics.runningWork == 0)
        try await store.send("d")
        await executor.idle()
        #expect(store.diagnostics.runningWork == 0)
        store.beginWatching()
        await executor.idle()
        #expect(store.messages == ["a", "b", "c", "d"])
        store.dispose()
    }

    @Test("39: grace periods do not pile up when watchers come and go")
    func graces() async throws {
        let store = store { _, turn in
            turn.whileWatched(id: "watch", grace: .seconds(5)) { _ in try await Gate().wait() }
        }
        try await store.send("go")
        for _ in 0..<100 {
            store.beginWatching()
            store.endWatching()
            await executor.idle()
        }
        #expect(clock.sleeperCount == 1)
        store.dispose()
        await executor.idle()
        #expect(clock.sleeperCount == 0)
    }

    @Test("39: one endWatching too many does not hide the next watcher")
    func unbalanced() async throws {
        let store = store { _, turn in
            turn.whileWatched(id: "watch") { work in await work.dispatch("begins") }
        }
        try await store.send("go")
        store.endWatching()
        store.beginWatching()
        await executor.idle()
        #expect(store.messages == ["begins"])
        store.dispose()
    }

    @Test("40: an intent is settled when no work that it launched runs, the work's own launches and failures included")
    func settling() async throws {
        let gate = Gate()
        let script = Script(
            onExecute: { _, turn in
                turn.launch { work in
                    try await gate.wait()
                    await work.turn { turn in
                        turn.launch { work in
                            await work.dispatch("inner")
                            throw Broken()
                        }
                    }
                }
            }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(script, environment: StoreEnvironment(executor: executor))
        store.start()
        let outcome = try await store.send("go")
        #expect(!outcome.isSettled)
        let seen = Collected<[String]>()
        #expect(store.whenSettled(outcome.id, id: 1) { seen.append(store.messages) })
        #expect(store.whenSettled(outcome.id, id: 2) { seen.append(["never"]) })
        store.stopWaiting(for: outcome.id, id: 2)
        #expect(!store.whenSettled(IntentID("unknown"), id: 3) {})
        gate.open()
        await seen.atLeast(1)
        #expect(seen.all == [["inner", "failed"]])
        #expect(!store.whenSettled(outcome.id, id: 4) {})
        store.dispose()
    }

    @Test("64: work that is not counted is not waited for, nor is what it launches; a timer's is none of it")
    func uncounted() async throws {
        let gate = Gate()
        let script = Script(
            onExecute: { intent, turn in
                let operation: Turn<Script>.Operation = { work in
                    await work.turn { turn in turn.launch(id: "inner") { _ in try await gate.wait() } }
                    throw Broken()
                }
                switch intent {
                case "launch": turn.launch(isCounted: false, operation)
                case "watch": turn.whileWatched(id: "watch", operation)
                default: turn.timer(id: "timer", every: .seconds(1), operation)
                }
            }, onThrow: { _, turn in turn.launch(id: "after a failure") { _ in try await gate.wait() } })
        for intent in ["launch", "watch", "timer"] {
            let store = HostedStore(script, environment: StoreEnvironment(clock: clock, executor: executor))
            store.start()
            store.beginWatching()
            let outcome = try await store.send(intent)
            #expect(outcome.isSettled)
            await clock.advance(by: .seconds(1), running: executor)
            #expect(store.diagnostics.runningWork == 2, "\(intent)")
            #expect(!store.whenSettled(outcome.id, id: 1) {})
            store.dispose()
        }
    }

    @Test("40: who waits for an intent is told when its work is cancelled, queued or not, and when the store ends")
    func settledByCancellation() async throws {
        let gate = Gate()
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("load") }
            turn.launch(id: intent == "other" ? "other" : "load", policy: .queue) { _ in
                await gate.waitDespiteCancellation()
            }
        }
        let settled = Collected<String>()
        for intent in ["running", "queued", "other"] {
            let outcome = try await store.send(intent)
            #expect(store.whenSettled(outcome.id, id: 1) { settled.append(intent) })
        }
        try await store.send("stop")
        #expect(settled.all.sorted() == ["queued", "running"])
        store.dispose()
        #expect(settled.all.last == "other")
        gate.open()
    }
}
