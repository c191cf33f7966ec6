import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct RetryTests {
    let clock = ManualClock()
    let executor = TestExecutor()

    /// Counts its calls; each fails until `succeeding`, which returns its number.
    final class Attempts: Sendable {
        let calls = Collected<Int>()
        let succeeding: Int

        init(succeeding: Int) { self.succeeding = succeeding }

        func next() throws -> Int {
            calls.append(calls.all.count + 1)
            if calls.all.count < succeeding { throw Broken() }
            return calls.all.count
        }
    }

    /// Waits are as long as the back-off says, unless a test gives a jitter.
    func store(
        jitter: @escaping @Sendable (Duration) -> Duration = { $0 }, _ onExecute: @escaping Script.Handler
    ) -> HostedStore<Script> {
        let script = Script(onExecute: onExecute, onThrow: { failure, turn in turn.dispatch("\(failure.error)") })
        let store = HostedStore(
            script, environment: StoreEnvironment(clock: clock, executor: executor, jitter: jitter))
        store.start()
        return store
    }

    @Test("38: a retry waits longer each time, up to a bound, and returns what the first success returned")
    func success() async throws {
        let attempts = Attempts(succeeding: 5)
        let store = store { _, turn in
            turn.launch { work in
                let backoff = Backoff.exponential(from: .seconds(1), to: .seconds(3))
                let number = try await work.retry(attempts: 5, backoff: backoff) { try attempts.next() }
                await work.dispatch("\(number)")
            }
        }
        try await store.send("go")
        await executor.idle()
        // 1, 2, 3 and 3 seconds.
        for (seconds, count) in [(0, 1), (1, 2), (1, 2), (1, 3), (2, 3), (1, 4), (2, 4)] {
            await clock.advance(by: .seconds(seconds), running: executor)
            #expect(attempts.calls.all.count == count)
        }
        #expect(store.messages.isEmpty)
        await clock.advance(by: .seconds(1), running: executor)
        #expect(store.messages == ["5"])
        store.dispose()
    }

    @Test("41: the last attempt's error is thrown, and one that is not to be retried at once")
    func failure() async throws {
        let attempts = Attempts(succeeding: 9)
        let store = store { intent, turn in
            turn.launch { work in
                _ = try await work.retry(attempts: 3, backoff: .constant(.seconds(1)), if: { _ in intent == "go" }) {
                    try attempts.next()
                }
            }
        }
        try await store.send("go")
        await clock.advance(by: .seconds(9), running: executor)
        #expect(attempts.calls.all.count == 3)
        #expect(store.messages == ["Broken()"])
        try await store.send("once")
        await executor.idle()
        #expect(attempts.calls.all.count == 4)
        #expect(store.messages.count == 2)
        store.dispose()
    }

    @Test("36: a retry that is cancelled while it waits makes no further attempt and is no failure")
    func cancelled() async throws {
        let attempts = Attempts(succeeding: 9)
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("load") }
            turn.launch(id: "load") { work in _ = try await work.retry(attempts: 9) { try attempts.next() } }
        }
        try await store.send("go")
        await executor.idle()
        try await store.send("stop")
        await clock.advance(by: .seconds(60), running: executor)
        #expect(attempts.calls.all.count == 1)
        #expect(store.messages.isEmpty)
        #expect(store.diagnostics.runningWork == 0)
        store.dispose()
    }

    @Test("36: an attempt that fails after its work was cancelled is the last one")
    func cancelledInAttempt() async throws {
        let gate = Gate()
        let attempts = Attempts(succeeding: 9)
        let store = store { intent, turn in
            if intent == "stop" { return turn.cancel("load") }
            turn.launch(id: "load") { work in
                _ = try await work.retry(attempts: 9, backoff: .constant(.zero)) {
                    await gate.waitDespiteCancellation()
                    return try attempts.next()
                }
            }
        }
        try await store.send("go")
        await gate.waiters()
        try await store.send("stop")
        gate.open()
        await attempts.calls.atLeast(1)
        await executor.idle()
        await clock.advance(by: .seconds(60), running: executor)
        #expect(attempts.calls.all.count == 1)
        #expect(store.diagnostics.failures == 0)
        store.dispose()
    }

    @Test("38: the environment varies the waits")
    func jitter() async throws {
        let attempts = Attempts(succeeding: 2)
        let store = store(jitter: { $0 / 2 }) { _, turn in
            turn.launch { work in
                _ = try await work.retry(attempts: 2, backoff: .constant(.seconds(10))) { try attempts.next() }
            }
        }
        try await store.send("go")
        await clock.advance(by: .milliseconds(4999), running: executor)
        #expect(attempts.calls.all.count == 1)
        await clock.advance(by: .milliseconds(1), running: executor)
        #expect(attempts.calls.all.count == 2)
        store.dispose()
    }

    @Test("38: unless told otherwise a wait is half to all of the back-off's")
    func defaultJitter() {
        let jitter = StoreEnvironment().jitter
        let waits = (0..<100).map { _ in jitter(.seconds(10)) }
        #expect(waits.allSatisfy { $0 >= .seconds(5) && $0 <= .seconds(10) })
        #expect(Set(waits).count > 1)
    }

    @Test("38: a back-off of very many attempts stays at its bound")
    func manyAttempts() {
        let backoff = Backoff.exponential(from: .milliseconds(1), to: .seconds(10))
        #expect(backoff.delay(afterAttempts: 1) == .milliseconds(1))
        #expect(backoff.delay(afterAttempts: 4) == .milliseconds(8))
        #expect(backoff.delay(afterAttempts: .max) == .seconds(10))
        #expect(Backoff.constant(.zero).delay(afterAttempts: .max) == .zero)
    }
}
