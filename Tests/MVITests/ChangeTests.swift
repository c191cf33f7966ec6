import MVI
import MVITesting
import TestSupport
import Testing

@Suite("What a feature does when its state has changed", .timeLimit(.minutes(10)))
struct ChangeTests {
    @Test func `77: what follows from a change is part of its turn, also what follows from that`() async {
        let store = TestStore(Purse())
        await store.send(.put(cents: 60))
        await store.receive(.added(60)) { $0.coins = [60] }
        await store.receive(.summed(60)) { $0.total = 60 }
        await store.send(.put(cents: 50)) {
            $0.coins = [60, 50]
            $0.total = 110
            $0.isRich = true
        }
        await store.receive(action: .boast)
        await store.expect(.rich(total: 110))
        #expect(store.feature.seen.all == ["0 to 60", "0 to 60", "60 to 110", "60 to 110"])
        await store.finish()
    }

    @Test func `77: changes of bootstrap, actions, launched work and of a failure's turn are followed, too`() async {
        let store = TestStore(Purse(), state: Purse.State(coins: [1]))
        await store.receive(.added(2)) { $0.coins = [1, 2] }
        await store.receive(.summed(3)) { $0.total = 3 }
        await store.perform(.put(cents: 3))
        await store.receive(.added(3)) { $0.coins.append(3) }
        await store.receive(.summed(6)) { $0.total = 6 }
        await store.send(.putLater(cents: 4))
        await store.receive(.added(4)) { $0.coins.append(4) }
        await store.receive(.summed(10)) { $0.total = 10 }
        await store.sendRejected(.lose)
        await store.receive(.added(-1)) { $0.coins.append(-1) }
        await store.receive(.summed(9)) { $0.total = 9 }
        await store.finish()
    }

    @Test func `77: a turn without messages changes nothing, so nothing follows`() async {
        let store = TestStore(Purse())
        await store.send(.look)
        #expect(store.feature.seen.all.isEmpty)
        await store.finish()
    }

    @Test func `41, 57: a throw there undoes the turn, and a refusal is an answer`() async {
        let store = TestStore(Purse())
        await store.sendRejected(.put(cents: 13), .conflict, code: "unlucky")
        #expect(store.state == Purse.State())
        await store.finish()
    }

    @Test func `41: changes that lead to each other without end fail their turn`() async {
        let store = TestStore(Purse())
        let error = await store.sendRejected(.put(cents: 7))
        #expect(
            error?.failure.map { "\($0.error)" }
                == "`onChange` was called 16 times in one turn, and it changed the state each time. Dispatch only "
                + "messages after which the values that it compares stay unchanged.")
        // Two of them in the turn of the failure.
        #expect(store.feature.seen.all.count == 16 + 2)
        await store.receive(.added(-1)) { $0.coins = [-1] }
        await store.receive(.summed(-1)) { $0.total = -1 }
        await store.finish()
    }

    @Test func `49: a turn that runs again on a newer state follows what it changes of that`() async {
        let store = TestStore(Purse())
        await store.send(.put(cents: 1)) { ($0.coins, $0.total) = ([1], 1) }
        await store.changeElsewhere { ($0.coins, $0.total) = ([50], 50) }
        await store.send(.put(cents: 2)) { ($0.coins, $0.total) = ([50, 2], 52) }
        await store.finish()
    }

    @Test func `54: a recording has the messages that followed, and replays to the same states`() async throws {
        let log = AppendLog<Purse>([])
        let store = HostedStore(Purse(), log: log)
        store.start()
        for cents in [60, 50, 1] { try await store.send(.put(cents: cents)) }
        let turns = log.recordings.map { turn in
            let recording = String(decoding: turn.recording, as: UTF8.self)
            return #"{"sequence":\#(turn.number),"feature":"purse","time":0,"recording":\#(recording)}"#
        }
        let export = """
            {"format":"mvi-session/1","session":{"id":"s","epoch":"e"},"stores":[],"labels":[],"receipts":[],
             "setAside":[],"turns":[\(turns.joined(separator: ","))]}
            """
        let purse = Purse()
        let states = try Fixture(Array(export.utf8)).replay(purse)
        #expect(states == log.batches.joined().map(\.state))
        #expect(states.last == Purse.State(coins: [60, 50, 1], total: 111, isRich: true))
        #expect(log.batches.joined().map(\.messages) == [0, 2, 3, 2] && purse.seen.all.isEmpty)
        store.dispose()
    }
}

/// Keeps the sum of its coins, and says so when that is large.
private struct Purse: Feature {
    struct State: Codable, Equatable, Sendable {
        var coins: [Int] = []
        var total = 0
        var isRich = false
    }
    enum Intent: Codable, Sendable { case put(cents: Int), putLater(cents: Int), lose, look }
    enum Action: Codable, Equatable, Sendable { case put(cents: Int), boast }
    enum Message: Codable, Equatable, Sendable { case added(Int), summed(Int), becameRich }
    enum Label: Codable, Equatable, Sendable { case rich(total: Int) }
    static let examples: [Intent] = [.put(cents: 1), .putLater(cents: 1), .lose, .look]
    static let labelExamples: [Label] = [.rich(total: 100)]
    let initialState = State()
    let seen = Collected<String>()

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if reason == .restored { turn.dispatch(.added(2)) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .put(let cents): turn.dispatch(.added(cents))
        case .putLater(let cents): turn.launch { await $0.dispatch(.added(cents)) }
        case .lose: throw Broken()
        case .look: break
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .put(let cents): turn.dispatch(.added(cents))
        case .boast: turn.dispatch(.becameRich)
        }
    }

    func onChange(from before: State, _ turn: inout Turn<Self>) throws {
        let total = turn.state.coins.reduce(0, +)
        seen.append("\(before.total) to \(total)")
        if turn.state.coins.last == 13 { throw Refusal(.conflict, code: "unlucky", "No.") }
        if turn.state.coins.last == 7 { return turn.dispatch(.added(7)) }
        if turn.state.coins != before.coins { turn.dispatch(.summed(total)) }
        if total >= 100, before.total < 100, !turn.state.isRich { turn.send(.boast) }
        if turn.state.isRich, !before.isRich { turn.publish(.rich(total: total)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let cents): state.coins.append(cents)
        case .summed(let total): state.total = total
        case .becameRich: state.isRich = true
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { turn.dispatch(.added(-1)) }
}
