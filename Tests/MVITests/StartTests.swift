import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct StartTests {
    @Test("1: the state is the initial one before and right after the start, and the first execute reads it")
    func initialState() {
        let seen = Collected<[String]>()
        let store = HostedStore(
            Script(onExecute: { _, turn in seen.append(turn.state.messages) }), state: Script.State(messages: ["old"]))
        #expect(store.messages == ["old"])
        store.start()
        #expect(store.messages == ["old"])
        store.accept("go")
        #expect(seen.all == [["old"]])
        store.dispose()
    }

    @Test("2: bootstrap comes before the intent that makes the store; a second start does nothing")
    func order() {
        let store = HostedStore(Script(onBootstrap: { _, turn in turn.dispatch("bootstrap") }))
        let outcomes = Collected<Bool>()
        store.accept("first", completion: { outcomes.append((try? $0.get()) != nil) })
        store.accept("second")
        #expect(store.messages == ["bootstrap", "first", "second"])
        store.start()
        #expect(store.messages == ["bootstrap", "first", "second"])
        #expect(outcomes.all == [true])
        store.dispose()
    }

    @Test("2: of many threads that start a store at once, bootstrap runs once")
    func startedByMany() async {
        let bootstraps = Collected<StartReason>()
        let store = HostedStore(Script(onBootstrap: { life, _ in bootstraps.append(life) }))
        await concurrently(16) { _ in store.start() }
        await store.observersCaughtUp()
        #expect(bootstraps.all == [.new])
        store.dispose()
    }

    @Test("3: actions that bootstrap sends are performed in order before start returns")
    func actions() {
        let store = HostedStore(
            Script(
                onBootstrap: { _, turn in
                    turn.send("a")
                    turn.send("b")
                    turn.dispatch("bootstrap")
                },
                onPerform: { action, turn in
                    turn.dispatch(action)
                    if action == "a" { turn.send("c") }
                }))
        store.start()
        #expect(store.messages == ["bootstrap", "a", "b", "c"])
        store.dispose()
    }

    @Test("4: bootstrap is told whether the store is new or restored, and sees the restored state")
    func life() {
        let seen = Collected<String>()
        let script = Script(onBootstrap: { life, turn in seen.append("\(life) \(turn.state.messages)") })
        HostedStore(script).start()
        HostedStore(script, state: Script.State(messages: ["old"])).start()
        #expect(seen.all == ["new []", "restored [\"old\"]"])
    }

    @Test("6, 27: a label published in bootstrap reaches the log with the first turn")
    func labelInBootstrap() {
        let turns = SeenTurns()
        let store = HostedStore(Script(onBootstrap: { _, turn in turn.publish("hello") }), log: turns.log)
        store.start()
        #expect(turns.texts.all == ["!hello"])
        store.dispose()
    }

    @Test("8: a bootstrap that throws is reported and undone; the store answers, and its diagnostics say so")
    func bootstrapThrows() {
        let reports = Collected<Failure>()
        let environment = StoreEnvironment(report: { if case .failure(let failure, _) = $0 { reports.append(failure) } }
        )
        let store = HostedStore(
            Script(
                onBootstrap: { _, turn in
                    turn.dispatch("half")
                    throw Broken()
                }, onThrow: { failure, turn in turn.dispatch("\(failure.stage)") }), environment: environment)
        store.start()
        store.accept("go")
        #expect(store.messages == ["bootstrap", "go"])
        #expect(reports.all.map(\.stage) == [.bootstrap])
        #expect(store.diagnostics.bootstrapFailure?.error is Broken)
        #expect(store.diagnostics.failures == 1)
        store.dispose()
    }

    @Test("9: a store works without a log")
    func nobody() async throws {
        let store = HostedStore({ intent, turn in
            turn.dispatch(intent)
            turn.publish(intent)
        })
        try await store.send("a")
        try await store.send("b")
        #expect(store.messages == ["a", "b"])
        store.dispose()
    }
}
