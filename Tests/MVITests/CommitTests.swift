import Locking
import MVI
import MVITesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct CommitTests {
    @Test("48: while a commit is in flight nothing runs; what arrives is the next batch, on the batch's own head")
    func batches() async {
        let log = AppendLog<Script>.held
        let ran = Collected<String>()
        let store = HostedStore(
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

    @Test("48: an outcome has its store's version: the number of the last turn that changed the view state")
    func versions() {
        let log = AppendLog<Script>.held
        let answers = Collected<String>()
        let store = HostedStore({ intent, turn in if intent != "none" { turn.dispatch(intent) } }, log: log)
        log.end()
        let tell: @Sendable (Result<IntentOutcome, StoreError>) -> Void = { result in
            answers.append((try? result.get()).map { "\($0.version)" } ?? "refused")
        }
        for intent in ["a", "none", "b", "none", "c", "d"] { store.accept(intent, completion: tell) }
        // Bootstrap is the first turn.
        log.end()
        log.end()
        #expect(answers.all == ["2", "2", "4", "4", "6", "7"])
        store.dispose()
    }

    @Test("48: a batch has at most 64 jobs")
    func batchLimit() async {
        let log = AppendLog<Script>.held
        let store = HostedStore({ intent, turn in turn.dispatch(intent) }, log: log)
        for _ in 0..<150 { store.accept("x") }
        for _ in 0..<4 { log.end() }
        #expect(log.batches.map(\.count) == [1, 64, 64, 22])
        #expect(store.messages.count == 150)
        store.dispose()
    }

    @Test("48: state, view, observers and callers see the committed head only")
    func committedOnly() async {
        let log = AppendLog<Script>.held
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
        let store = HostedStore(script, log: log)
        store.start()
        log.end()
        store.accept("a", completion: { _ in seen.append("answered") })
        await store.observersCaughtUp()
        #expect(store.messages.isEmpty)
        #expect(store.view.messages.isEmpty)
        #expect(seen.all.isEmpty)
        #expect(observed.all.isEmpty)
        log.end()
        await store.observersCaughtUp()
        #expect(store.messages == ["a"])
        #expect(seen.all == ["answered"])
        #expect(observed.all == ["a"])
        store.dispose()
    }

    @Test("23, 26, 28: the log has each turn's state if it changed, then its labels in publish order, one twice if so")
    func logged() async throws {
        let turns = SeenTurns()
        let store = HostedStore(
            { intent, turn in
                turn.publish("before \(intent)")
                if intent != "label" { turn.dispatch(intent) }
                turn.publish("after")
                turn.publish("after")
            }, log: turns.log)
        for intent in ["a", "label", "b"] { try await store.send(intent) }
        #expect(
            turns.texts.all == [
                "a", "!before a", "!after", "!after", "!before label", "!after", "!after", "a,b", "!before b",
                "!after", "!after",
            ])
        store.dispose()
    }

    @Test("23, 24: the view state is derived, the first one, too; a turn that leaves it the same says so")
    func viewState() async throws {
        let log = AppendLog<Halves>([])
        let store = HostedStore(Halves(), log: log)
        store.start()
        for _ in 0..<5 { try await store.send(.up) }
        #expect(log.appends.flatMap(\.stores).map(\.number) == [1, 2, 3, 4, 5, 6])
        #expect(log.appends.flatMap(\.stores).map(\.version) == [1, 1, 3, 3, 5, 5])
        #expect(
            log.appends.flatMap(\.stores).map { $0.view.map { String(decoding: $0, as: UTF8.self) } }
                == ["0", nil, "1", nil, "2", nil])
        #expect(store.view == 2)
        #expect(store.state.count == 5)
        store.dispose()
    }

    @Test("48: what many threads send while commits end on another thread is committed once each, in order")
    func manyThreads() async {
        let log = AppendLog<Script>.held
        let store = HostedStore(
            { intent, turn in turn.dispatch(intent) }, environment: StoreEnvironment(queueLimit: .max), log: log)
        let told = Collected<Bool>()
        // Another thread ends the appends, one after the other.
        let ending = Task {
            var count = 0
            while !Task.isCancelled {
                count += 1
                await log.batches(atLeast: count)
                log.end()
            }
        }
        await concurrently(8) { thread in
            for index in 0..<100 {
                store.accept("\(thread)-\(index)", completion: { told.append((try? $0.get()) != nil) })
            }
        }
        await told.atLeast(800)
        ending.cancel()
        #expect(told.all == Array(repeating: true, count: 800))
        #expect(store.messages.count == 800)
        for thread in 0..<8 {
            let mine = store.messages.filter { $0.hasPrefix("\(thread)-") }
            #expect(mine == (0..<100).map { "\(thread)-\($0)" })
        }
        // Each began where the one before it ended.
        #expect(zip(log.appends, log.appends.dropFirst()).allSatisfy { $0.head == $1.expecting })
        store.dispose()
    }

    @Test("10, 43: who accepts an intent is not kept for ever by those that come after it")
    func handover() async {
        let stores = Collected<HostedStore<Script>>()
        let store = HostedStore({ _, turn in turn.dispatch("x") })
        stores.append(store)
        // Each answer sends the next intent, until the store ends.
        @Sendable func again() { stores.all[0].accept("x", completion: { if case .success = $0 { again() } }) }
        // It returns: after a while, of which the clock has a say, the queue goes on elsewhere.
        again()
        store.dispose()
        #expect(!store.messages.isEmpty)
    }
}

/// Shows half of its count, rounded down.
private struct Halves: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case up }
    static let examples: [Intent] = [.up]
    let initialState = State(count: 0)
    func reduce(_ state: inout State, _ intent: Intent) { state.count += 1 }
    func view(_ state: State) -> Int { state.count / 2 }
}
