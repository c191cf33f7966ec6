import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct WorkEndTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    /// A started store whose work runs on the test's executor and clock.
    func store(_ onExecute: @escaping Script.Handler) -> HostedStore<Script> {
        HostedStore(onExecute, environment: StoreEnvironment(clock: clock, executor: executor))
    }

    @Test("35, 41: work that throws is reported and handed to onFailure, and its siblings go on")
    func throwing() async throws {
        let reports = Collected<Failure>()
        let gate = Gate()
        let script = Script(
            onExecute: { _, turn in
                turn.launch(id: "bad") { _ in throw Broken() }
                turn.launch(id: "good") { work in
                    try await gate.wait()
                    await work.dispatch("good")
                }
            }, onThrow: { failure, turn in turn.dispatch("failed \(failure.stage)") })
        let environment = StoreEnvironment(
            executor: executor, report: { if case .failure(let failure, _) = $0 { reports.append(failure) } })
        let store = HostedStore(script, environment: environment)
        store.start()
        let outcome = try await store.send("go")
        await executor.idle()
        #expect(store.messages == ["failed work(Optional(bad))"])
        gate.open()
        await store.settled(outcome.id)
        #expect(store.messages.last == "good")
        #expect(reports.all.map(\.intentID) == [outcome.id])
        #expect(store.diagnostics.failures == 1)
        store.dispose()
    }

    @Test("36: a cancelled task that throws is no failure, nor is its cancellation")
    func cancellationIsNoFailure() async throws {
        let reports = Collected<Bool>()
        let gate = Gate()
        let store = HostedStore(
            { intent, turn in
                guard intent == "go" else { return turn.cancel("load") }
                turn.launch(id: "load") { _ in
                    await gate.waitDespiteCancellation()
                    throw Broken()
                }
                turn.launch(id: "load") { _ in try await Gate().wait() }
            }, environment: StoreEnvironment(executor: executor, report: { _ in reports.append(true) }))
        try await store.send("go")
        await gate.waiters()
        try await store.send("stop")
        gate.open()
        await executor.idle()
        #expect(reports.all.isEmpty)
        #expect(store.diagnostics.failures == 0)
        store.dispose()
    }

    @Test("36, 41: a CancellationError of work that nobody cancelled is a failure")
    func unaskedCancellation() async throws {
        let script = Script(
            onExecute: { _, turn in turn.launch(id: "load") { _ in throw CancellationError() } },
            onThrow: { failure, turn in turn.dispatch("failed \(failure.stage)") })
        let store = HostedStore(script, environment: StoreEnvironment(executor: executor))
        store.start()
        try await store.send("go")
        await executor.idle()
        #expect(store.messages == ["failed work(Optional(load))"])
        #expect(store.diagnostics.failures == 1)
        store.dispose()
    }

    @Test("33, 36: a step that waits behind the turn that cancels its work is dropped, also in the same batch")
    func cancelledInBatch() async {
        let log = AppendLog<Script>.held
        let reached = Gate()
        let store = HostedStore(
            { intent, turn in
                switch intent {
                case "load":
                    turn.launch(id: "load") { work in
                        try await reached.wait()
                        await work.dispatch("loaded")
                    }
                case "stop": turn.cancel("load")
                default: turn.dispatch(intent)
                }
            }, environment: StoreEnvironment(executor: executor), log: log)
        log.end()
        store.accept("load")
        log.end()
        await executor.idle()
        store.accept("first")
        store.accept("stop")
        reached.open()
        await executor.idle()
        log.end()
        log.end()
        #expect(store.messages == ["first"])
        #expect(log.batches.map(\.count) == [1, 1, 1, 1])
        store.dispose()
    }

    @Test("33: what fails in work that is cancelled before its failure's turn is not handed to onFailure")
    func failureOfCancelled() async {
        let log = AppendLog<Script>.held
        let gate = Gate()
        let script = Script(
            onExecute: { intent, turn in
                guard intent == "load" else { return turn.cancel("load") }
                turn.launch(id: "load") { _ in
                    try await gate.wait()
                    throw Broken()
                }
            }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(script, environment: StoreEnvironment(executor: executor), log: log)
        store.start()
        log.end()
        store.accept("load")
        log.end()
        await executor.idle()
        store.accept("stop")
        gate.open()
        await executor.idle()
        log.end()
        #expect(log.batches.count == 3)
        #expect(store.messages.isEmpty)
        store.dispose()
    }

    @Test("a step whose action throws is undone; the throwing step throws on, the other one is reported")
    func throwingSteps() async throws {
        let caught = Collected<String>()
        let reports = Collected<Failure>()
        let script = Script(
            onExecute: { _, turn in
                turn.launch { work in
                    do {
                        try await work.turn { turn throws in
                            turn.dispatch("half")
                            throw Broken()
                        }
                    } catch { caught.append("\(error)") }
                    await work.turn { turn in
                        turn.dispatch("half")
                        turn.send("bad")
                    }
                    await work.dispatch("end")
                }
            }, onPerform: { _, _ in throw Broken() }, onThrow: { _, turn in turn.dispatch("failed") })
        let environment = StoreEnvironment(
            executor: executor, report: { if case .failure(let failure, _) = $0 { reports.append(failure) } })
        let store = HostedStore(script, environment: environment)
        store.start()
        let outcome = try await store.send("go")
        await store.settled(outcome.id)
        #expect(store.messages == ["failed", "end"])
        #expect(caught.all == ["Broken()"])
        #expect(reports.all.map(\.stage) == [.work(nil)])
        store.dispose()
    }
}
