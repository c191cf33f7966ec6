import Dispatch
import Locking
import MVI
import MVITesting
import Testing

@Suite(.timeLimit(.minutes(1)))
struct CommitTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor) }

    @Test("48: while a commit is in flight nothing runs; what arrives is the next batch, on the batch's own head")
    func batches() async {
        let log = HeldLog<Script>()
        let ran = Collected<String>()
        let store = Store(
            { intent, turn in
                ran.append("\(intent) on \(turn.state.messages.joined())")
                turn.dispatch(intent)
            }, log: log)
        log.end()
        for intent in ["a", "b", "c"] { store.accept(intent) }
        #expect(ran.all == ["a on "])
        log.end()
        #expect(ran.all == ["a on ", "b on a", "c on ab"])
        #expect(log.batches.map(\.count) == [1, 1, 2])
        #expect(log.batches[2].map { $0.state.messages.joined() } == ["ab", "abc"])
        log.end()
        #expect(store.messages == ["a", "b", "c"])
        store.dispose()
    }

    @Test(
        "48: a turn that can never be committed costs the others of its batch nothing: they run again, each alone",
        arguments: [CommitFailure.Code.tooLarge, .invalid])
    func apart(code: CommitFailure.Code) async {
        let log = HeldLog<Script>()
        let answers = Collected<String>()
        let store = Store({ intent, turn in turn.dispatch(intent) }, log: log)
        log.end()
        store.accept("a")
        for intent in ["b", "bad", "c"] {
            store.accept(intent, completion: { answers.append("\(intent) \((try? $0.get()) == nil ? "no" : "yes")") })
        }
        log.end()
        #expect(log.batches.map(\.count) == [1, 1, 3])
        log.end(.failed(CommitFailure(code, "One of them.")))
        #expect(answers.all.isEmpty)
        log.end()
        log.end(.failed(CommitFailure(code, "This one.")))
        log.end()
        #expect(log.batches.map(\.count) == [1, 1, 3, 1, 1, 1])
        #expect(answers.all == ["b yes", "bad no", "c yes"])
        #expect(store.messages == ["a", "b", "c"])
        store.dispose()
    }

    @Test("48: jobs that are to run again alone are refused if the store ends before")
    func apartAfterEnd() async {
        let log = HeldLog<Script>()
        let answers = Collected<String>()
        let store = Store({ intent, turn in turn.dispatch(intent) }, log: log)
        log.end()
        store.accept("a")
        for intent in ["b", "c"] {
            store.accept(intent, completion: { answers.append("\(intent) \((try? $0.get()) == nil ? "no" : "yes")") })
        }
        log.end()
        store.dispose()
        log.end(.tooLarge)
        #expect(answers.all == ["b no", "c no"])
    }

    @Test("49: a step whose outcome cannot be written is not tried for ever: its work is told")
    func invalidStep() async {
        let log = HeldLog<Script>()
        let thrown = Gate()
        let store = Store(
            { intent, turn in
                turn.launch { work in
                    do { try await work.turn { turn throws in turn.dispatch("bad") } } catch { thrown.open() }
                }
            }, log: log)
        log.end()
        store.accept("go")
        log.end()
        await log.batches(atLeast: 3)
        log.end(.failed(CommitFailure(.invalid, "Not a number.")))
        try? await thrown.wait()
        #expect(store.messages.isEmpty)
        store.dispose()
    }

    @Test("48: a batch has at most 64 jobs")
    func batchLimit() async {
        let log = HeldLog<Script>()
        let store = Store({ intent, turn in turn.dispatch(intent) }, log: log)
        for _ in 0..<150 { store.accept("x") }
        for _ in 0..<4 { log.end() }
        #expect(log.batches.map(\.count) == [1, 64, 64, 22])
        #expect(store.messages.count == 150)
        store.dispose()
    }

    @Test("48: state, view, subscribers, observers and callers see the committed head only")
    func committedOnly() async {
        let log = HeldLog<Script>()
        let seen = Collected<String>()
        let observed = Collected<String>()
        let script = Script(
            own: .observing { observation in
                if case .message(let message, _, _) = observation.event { observed.append(message) }
            },
            onExecute: { intent, turn in
                turn.dispatch(intent)
                turn.publish(intent)
            })
        let store = Store(script, log: log)
        store.start()
        log.end()
        let subscription = store.subscribe { seen.append($0.text) }
        store.accept("a", completion: { _ in seen.append("answered") })
        await store.observersCaughtUp()
        #expect(store.messages.isEmpty)
        #expect(store.view.messages.isEmpty)
        #expect(seen.all == [""])
        #expect(observed.all.isEmpty)
        let late = store.subscribe(.states) { seen.append("late \($0.text)") }
        #expect(seen.all == ["", "late "])
        log.end()
        await store.observersCaughtUp()
        #expect(store.messages == ["a"])
        #expect(Set(seen.all) == ["", "late ", "a", "!a", "late a", "answered"])
        #expect(seen.all.last == "answered")
        #expect(observed.all == ["a"])
        subscription.cancel()
        late.cancel()
        store.dispose()
    }

    @Test("48: what many threads send while commits end on another thread is committed once each, in order")
    func manyThreads() async {
        let log = QueueLog<Script>()
        let store = Store(
            { intent, turn in turn.dispatch(intent) }, environment: StoreEnvironment(queueLimit: .max), log: log)
        let told = Collected<Bool>()
        await concurrently(8) { thread in
            for index in 0..<100 {
                store.accept("\(thread)-\(index)", completion: { told.append((try? $0.get()) != nil) })
            }
        }
        await told.atLeast(800)
        #expect(told.all == Array(repeating: true, count: 800))
        #expect(store.messages.count == 800)
        for thread in 0..<8 {
            let mine = store.messages.filter { $0.hasPrefix("\(thread)-") }
            #expect(mine == (0..<100).map { "\(thread)-\($0)" })
        }
        #expect(log.overlaps.all.isEmpty)
        store.dispose()
    }

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
        let log = PreparedLog<Script>([.committed, .committed, .tooLarge, .tooLarge])
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

    @Test("10, 43: who accepts an intent is not kept for ever by those that come after it")
    func handover() async {
        let stores = Collected<Store<Script>>()
        let store = Store({ _, turn in turn.dispatch("x") })
        stores.append(store)
        // Each answer sends the next intent, until the store ends.
        @Sendable func again() { stores.all[0].accept("x", completion: { if case .success = $0 { again() } }) }
        again()
        store.dispose()
        #expect(store.messages.count > 64)
    }
}

/// Commits on a thread of its own, and notes commits that overlap.
private final class QueueLog<F: Feature>: TurnLog {
    private let queue = DispatchQueue(label: "QueueLog")
    private let inFlight = Lock(0)
    let overlaps = Collected<Int>()

    func commit(
        _ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult) -> Void
    ) -> CommitResult? {
        let others = inFlight.withLock { count in
            count += 1
            return count - 1
        }
        if others > 0 { overlaps.append(others) }
        queue.async { [self] in
            inFlight.withLock { $0 -= 1 }
            done(.committed)
        }
        return nil
    }
}
