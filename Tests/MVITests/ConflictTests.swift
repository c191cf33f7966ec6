import Locking
import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConflictTests {
    let clock = ManualClock()
    let executor = TestExecutor()
    var environment: StoreEnvironment { StoreEnvironment(clock: clock, executor: executor) }

    private func newer(_ messages: String...) -> AppendLog<Script>.End { .conflict(newer: .init(messages: messages)) }

    private func told(_ answers: Collected<String>, _ intent: String)
        -> @Sendable (Result<IntentOutcome, StoreError>) -> Void
    {
        { answers.append("\(intent) \($0.text)") }
    }

    /// Lets the waits after conflicts pass until that many batches in all were handed to the log.
    private func pass(_ log: AppendLog<Script>, until count: Int) async {
        while log.batches.count < count { await clock.advance(by: .milliseconds(1), running: executor) }
    }

    @Test("49: after one conflict a batch runs again at once, after each further one in a row after a random while")
    func pause() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, environment: environment, log: log)
        log.end()
        store.accept("a")
        log.end(newer("theirs"))
        #expect(log.batches.count == 3)
        for count in 4...5 {
            log.end(newer("theirs"))
            await clock.sleepers()
            // What comes meanwhile does not overtake it.
            store.accept("b\(count)")
            #expect(log.batches.count == count - 1)
            await clock.advance(by: .milliseconds(80), running: executor)
            #expect(log.batches.count == count)
        }
        log.end()
        log.end()
        #expect(store.messages == ["theirs", "a", "b4", "b5"])
        store.dispose()
    }

    @Test("31, 49: a session that ends between two tries refuses what waits at once")
    func disposedInPause() async {
        let conflict = newer("theirs")
        let log = AppendLog<Script>([.committed, conflict, conflict])
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, environment: environment, log: log)
        let answers = Collected<String>()
        store.accept("a", completion: told(answers, "a"))
        store.dispose()
        #expect(answers.all == ["a gone"])
        await clock.advance(by: .seconds(1), running: executor)
        #expect(log.batches.count == 3)
        #expect(store.messages == ["theirs"])
    }

    @Test("49: who lost against another writer runs again on the newer state; nothing of the lost run is shown")
    func again() async {
        let log = AppendLog<Script>.held
        let observed = Collected<String>()
        let launched = Collected<String>()
        let script = Script(
            own: .observing { if case .message(let message, _, _) = $0.event { observed.append(message) } },
            onExecute: { intent, turn in
                turn.dispatch("\(intent) on \(turn.state.messages.joined(separator: "+"))")
                turn.publish(intent)
                turn.launch { _ in launched.append(intent) }
            })
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        log.end()
        let answers = Collected<String>()
        store.accept("a", completion: told(answers, "a"))
        log.end(newer("theirs"))
        #expect(store.messages == ["theirs"])
        #expect(store.view.messages == ["theirs"])
        #expect(answers.all.isEmpty)
        await executor.idle()
        #expect(launched.all.isEmpty)
        log.end()
        await executor.idle()
        await store.observersCaughtUp()
        #expect(store.messages == ["theirs", "a on theirs"])
        #expect(log.batches.last?.flatMap(\.texts) == ["theirs,a on theirs", "!a"])
        #expect(observed.all == ["a on theirs"])
        #expect(launched.all == ["a"])
        #expect(answers.all == ["a committed"])
        store.dispose()
    }

    @Test("45, 49: a batch that lost runs again before what came later; interceptors judge once, preconditions anew")
    func order() async {
        let log = AppendLog<Script>.held
        let judged = Collected<String>()
        let script = Script(
            own: .intercepting { intent, interception in
                judged.append(intent.text)
                let theirsIsThere = interception.state.messages.contains("theirs")
                if intent == "guarded", theirsIsThere { throw Refusal(.forbidden, "No more.") }
                if intent == "barred", !theirsIsThere { throw Refusal(.invalid, "Not yet.") }
                return intent == "rewritten" ? "other" : intent
            },
            onExecute: { intent, turn in
                if intent == "picky", !turn.state.messages.contains("theirs") { throw Broken() }
                turn.dispatch(intent)
            }, onThrow: { _, turn in turn.dispatch("failure") })
        let reports = Collected<Failure>()
        var environment = environment
        environment.report = { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        log.end()
        let answers = Collected<String>()
        let theirsIsThere = Collected<Bool>()
        store.accept("first", completion: told(answers, "first"))
        for intent in ["guarded", "barred", "rewritten"] { store.accept(intent, completion: told(answers, intent)) }
        store.accept(
            "asked", ifMatch: { _ in theirsIsThere.all.isEmpty },
            completion: told(answers, "asked"))
        store.accept("picky", completion: told(answers, "picky"))
        log.end()
        #expect(log.batches.last?.map { $0.state.messages.last } == ["guarded", "other", "asked", "failure"])
        store.accept("later", completion: told(answers, "later"))
        theirsIsThere.append(true)
        log.end(newer("first", "theirs"))
        #expect(log.batches.last?.map { $0.state.messages.last } == ["guarded", "other", "picky"])
        #expect(answers.all == ["first committed"])
        log.end()
        #expect(
            answers.all == [
                "first committed", "guarded committed", "barred refused", "rewritten committed",
                "asked preconditionFailed", "picky committed",
            ])
        log.end()
        #expect(store.messages == ["first", "theirs", "guarded", "other", "picky", "later"])
        #expect(answers.all.last == "later committed")
        #expect(judged.all == ["first", "guarded", "barred", "rewritten", "asked", "picky", "later"])
        // What the lost run threw is as good as never thrown.
        #expect(reports.all.isEmpty)
        #expect(store.diagnostics.failures == 0)
        store.dispose()
    }

    @Test("49: a step of work that was cancelled meanwhile drops out of the batch")
    func cancelledStep() async {
        let log = AppendLog<Script>.held
        let returned = Collected<String>()
        let store = HostedStore(
            { intent, turn in
                switch intent {
                case "load":
                    turn.launch(id: "load") { work in
                        await work.dispatch("loaded")
                        returned.append("returned")
                    }
                case "stop": turn.cancel("load")
                default: turn.dispatch(intent)
                }
            }, environment: environment, log: log)
        log.end()
        store.accept("load")
        log.end()
        await log.batches(atLeast: 3)
        // It is cancelled by a turn that another writer could not know of: the store's own end.
        store.dispose()
        log.end(newer("theirs"))
        await executor.idle()
        #expect(returned.all == ["returned"])
        #expect(log.batches.count == 3)
        #expect(store.messages.isEmpty)
    }

    @Test(
        "49: after eight conflicts in a row a batch is given up: intents are refused, steps and bootstrap tried again")
    func contended() async {
        let conflicts = (1...8).map { AppendLog<Script>.End.conflict(newer: .init(messages: ["\($0)"])) }
        let log = AppendLog<Script>(conflicts)
        let reports = Collected<StoreError>()
        var environment = environment
        environment.report = { if case .commitFailed(let failure, _) = $0 { reports.append(failure) } }
        let script = Script(onBootstrap: { _, turn in turn.dispatch("bootstrap") })
        let store = HostedStore(script, environment: environment, log: log)
        let answers = Collected<String>()
        store.accept("a", completion: told(answers, "a"))
        await pass(log, until: 8)
        #expect(log.batches.count == 8)
        #expect(log.batches.last?.map { $0.state.messages } == [["7", "bootstrap"], ["7", "bootstrap", "a"]])
        #expect(answers.all == ["a contended"])
        #expect(reports.all.map(\.code) == [.contended])
        #expect(store.messages == ["8"])
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(store.messages == ["8", "bootstrap"])
        store.dispose()
    }

    @Test("4, 49: a bootstrap that lost is told that the store is restored: another writer has begun its life")
    func bootstrap() async {
        let log = AppendLog<Script>([newer("theirs"), .unavailable])
        let lives = Collected<StartReason>()
        let script = Script(onBootstrap: { life, turn in
            lives.append(life)
            turn.dispatch("bootstrap")
        })
        let store = HostedStore(script, environment: environment, log: log)
        store.start()
        await clock.advance(by: .milliseconds(250), running: executor)
        #expect(lives.all == [.new, .restored, .restored])
        #expect(store.messages == ["theirs", "bootstrap"])
        store.dispose()
    }

    @Test("49: conflicts are counted for each batch: one that was committed at last leaves nothing to the next")
    func countedAnew() async throws {
        let conflict = AppendLog<Script>.End.conflict(newer: .init(messages: ["theirs"]))
        let seven = Array(repeating: conflict, count: 7)
        let log = AppendLog<Script>([.committed] + seven + [.committed] + seven)
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, environment: environment, log: log)
        store.accept("a")
        await pass(log, until: 9)
        store.accept("b")
        await pass(log, until: 17)
        #expect(store.messages == ["theirs", "b"])
        #expect(log.batches.count == 17)
        store.dispose()
    }

    @Test("49: a session that has ended does not run again what lost")
    func disposed() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, environment: environment, log: log)
        log.end()
        let answers = Collected<String>()
        store.accept("a", completion: told(answers, "a"))
        store.dispose()
        log.end(newer("theirs"))
        #expect(answers.all == ["a gone"])
        #expect(log.batches.count == 2)
        #expect(store.messages.isEmpty)
    }

    @Test("49: a journal that answers at once keeps the stack as it is, however many batches fail")
    func stack() async throws {
        let log = AppendLog<Script>((0..<5_001).map { $0.isMultiple(of: 2) ? .committed : .unavailable })
        let store = HostedStore({ _, turn in turn.publish("said") }, log: log)
        let answers = Collected<String>()
        @Sendable func next(_ count: Int) {
            store.accept(
                "\(count)",
                completion: { _ in
                    if count < 5_000 { next(count + 1) } else { answers.append("done") }
                })
        }
        next(1)
        await answers.atLeast(1)
        #expect(log.appends.count == 5_001)
        store.dispose()
    }

    @Test("48: a turn that dispatches nothing keeps no state anew")
    func stateChanged() async throws {
        let log = AppendLog<Script>([])
        let store = HostedStore(
            { intent, turn in if intent != "nothing" { turn.dispatch(intent) } }, environment: environment, log: log)
        try await store.send("nothing")
        try await store.send("a")
        // The first one makes the store.
        let withState: [Bool] = log.appends.flatMap(\.stores).map { $0.state != nil }
        #expect(withState == [true, false, true])
        store.dispose()
    }

    @Test("10, 49: no lock is held while another writer's state is viewed and compared")
    func noLock() {
        let holder = Lock<HostedStore<Viewed>?>(nil)
        let seen = Collected<Int>()
        let feature = Viewed { count in
            guard let store = holder.withLock({ $0 }) else { return }
            // Reading would deadlock under the store's lock.
            seen.append(store.diagnostics.failures + store.state.count)
        }
        let log = AppendLog<Viewed>([.committed, .conflict(newer: Viewed.State(count: 10))])
        let store = HostedStore(feature, environment: environment, log: log)
        store.start()
        holder.withLock { $0 = store }
        store.accept(.up)
        #expect(store.state.count == 11)
        // The lost run, the other writer's own view, its state as it is read here, the run that was committed.
        #expect(seen.all == [0, 0, 0, 10])
        holder.withLock { $0 = nil }
        store.dispose()
    }
}
