import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct WorkTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    /// A started store whose work runs on the test's executor and clock.
    func store(_ onExecute: @escaping Script.Handler) -> HostedStore<Script> {
        HostedStore(onExecute, environment: StoreEnvironment(clock: clock, executor: executor))
    }

    @Test("13: in launched work the state is live, not a snapshot")
    func liveState() async throws {
        let gate = Gate()
        let seen = Collected<[String]>()
        let store = store { intent, turn in
            turn.dispatch(intent)
            guard intent == "load" else { return }
            turn.launch { work in
                seen.append(work.state.messages)
                try await gate.wait()
                seen.append(work.state.messages)
            }
        }
        try await store.send("load")
        await gate.waiters()
        try await store.send("other")
        gate.open()
        await seen.atLeast(2)
        #expect(seen.all == [["load"], ["load", "other"]])
        store.dispose()
    }

    @Test("34: the id of work is a text, also one with values in it")
    func interpolatedID() async throws {
        let gate = Gate()
        let store = store { intent, turn in
            turn.dispatch(intent)
            turn.launch(id: "save \(intent) of \(7)", policy: .keepPrevious) { _ in try await gate.wait() }
        }
        for _ in 1...2 { try await store.send("a") }
        try await store.send("b")
        #expect(store.workInProgress == ["save a of 7", "save b of 7"])
        #expect(WorkID("save a") == "save \("a")")
        gate.open()
        store.dispose()
    }

    @Test("34: each step of work is a turn, and returns when that is committed")
    func steps() async throws {
        let log = AppendLog<Script>.held
        let seen = Collected<[String]>()
        let store = HostedStore(
            { _, turn in
                turn.launch { work in
                    await work.dispatch("a")
                    seen.append(work.state.messages)
                    await work.turn { turn in
                        turn.dispatch("b")
                        turn.dispatch("c")
                        turn.publish("label")
                    }
                    seen.append(work.state.messages)
                    try await work.send("action")
                    seen.append(work.state.messages)
                }
            }, log: log)
        log.end()
        store.accept("go")
        // Launched only when the turn is committed.
        #expect(store.diagnostics.runningWork == 0)
        log.end()
        for count in 3...5 {
            await log.batches(atLeast: count)
            #expect(seen.all.count == count - 3)
            log.end()
        }
        await seen.atLeast(3)
        #expect(seen.all == [["a"], ["a", "b", "c"], ["a", "b", "c", "action"]])
        #expect(log.batches[3][0].labels == ["label"])
        store.dispose()
    }

    @Test("34: cancelPrevious cancels what runs under the id, and what that still dispatches is dropped")
    func cancelPrevious() async throws {
        let first = Gate()
        let store = store { intent, turn in
            turn.launch(id: "load", policy: .cancelPrevious) { work in
                if intent == "1" { await first.waitDespiteCancellation() }
                await work.dispatch("\(intent) \(Task.isCancelled)")
            }
        }
        let outcome = try await store.send("1")
        await first.waiters()
        try await store.send("2")
        await executor.idle()
        await store.settled(outcome.id)
        first.open()
        await executor.idle()
        #expect(store.messages == ["2 false"])
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("34: keepPrevious drops the new work while the id is in use, and the id is free when work ends")
    func keepPrevious() async throws {
        let gate = Gate()
        let store = store { intent, turn in
            turn.launch(id: "load", policy: .keepPrevious) { work in
                try await gate.wait()
                await work.dispatch(intent)
            }
        }
        try await store.send("1")
        let dropped = try await store.send("2")
        #expect(dropped.isSettled)
        gate.open()
        await executor.idle()
        #expect(store.diagnostics.runningWork == 0)
        try await store.send("3")
        await executor.idle()
        #expect(store.messages == ["1", "3"])
        store.dispose()
    }

    @Test("34: queue runs work of an id one after the other, in order, parallel at once")
    func queueAndParallel() async throws {
        for (policy, expected) in [
            (WorkPolicy.queue, ["1 begins", "1 ends", "2 begins", "2 ends", "3 begins", "3 ends"]),
            (.parallel, ["1 begins", "2 begins", "3 begins", "1 ends", "2 ends", "3 ends"]),
        ] {
            let clock = ManualClock()
            let store = HostedStore(
                { intent, turn in
                    turn.launch(id: "load", policy: policy) { work in
                        await work.dispatch("\(intent) begins")
                        try await work.sleep(for: .seconds(1))
                        await work.dispatch("\(intent) ends")
                    }
                }, environment: StoreEnvironment(clock: clock, executor: executor))
            var last = IntentID("")
            for intent in ["1", "2", "3"] {
                last = try await store.send(intent).id
                await executor.idle()
            }
            #expect(store.messages.count == (policy == .queue ? 1 : 3))
            await clock.advance(by: .seconds(3), running: executor)
            await store.settled(last)
            #expect(store.messages == expected)
            store.dispose()
        }
    }

    @Test("34: cancel ends what runs and waits under the id; with nothing there it does nothing")
    func cancel() async throws {
        let store = store { intent, turn in
            if intent == "stop" {
                turn.cancel("load")
            } else {
                turn.launch(id: "load", policy: .queue) { work in
                    try await work.sleep(for: .seconds(1))
                    await work.dispatch(intent)
                }
                turn.launch(id: "other") { work in
                    try await work.sleep(for: .seconds(1))
                    await work.dispatch("other")
                }
            }
        }
        try await store.send("stop")
        let first = try await store.send("1").id
        let second = try await store.send("2").id
        await executor.idle()
        try await store.send("stop")
        await clock.advance(by: .seconds(5), running: executor)
        await store.settled(first)
        await store.settled(second)
        #expect(store.messages == ["other", "other"])
        try await store.send("3")
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.messages.sorted() == ["3", "other", "other", "other"])
        store.dispose()
    }

    @Test("34: a turn is told whether work of an id runs, with what it and the batch's earlier turns asked for")
    func isRunning() async {
        let log = AppendLog<Script>.held
        let gate = Gate()
        let store = HostedStore(
            { intent, turn in
                for part in intent.split(separator: ",") {
                    switch part {
                    case "launch": turn.launch(id: "load") { _ in try await gate.wait() }
                    case "other": turn.launch(id: "other") { _ in try await gate.wait() }
                    case "queue": turn.launch(id: "load", policy: .queue) { _ in try await gate.wait() }
                    case "watch": turn.whileWatched(id: "load") { _ in }
                    case "throttle": turn.throttle(id: "load", for: .seconds(1), latest: true) { _ in }
                    case "stop": turn.cancel("load")
                    default: turn.dispatch("\(part) \(turn.isRunning("load"))")
                    }
                }
            }, environment: StoreEnvironment(clock: clock, executor: executor), log: log)
        log.end()
        store.accept("1,other,2,launch,3,queue,stop,4,watch,5")
        log.end()
        // One batch, in which an earlier turn launches and another cancels.
        store.accept("launch")
        for intent in ["6", "7,stop,8", "9,launch", "10"] { store.accept(intent) }
        log.end()
        log.end()
        store.accept("11")
        log.end()
        gate.open()
        await executor.idle()
        store.accept("12,throttle")
        log.end()
        await executor.idle()
        // The interval alone is no work; a call that is held back is.
        store.accept("13,throttle,14")
        log.end()
        let expected = [
            false, false, true, false, false, true, true, false, false, true, true, false, false, true,
        ]
        #expect(store.messages == expected.enumerated().map { "\($0 + 1) \($1)" })
        store.dispose()
    }

    @Test("34: ids live in the store: the same id in another one is another")
    func idsPerStore() async throws {
        let handler: Script.Handler = { intent, turn in
            turn.launch(id: "load", policy: .cancelPrevious) { work in
                try await work.sleep(for: .seconds(1))
                await work.dispatch(intent)
            }
        }
        let one = store(handler)
        let two = store(handler)
        try await one.send("a")
        try await two.send("b")
        await clock.advance(by: .seconds(1), running: executor)
        #expect(one.messages == ["a"])
        #expect(two.messages == ["b"])
        one.dispose()
        two.dispose()
    }

    @Test("34: work that is cancelled before it began does not begin")
    func cancelledBeforeStart() async throws {
        executor.pause()
        let began = Collected<String>()
        let store = store { intent, turn in
            turn.launch(id: "load", policy: .cancelPrevious) { _ in began.append(intent) }
        }
        try await store.send("1")
        try await store.send("2")
        executor.resume()
        await executor.idle()
        #expect(began.all == ["2"])
        store.dispose()
    }

    @Test("34: a thousand pieces of work under one id, and as many under others, end and leave nothing")
    func many() async throws {
        let store = HostedStore(
            { intent, turn in
                turn.launch(id: WorkID(intent), policy: .parallel) { work in await work.dispatch(intent) }
            }, environment: StoreEnvironment(executor: executor, queueLimit: .max, workLimit: .max))
        var last: [IntentID] = []
        for index in 0..<2000 { last.append(try await store.send(index < 1000 ? "same" : "\(index)").id) }
        for id in last { await store.settled(id) }
        await executor.idle()
        #expect(store.messages.count == 2000)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }
}
