import MVI
import MVITesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct FailedCommitTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor) }

    @Test("49: a failed commit refuses its intents, drops its labels and launches, and the store is back at its head")
    func failed() async {
        let log = HeldLog<Script>()
        let observed = Collected<String>()
        let told = Collected<String>()
        let reports = Collected<CommitFailure>()
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
        let store = Store(script, environment: environment, log: log)
        store.start()
        log.end()
        let seen = Collected<String>()
        let subscription = store.subscribe { seen.append($0.text) }
        store.accept(
            "a",
            completion: { result in
                if case .failure(.notCommitted(let failure)) = result { told.append(failure.detail) }
            })
        log.end(.unavailable)
        await executor.idle()
        await store.observersCaughtUp()
        #expect(told.all == ["The disk is gone."])
        #expect(reports.all.map(\.code) == [.unavailable])
        #expect(store.messages.isEmpty)
        #expect(seen.all == [""])
        #expect(observed.all.isEmpty)
        #expect(store.diagnostics.runningWork == 0)
        store.accept("b")
        log.end()
        #expect(store.messages == ["b"])
        #expect(log.batches[2].first?.state.messages == ["b"])
        subscription.cancel()
        store.dispose()
    }

    @Test(
        "49: in a failed batch what was decided on turns that were lost is refused with them, what came before is not")
    func decidedOnLostTurns() async {
        let log = HeldLog<Script>()
        let told = Collected<String>()
        let store = Store(
            { intent, turn in
                if intent.hasPrefix("bad") { throw Broken() }
                turn.dispatch(intent)
            }, environment: environment, log: log)
        log.end()
        let completion: @Sendable (String) -> @Sendable (Result<IntentOutcome, IntentRejection>) -> Void = { intent in
            { result in
                switch result {
                case .success: told.append("\(intent) committed")
                case .failure(.failed): told.append("\(intent) threw")
                case .failure(.notCommitted): told.append("\(intent) not committed")
                case .failure(.preconditionFailed): told.append("\(intent) precondition")
                case .failure: told.append("\(intent) otherwise")
                }
            }
        }
        store.accept("first", completion: completion("first"))
        let changed: IntentPrecondition = { $0 > 0 ? .preconditionFailed : nil }
        store.accept("early", precondition: { _ in .preconditionFailed }, completion: completion("early"))
        store.accept("second", completion: completion("second"))
        store.accept("late", precondition: changed, completion: completion("late"))
        store.accept("bad", completion: completion("bad"))
        log.end()
        log.end(.unavailable)
        #expect(
            told.all == [
                "first committed", "early precondition", "second not committed", "late not committed",
                "bad not committed",
            ])
        #expect(store.diagnostics.failures == 1)
        store.dispose()
    }

    @Test("41, 49: an intent that throws is answered and reported, and its failure's turn is retried until committed")
    func failureRetried() async {
        let log = HeldLog<Script>()
        let reports = Collected<Bool>()
        var environment = environment
        environment.report = { if case .failure = $0 { reports.append(true) } }
        let script = Script(onExecute: { _, _ in throw Broken() }, onThrow: { _, turn in turn.dispatch("failed") })
        let store = Store(script, environment: environment, log: log)
        store.start()
        log.end()
        let told = Collected<Bool>()
        store.accept("bad", completion: { if case .failure(.failed) = $0 { told.append(true) } })
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
        let log = HeldLog<Script>()
        let seen = Collected<String>()
        let store = Store(
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
        let log = HeldLog<Script>()
        let seen = Collected<String>()
        let store = Store(
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

    @Test("49: a step that is too large for the log throws into its work, which goes on")
    func tooLarge() async throws {
        let log = PreparedLog<Script>([.committed(), .committed(), .tooLarge, .tooLarge])
        let caught = Collected<CommitFailure.Code?>()
        let reports = Collected<Failure>()
        var environment = environment
        environment.report = { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        let store = Store(
            { _, turn in
                turn.launch(id: "load") { work in
                    do {
                        try await work.turn { turn throws in turn.dispatch("first") }
                    } catch { caught.append((error as? CommitFailure)?.code) }
                    await work.dispatch("second")
                    await work.dispatch("third")
                }
            }, environment: environment, log: log)
        let outcome = try await store.send("go")
        await store.settled(outcome.id)
        #expect(store.messages == ["third"])
        #expect(caught.all == [.tooLarge])
        #expect(reports.all.map(\.stage) == [.work("load")])
        store.dispose()
    }

    @Test("49: a step that was committed together with one that is too large is tried alone")
    func tooLargeTogether() async throws {
        let log = HeldLog<Script>()
        let gate = Gate()
        let store = Store(
            { intent, turn in
                guard intent == "load" else { return turn.dispatch(intent) }
                turn.launch { work in
                    try await gate.wait()
                    await work.dispatch("loaded")
                }
            }, environment: environment, log: log)
        log.end()
        store.accept("load")
        log.end()
        await executor.idle()
        store.accept("hold")
        let told = Collected<Bool>()
        store.accept("large", completion: { if case .failure(.notCommitted) = $0 { told.append(true) } })
        gate.open()
        await executor.idle()
        log.end()
        #expect(log.batches.last?.count == 2)
        log.end(.tooLarge)
        #expect(log.batches.last?.count == 1)
        #expect(told.all.isEmpty)
        log.end(.tooLarge)
        #expect(told.all == [true])
        #expect(log.batches.last?.count == 1)
        log.end()
        #expect(store.messages == ["hold", "loaded"])
        store.dispose()
    }

    @Test("2, 49: a bootstrap that could not be committed is run again, before the next intent and without one")
    func bootstrapRetried() async {
        let log = PreparedLog<Script>([.unavailable, .unavailable, .unavailable])
        let told = Collected<Bool>()
        let script = Script(onBootstrap: { _, turn in turn.dispatch("bootstrap") })
        let store = Store(script, environment: environment, log: log)
        store.accept("queued", completion: { told.append((try? $0.get()) != nil) })
        store.start()
        #expect(told.all == [false])
        #expect(log.commits.all.map(\.count) == [2])
        store.accept("early", completion: { told.append((try? $0.get()) != nil) })
        #expect(told.all == [false, false])
        #expect(log.commits.all.map(\.count) == [2, 2])
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(log.commits.all.map(\.count) == [2, 2, 1])
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(store.messages == ["bootstrap"])
        store.accept("go")
        #expect(store.messages == ["bootstrap", "go"])
        store.dispose()
    }
}
