import Locking
import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct IntentTests {
    @Test("10: intents reach execute in order, and each caller is told before accept returns")
    func order() {
        let store = HostedStore({ intent, turn in turn.dispatch(intent) })
        let told = Collected<Int>()
        for index in 0..<100 {
            store.accept("\(index)", completion: { if case .success = $0 { told.append(index) } })
            #expect(told.all.count == index + 1)
        }
        let expected: [String] = (0..<100).map { "\($0)" }
        #expect(store.messages == expected)
        store.dispose()
    }

    @Test("10, 18: what many threads accept at once neither overlaps nor gets lost, and stays in each thread's order")
    func manyThreads() async {
        let inside = Lock(0)
        let overlaps = Collected<Int>()
        let store = HostedStore(
            { intent, turn in
                let others = inside.withLock { count in
                    count += 1
                    return count - 1
                }
                if others > 0 { overlaps.append(others) }
                turn.dispatch(intent)
                inside.withLock { $0 -= 1 }
            }, environment: StoreEnvironment(queueLimit: .max))
        let told = Collected<String>()
        await concurrently(8) { thread in
            for index in 0..<200 {
                store.accept(
                    "\(thread)-\(index)",
                    completion: { if case .success(let outcome) = $0 { told.append(outcome.id.text) } })
            }
        }
        // Who enqueued goes on; the last runner may still be at it.
        await told.atLeast(1600)
        #expect(overlaps.all.isEmpty)
        #expect(store.messages.count == 1600)
        #expect(Set(told.all).count == 1600)
        for thread in 0..<8 {
            let mine = store.messages.filter { $0.hasPrefix("\(thread)-") }
            #expect(mine == (0..<200).map { "\(thread)-\($0)" })
        }
        store.dispose()
    }

    @Test("10: a thread that finds the queue busy enqueues and goes on")
    func busyThread() async {
        let gate = BlockingGate()
        let store = HostedStore({ intent, turn in
            if intent == "slow" { gate.wait() }
            turn.dispatch(intent)
        })
        let slow = Task(executorPreference: TestExecutor()) { store.accept("slow") }
        await gate.isReached()
        let told = Collected<Bool>()
        store.accept("next", completion: { _ in told.append(true) })
        #expect(told.all.isEmpty)
        #expect(store.messages.isEmpty)
        gate.open()
        await slow.value
        #expect(told.all == [true])
        #expect(store.messages == ["slow", "next"])
        store.dispose()
    }

    @Test("10: no lock is held while a handler, a log, a completion or a precondition runs")
    func noLock() {
        let stores = Collected<HostedStore<Script>>()
        let seen = Collected<Int>()
        // Reading would deadlock under the store's lock.
        let turns = SeenTurns { _ in seen.append(stores.all[0].state.messages.count) }
        let store = HostedStore(
            { intent, turn in turn.dispatch("\(intent) \(stores.all[0].diagnostics.failures)") }, log: turns.log)
        stores.append(store)
        store.accept(
            "go",
            ifMatch: { _ in
                seen.append(store.state.messages.count)
                return true
            }, completion: { _ in seen.append(store.view.messages.count) })
        #expect(store.messages == ["go 0"])
        #expect(seen.all == [0, 0, 1])
        store.dispose()
    }

    @Test("10: beyond the bound of the queue an intent is refused as busy, and the others run")
    func busy() async throws {
        let log = AppendLog<Script>.held
        let store = HostedStore(
            { intent, turn in turn.dispatch(intent) }, environment: StoreEnvironment(queueLimit: 2), log: log)
        log.end()
        let told = Collected<String>()
        for index in 0..<4 {
            store.accept("\(index)", completion: { told.append("\(index) \($0.text)") })
        }
        #expect(told.all == ["3 busy"])
        log.end()
        log.end()
        #expect(told.all == ["3 busy", "0 committed", "1 committed", "2 committed"])
        #expect(store.messages == ["0", "1", "2"])
        store.dispose()
    }

    @Test("11, 12: messages reach reduce in order, once each, and the state is new when dispatch returns")
    func readYourWrites() {
        let seen = Collected<[String]>()
        let store = HostedStore({ _, turn in
            turn.dispatch("a")
            seen.append(turn.state.messages)
            turn.dispatch("b")
            seen.append(turn.state.messages)
        })
        store.accept("go")
        #expect(seen.all == [["a"], ["a", "b"]])
        #expect(store.messages == ["a", "b"])
        store.dispose()
    }

    @Test("14: what is sent from inside a handler runs after it, first in first out, never nested")
    func neverNested() {
        let order = Collected<String>()
        let store = HostedStore(
            Script(
                onExecute: { _, turn in
                    turn.send("a")
                    turn.send("b")
                    order.append("execute ends")
                },
                onPerform: { action, turn in
                    order.append("\(action) begins")
                    if action == "a" { turn.send("c") }
                    order.append("\(action) ends")
                }))
        store.start()
        store.accept("go")
        #expect(
            order.all == ["execute ends", "a begins", "a ends", "b begins", "b ends", "c begins", "c ends"])
        store.dispose()
    }

    @Test("14, 16: an intent accepted from inside a handler, a log or a completion runs after the turn, on its state")
    func reentrant() {
        let stores = Collected<HostedStore<Script>>()
        let turns = SeenTurns { if $0 == "outer0" { stores.all[0].accept("log") } }
        let store = HostedStore(
            { intent, turn in
                if intent == "outer" { stores.all[0].accept("inner") }
                turn.dispatch("\(intent)\(turn.state.messages.count)")
            }, log: turns.log)
        stores.append(store)
        store.accept("outer", completion: { _ in store.accept("completion") })
        #expect(store.messages == ["outer0", "inner1", "log2", "completion3"])
        store.dispose()
    }

    @Test("16, 22: intents that a log sends while others write lose no update; it has each state in order")
    func reentrantUnderLoad() async {
        let stores = Collected<HostedStore<Script>>()
        let turns = SeenTurns { if $0.hasSuffix("outer") { stores.all[0].accept("inner") } }
        let store = HostedStore(
            { intent, turn in turn.dispatch(intent) }, environment: StoreEnvironment(queueLimit: .max), log: turns.log)
        stores.append(store)
        await concurrently(4) { _ in
            for _ in 0..<50 { store.accept("outer") }
        }
        await turns.texts.atLeast(400)
        #expect(turns.texts.all.map { $0.split(separator: ",").count } == Array(1...400))
        #expect(store.messages.count { $0 == "inner" } == 200)
        store.dispose()
    }

    @Test("15: the actions that an intent sends are part of its turn: one of them throws and all is undone")
    func actionsInTurn() {
        let log = AppendLog<Script>([])
        let script = Script(
            onExecute: { intent, turn in
                turn.dispatch(intent)
                turn.send("first")
                turn.send(intent)
            },
            onPerform: { action, turn in
                if action == "bad" { throw Broken() }
                turn.dispatch(action)
            })
        let store = HostedStore(script, log: log)
        store.start()
        store.accept("good")
        #expect(store.messages == ["good", "first", "good"])
        store.accept("bad")
        #expect(store.messages == ["good", "first", "good"])
        // Bootstrap's, the good one's, and the failure's own turn, with nothing in it.
        #expect(log.batches.map { $0.map(\.messages) } == [[0], [3], [0]])
        store.dispose()
    }

    @Test func `14, 15: actions that lead to each other without end fail their turn, and the next intent runs`() async {
        let store = TestStore(Echo())
        let error = await store.sendRejected(.shout(isEndless: true))
        #expect(
            error?.failure.map { "\($0.error)" }?.hasPrefix("More than 100000 actions were sent in one turn.") == true)
        #expect(store.state == Echo.State())
        await store.send(.shout(isEndless: false)) { $0.echoes = 1 }
        await store.finish()
    }

    @Test("17: work that awaits does not block the next intent")
    func awaiting() async throws {
        let gate = Gate()
        let store = HostedStore({ intent, turn in
            turn.dispatch(intent)
            if intent == "load" {
                turn.launch { work in
                    try await gate.wait()
                    await work.dispatch("loaded")
                }
            }
        })
        let outcome = try await store.send("load")
        #expect(!outcome.isSettled)
        try await store.send("next")
        #expect(store.messages == ["load", "next"])
        gate.open()
        await store.settled(outcome.id)
        #expect(store.messages == ["load", "next", "loaded"])
        store.dispose()
    }

    @Test("20: a feature whose messages are its intents needs a reducer and nothing else")
    func reducerOnly() async throws {
        let store = HostedStore(Adder())
        store.start()
        try await store.send(.add(2))
        try await store.send(.add(3))
        #expect(store.state == Adder.State(sum: 5))
        #expect(Adder.name == "adder")
        store.dispose()
    }

    @Test("a precondition is asked when the intent runs, with the version after its batch's turns, and refuses it")
    func precondition() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in if intent != "none" { turn.dispatch(intent) } }, log: log)
        log.end()
        let asked = Collected<UInt64>()
        let told = Collected<String>()
        store.accept("a")
        for intent in ["b", "none", "c"] {
            store.accept(
                intent,
                ifMatch: { versions in
                    asked.append(versions.upperBound)
                    return intent != "c"
                },
                completion: { result in
                    if case .failure = result { told.append("\(intent) \(result.text)") }
                })
        }
        #expect(asked.all.isEmpty)
        log.end()
        #expect(asked.all == [2, 3, 3])
        #expect(told.all.isEmpty)
        log.end()
        #expect(told.all == ["c preconditionFailed"])
        #expect(store.messages == ["a", "b"])
        store.dispose()
    }
}

private struct Adder: Feature {
    struct State: Codable, Equatable, Sendable { var sum = 0 }
    enum Intent: Codable, Sendable { case add(Int) }
    static let examples: [Intent] = [.add(1)]
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .add(let number): state.sum += number
        }
    }
}

private struct Echo: Feature {
    struct State: Codable, Equatable, Sendable { var echoes = 0 }
    enum Intent: Codable, Sendable { case shout(isEndless: Bool) }
    enum Action: Sendable { case answer(isEndless: Bool) }
    enum Message: Equatable, Sendable { case heard }
    static let examples: [Intent] = [.shout(isEndless: false)]
    let initialState = State()
    func execute(_ intent: Intent, _ turn: inout Turn<Echo>) {
        if case .shout(let isEndless) = intent { turn.send(.answer(isEndless: isEndless)) }
    }
    func perform(_ action: Action, _ turn: inout Turn<Echo>) {
        guard case .answer(true) = action else { return turn.dispatch(.heard) }
        turn.send(action)
    }
    func reduce(_ state: inout State, _ message: Message) { state.echoes += 1 }
}
