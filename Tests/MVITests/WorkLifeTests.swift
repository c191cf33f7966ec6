import MVI
import MVITesting
import TestSupport
import Testing

/// A row that ticks without end, with work that has an id and work that has none.
private struct Row: Part, Identifiable {
    enum Message: Equatable, Sendable { case ticked(String) }

    var id = 0
    var ticks: [String] = []

    mutating func reduce(_ message: Message) { if case .ticked(let text) = message { ticks.append(text) } }
}

private struct Table: Feature {
    struct State: Codable, Equatable, Sendable {
        var rows = Row.List()
        var selected = Row()
    }
    enum Intent: Codable, Sendable { case add(Int), remove(Int), select(Int), start(Int, named: Bool), startSelected }
    enum Message: Equatable, Sendable {
        case row(Int, Row.Message), selected(Row.Message), added(Int), removed(Int), select(Int)
    }
    static let examples: [Intent] = [.add(1), .remove(1), .select(1), .start(1, named: true), .startSelected]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .add(let id): turn.dispatch(.added(id))
        case .remove(let id): turn.dispatch(.removed(id))
        case .select(let id): turn.dispatch(.select(id))
        case .start(let id, let isNamed):
            turn.part(id, in: \.rows, Message.row) { $0.tick(id: isNamed ? "tick" : nil) }
        case .startSelected: turn.part(\.selected, Message.selected) { $0.tick(id: "tick") }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .row(let id, let message): state.rows.reduce(id, message)
        case .selected(let message): state.selected.reduce(message)
        case .added(let id): state.rows.append(Row(id: id))
        case .removed(let id): state.rows.remove(id: id)
        case .select(let id): state.selected = Row(id: id)
        }
    }
}

extension PartTurn where P == Row {
    fileprivate mutating func tick(id: WorkID?) {
        launch(id: id, policy: .queue) { work in
            while true {
                try await work.sleep(for: .seconds(1))
                await work.dispatch(.ticked(id?.name ?? "nameless"))
            }
        }
    }
}

@Suite("34, 39: how long launched work lives", .timeLimit(.minutes(10)))
struct WorkLifeTests {
    @Test(arguments: [true, false])
    func `work of a row ends with the row, also without an id, and what waits behind it`(isNamed: Bool) async {
        let store = TestStore(Table(), exhaustive: false)
        for id in 1...2 {
            await store.send(.add(id))
            await store.send(.start(id, named: isNamed))
            await store.send(.start(id, named: isNamed))
        }
        await store.advance(by: .seconds(1))
        await store.send(.remove(1))
        #expect(store.workInProgress == (isNamed ? ["tick of 2"] : ["work without an id", "work without an id"]))
        #expect(store.diagnostics.droppedForGoneParts == 0)
        await store.send(.remove(2))
        #expect(store.workInProgress.isEmpty)
        await store.passivate()
        #expect(!store.isInMemory)
        await store.finish()
    }

    @Test func `a row that comes back with its id has none of the old one's work`() async {
        let store = TestStore(Table(), exhaustive: false)
        await store.send(.add(1))
        await store.send(.start(1, named: true))
        await store.advance(by: .seconds(1))
        #expect(store.state.rows[id: 1]?.ticks == ["tick"])
        await store.send(.remove(1))
        await store.send(.add(1))
        await store.advance(by: .seconds(3))
        #expect(store.state.rows[id: 1]?.ticks == [])
        await store.send(.start(1, named: true))
        await store.advance(by: .seconds(1))
        #expect(store.state.rows[id: 1]?.ticks == ["tick"])
        await store.finish()
    }

    @Test func `a part with an id that another one takes the place of loses its work`() async {
        let store = TestStore(Table(), exhaustive: false)
        await store.send(.select(1))
        await store.send(.startSelected)
        await store.advance(by: .seconds(1))
        #expect(store.state.selected.ticks == ["tick"])
        await store.send(.select(2))
        #expect(store.workInProgress.isEmpty)
        await store.advance(by: .seconds(3))
        #expect(store.state.selected.ticks == [])
        await store.finish()
    }

    @Test func `work for watchers begins in the order in which it was registered`() async throws {
        let began = Collected<String>()
        let executor = TestExecutor()
        let script = Script(
            onExecute: { _, turn in
                for name in "abcdefgh" {
                    turn.whileWatched(id: WorkID("\(name)")) { _ in began.append("\(name)") }
                }
            })
        let store = HostedStore(script, environment: StoreEnvironment(clock: ManualClock(), executor: executor))
        store.start()
        try await store.send("register")
        store.beginWatching()
        await executor.idle()
        #expect(began.all == "abcdefgh".map { "\($0)" })
        store.dispose()
    }

    @Test func `work for watchers that has ended does not begin again within the grace period`() async throws {
        let began = Collected<String>()
        let (clock, executor) = (ManualClock(), TestExecutor())
        let script = Script(
            onExecute: { _, turn in
                turn.whileWatched(id: "load", grace: .seconds(5)) { _ in began.append("load") }
            })
        let store = HostedStore(script, environment: StoreEnvironment(clock: clock, executor: executor))
        store.start()
        try await store.send("register")
        for _ in 0..<3 {
            store.beginWatching()
            await executor.idle()
            store.endWatching()
            await clock.advance(by: .seconds(4), running: executor)
        }
        #expect(began.all == ["load"])
        await clock.advance(by: .seconds(1), running: executor)
        store.beginWatching()
        await executor.idle()
        #expect(began.all == ["load", "load"])
        // It is registered anew, so it is other work.
        try await store.send("register")
        await executor.idle()
        #expect(began.all == ["load", "load", "load"])
        store.dispose()
    }

    @Test func `a step of work that has ended is dropped and counted`() async throws {
        let gate = Gate()
        let executor = TestExecutor()
        let script = Script(
            onExecute: { _, turn in
                turn.launch { work in
                    Task(executorPreference: executor) {
                        try await gate.wait()
                        await work.dispatch("late")
                    }
                }
            })
        let store = HostedStore(script, environment: StoreEnvironment(clock: ManualClock(), executor: executor))
        store.start()
        try await store.send("begin")
        await executor.idle()
        gate.open()
        await executor.idle()
        #expect(store.messages == [])
        #expect(store.diagnostics.droppedLateSteps == 1)
        store.dispose()
    }
}
