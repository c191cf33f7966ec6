import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FailedCommitTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor, jitter: { $0 }) }

    @Test("49: a failed commit refuses its intents, drops its labels and launches, and the store is back at its head")
    func failed() async {
        let log = AppendLog<Script>.held
        let observed = Collected<String>()
        let told = Collected<String>()
        let reports = Collected<StoreError>()
        var environment = environment
        environment.report = { if case .commitFailed(let failure, _) = $0 { reports.append(failure) } }
        let script = Script(
            own: .observing { observation in
                if case .message(let message, _, _) = observation.event { observed.append(message) }
            },
            onExecute: { intent, turn in
                turn.dispatch(intent)
                turn.publish(intent)
                turn.launch { work in await work.dispatch("launched") }
            })
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        log.end()
        store.accept(
            "a",
            completion: { result in
                if case .failure(let error) = result { told.append(error.detail) }
            })
        log.end(.unavailable)
        await executor.idle()
        await store.observersCaughtUp()
        #expect(told.all == ["The disk is gone."])
        #expect(reports.all.map(\.code) == [.unavailable])
        #expect(store.messages.isEmpty)
        #expect(observed.all.isEmpty)
        #expect(store.diagnostics.runningWork == 0)
        store.accept("b")
        log.end()
        #expect(store.messages == ["b"])
        #expect(log.batches[2].first?.state.messages == ["b"])
        store.dispose()
    }

    @Test(
        "49: in a failed batch what was decided on turns that were lost is refused with them, what came before is not")
    func decidedOnLostTurns() async {
        let log = AppendLog<Script>.held
        let told = Collected<String>()
        let store = HostedStore(
            { intent, turn in
                if intent.hasPrefix("bad") { throw Broken() }
                turn.dispatch(intent)
            }, environment: environment, log: log)
        log.end()
        let completion: @Sendable (String) -> @Sendable (Result<IntentOutcome, StoreError>) -> Void = { intent in
            { told.append("\(intent) \($0.text)") }
        }
        store.accept("first", completion: completion("first"))
        store.accept("early", ifMatch: { _ in false }, completion: completion("early"))
        store.accept("second", completion: completion("second"))
        store.accept("late", ifMatch: { $0 == 1...1 }, completion: completion("late"))
        store.accept("bad", completion: completion("bad"))
        log.end()
        log.end(.unavailable)
        #expect(
            told.all == [
                "first committed", "early preconditionFailed", "second unavailable", "late unavailable",
                "bad unavailable",
            ])
        #expect(store.diagnostics.failures == 1)
        store.dispose()
    }

    @Test("41, 49: an intent that throws is answered and reported, and its failure's turn is retried until committed")
    func failureRetried() async {
        let log = AppendLog<Script>.held
        let reports = Collected<Bool>()
        var environment = environment
        environment.report = { if case .failure = $0 { reports.append(true) } }
        let script = Script(onExecute: { _, _ in throw Broken() }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        log.end()
        let told = Collected<Bool>()
        store.accept("bad", completion: { told.append($0.text == "failed") })
        log.end(.unavailable)
        #expect(told.all == [true])
        #expect(reports.all == [true])
        #expect(store.messages.isEmpty)
        await clock.sleepers()
        await clock.advance(by: .seconds(1), running: executor)
        log.end()
        #expect(store.messages == ["failed"])
        #expect(reports.all == [true])
        store.dispose()
    }

    @Test("49: a step of launched work is retried until it is committed")
    func stepRetried() async {
        let log = AppendLog<Script>.held
        let seen = Collected<String>()
        let store = HostedStore(
            { intent, turn in
                if intent == "load" {
                    turn.launch { work in
                        await work.dispatch("loaded")
                        seen.append("returned")
                    }
                } else {
                    turn.dispatch(intent)
                }
            }, environment: environment, log: log)
        log.end()
        store.accept("load")
        log.end()
        for count in 3...5 {
            await log.batches(atLeast: count)
            log.end(.unavailable)
            await clock.sleepers()
            #expect(store.messages.isEmpty)
            await clock.advance(by: .seconds(1), running: executor)
        }
        #expect(seen.all.isEmpty)
        // What comes meanwhile does not wait for it.
        store.accept("other")
        log.end()
        log.end()
        await executor.idle()
        #expect(store.messages == ["loaded", "other"])
        #expect(seen.all == ["returned"])
        store.dispose()
    }

    @Test("49: steps that wait to be retried end with the store, at once")
    func retryAfterDispose() async {
        let log = AppendLog<Script>.held
        let seen = Collected<String>()
        let store = HostedStore(
            { _, turn in
                turn.launch { work in
                    await work.dispatch("loaded")
                    seen.append("returned")
                }
            }, environment: environment, log: log)
        log.end()
        store.accept("load")
        log.end()
        await log.batches(atLeast: 3)
        log.end(.unavailable)
        await clock.sleepers()
        store.dispose()
        await executor.idle()
        #expect(seen.all == ["returned"])
        #expect(clock.sleeperCount == 0)
        #expect(log.batches.count == 3)
    }

    @Test(
        "2, 49: a restored store's bootstrap that could not be committed is run again, before an intent and without one"
    )
    func bootstrapRetried() async {
        let log = AppendLog<Script>([.unavailable, .unavailable, .unavailable])
        let told = Collected<Bool>()
        let script = Script(onBootstrap: { _, turn in turn.dispatch("bootstrap") })
        let store = HostedStore(script, state: Script.State(), environment: environment, log: log)
        store.accept("queued", completion: { told.append((try? $0.get()) != nil) })
        #expect(told.all == [false])
        #expect(log.batches.map(\.count) == [2])
        store.accept("early", completion: { told.append((try? $0.get()) != nil) })
        #expect(told.all == [false, false])
        #expect(log.batches.map(\.count) == [2, 2])
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(log.batches.map(\.count) == [2, 2, 1])
        await clock.advance(by: .milliseconds(500), running: executor)
        #expect(store.messages == ["bootstrap"])
        store.accept("go")
        #expect(store.messages == ["bootstrap", "go"])
        store.dispose()
    }

    @Test("75: each try waits twice as long as the one before, up to 8 s; a row of failures is reported once")
    func backoff() async {
        let log = AppendLog<Script>(Array(repeating: .unavailable, count: 7))
        let reports = Collected<StoreError>()
        var environment = environment
        environment.report = { if case .commitFailed(let failure, _) = $0 { reports.append(failure) } }
        let script = Script(
            onBootstrap: { _, turn in turn.dispatch("bootstrap") },
            onExecute: { intent, turn in
                if intent == "launch" { turn.launch { await $0.dispatch("step") } } else { turn.dispatch(intent) }
            })
        let store = HostedStore(script, state: Script.State(), environment: environment, log: log)
        store.start()
        for (number, pause) in [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000].enumerated() {
            await clock.advance(by: .milliseconds(pause - 1), running: executor)
            #expect(log.batches.count == number + 1)
            await clock.advance(by: .milliseconds(1), running: executor)
            #expect(log.batches.count == number + 2)
        }
        #expect(store.messages == ["bootstrap"])
        #expect(reports.all.count == 1)
        // A commit ends the row.
        log.next(.committed, .unavailable)
        store.accept("launch")
        await executor.idle()
        #expect(reports.all.count == 2)
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(store.messages == ["bootstrap", "step"])
        store.dispose()
    }

    @Test("75: the environment's jitter varies the waits; an intent that is refused meanwhile is reported")
    func jitter() async {
        let log = AppendLog<Script>(Array(repeating: .unavailable, count: 3))
        let reports = Collected<StoreError>()
        var environment = environment
        environment.jitter = { $0 / 2 }
        environment.report = { if case .commitFailed(let failure, _) = $0 { reports.append(failure) } }
        let script = Script(onBootstrap: { _, turn in turn.dispatch("bootstrap") })
        let store = HostedStore(script, state: Script.State(), environment: environment, log: log)
        store.start()
        store.accept("a")
        #expect(reports.all.count == 2)
        await clock.advance(by: .milliseconds(125), running: executor)
        #expect(log.batches.count == 3)
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(store.messages == ["bootstrap"])
        #expect(reports.all.count == 2)
        store.dispose()
    }
}
