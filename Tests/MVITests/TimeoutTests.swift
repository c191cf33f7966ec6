import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct TimeoutTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    /// Runs `operation` with five seconds; a message says how that ended.
    func store(_ operation: @escaping @Sendable (Work<Script>) async throws -> String) -> HostedStore<Script> {
        let script = Script(
            onExecute: { intent, turn in
                if intent == "stop" { return turn.cancel("load") }
                turn.launch(id: "load") { work in
                    await work.dispatch(try await work.timeout(after: .seconds(5)) { try await operation(work) })
                }
            }, onThrow: { failure, turn in turn.dispatch("\(failure.error)") })
        let store = HostedStore(script, environment: StoreEnvironment(clock: clock, executor: executor))
        store.start()
        return store
    }

    @Test("38: an operation that ends in time returns, and leaves no timer behind")
    func inTime() async throws {
        let store = store { work in
            try await work.sleep(for: .seconds(4))
            return "done"
        }
        try await store.send("go")
        await clock.advance(by: .seconds(4), running: executor)
        #expect(store.messages == ["done"])
        #expect(clock.sleeperCount == 0)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("38: an operation that takes longer is cancelled, and the work throws a timeout")
    func late() async throws {
        let cancelled = Collected<Bool>()
        let store = store { work in
            do { try await work.sleep(for: .seconds(9)) } catch { cancelled.append(Task.isCancelled) }
            return "late"
        }
        try await store.send("go")
        await clock.advance(by: .milliseconds(4999), running: executor)
        #expect(cancelled.all.isEmpty)
        await clock.advance(by: .milliseconds(1), running: executor)
        #expect(cancelled.all == [true])
        #expect(store.messages == ["The operation took longer than 5.0 seconds."])
        store.dispose()
    }

    @Test("63: an operation that ignores its cancellation is waited for")
    func stubborn() async throws {
        let gate = Gate()
        let store = store { _ in
            await gate.waitDespiteCancellation()
            return "late"
        }
        let outcome = try await store.send("go")
        await gate.waiters()
        await clock.advance(by: .seconds(6), running: executor)
        #expect(store.messages.isEmpty)
        #expect(store.diagnostics.runningWork == 1)
        gate.open()
        await store.settled(outcome.id)
        #expect(store.messages == ["The operation took longer than 5.0 seconds."])
        store.dispose()
    }

    @Test("36: cancelling the work cancels the operation, and is no failure")
    func cancelled() async throws {
        let store = store { work in
            try await work.sleep(for: .seconds(4))
            return "done"
        }
        try await store.send("go")
        await executor.idle()
        try await store.send("stop")
        await executor.idle()
        #expect(clock.sleeperCount == 0)
        #expect(store.messages.isEmpty)
        #expect(store.diagnostics.failures == 0)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("41: what the operation throws in time is thrown on")
    func throwing() async throws {
        let store = store { _ in throw Broken() }
        try await store.send("go")
        await executor.idle()
        #expect(store.messages == ["Broken()"])
        #expect(clock.sleeperCount == 0)
        store.dispose()
    }
}
