import MVI
import MVITesting
import TestSupport
import Testing

@Suite("Work that waits for a state", .timeLimit(.minutes(10)))
struct StateWaitTests {
    let executor = TestExecutor()

    private static let isReady: @Sendable (Script.State) -> Bool = { $0.messages.last == "ready" }

    /// A started store with work that waits until the last message is `ready`, and notes the state or the error.
    private func store(
        _ seen: Collected<String>, on executor: TestExecutor? = nil, log: AppendLog<Script>? = nil
    ) -> HostedStore<Script> {
        HostedStore(
            { intent, turn in
                if intent == "cancel" { turn.cancel("wait") }
                turn.dispatch(intent)
                guard intent.hasPrefix("wait") else { return }
                turn.launch(id: "wait") { work in
                    do {
                        seen.append(try await work.state(where: Self.isReady).messages.joined(separator: ","))
                    } catch {
                        seen.append("\(type(of: error))")
                        throw error
                    }
                }
            }, environment: StoreEnvironment(executor: executor), log: log)
    }

    @Test func `34: the present state ends a wait at once, else that of a later turn`() async throws {
        let seen = Collected<String>()
        let store = store(seen)
        try await store.send("ready")
        let outcome = try await store.send("wait")
        try await store.send("other")
        try await store.send("ready")
        #expect(await seen.atLeast(1) == ["ready,wait,other,ready"])
        await store.settled(outcome.id)
        let present = HostedStore { intent, turn in
            turn.dispatch(intent)
            turn.launch { work in seen.append(try await work.state(where: Self.isReady).messages.joined()) }
        }
        try await present.send("ready")
        #expect(await seen.atLeast(2).last == "ready")
        #expect(store.diagnostics.failures == 0)
        store.dispose()
        present.dispose()
    }

    @Test func `34, 48: a wait sees no state before its turn is committed`() async {
        let seen = Collected<String>()
        let log = AppendLog<Script>.held
        let store = store(seen, on: executor, log: log)
        log.end()
        store.accept("wait")
        log.end()
        store.accept("ready")
        await log.batches(atLeast: 3)
        await executor.idle()
        #expect(seen.all.isEmpty && store.workInProgress == ["wait"])
        log.end()
        #expect(await seen.atLeast(1) == ["wait,ready"])
        store.dispose()
    }

    @Test func `34: a wait does not miss a state that later turns have changed before the work runs again`()
        async throws
    {
        let seen = Collected<String>()
        let store = store(seen, on: executor)
        for intent in ["wait 1", "wait 2"] { try await store.send(intent) }
        await executor.idle()
        executor.pause()
        for intent in ["ready", "other"] { try await store.send(intent) }
        executor.resume()
        #expect(await seen.atLeast(2) == ["wait 1,wait 2,ready", "wait 1,wait 2,ready"])
        store.dispose()
    }

    @Test func `31, 36: a wait ends with its work and with its store, which is no failure`() async throws {
        let seen = Collected<String>()
        let store = store(seen, on: executor)
        try await store.send("wait")
        await executor.idle()
        try await store.send("cancel")
        #expect(await seen.atLeast(1) == ["CancellationError"])
        try await store.send("wait")
        await executor.idle()
        store.dispose()
        #expect(await seen.atLeast(2) == ["CancellationError", "CancellationError"])
        #expect(store.diagnostics.failures == 0)
    }

    @Test func `31, 36: also in a task that is not cancelled with the work, and after that is over`() async throws {
        let seen = Collected<String>()
        let works = Collected<Work<Script>>()
        let gate = Gate()
        let store = HostedStore { intent, turn in
            turn.dispatch(intent)
            guard intent == "wait" else { return }
            turn.launch(id: "wait") { work in
                works.append(work)
                try await gate.wait()
            }
        }
        func wait() async {
            let work = await works.atLeast(1)[0]
            Task.detached {
                do { seen.append("\(try await work.state(where: Self.isReady))") } catch { seen.append("ended") }
            }
        }
        try await store.send("wait")
        await wait()
        await works.atLeast(1)[0].dispatch("seen")
        store.dispose()
        #expect(await seen.atLeast(1) == ["ended"])
        await wait()
        #expect(await seen.atLeast(2) == ["ended", "ended"])
    }

    @Test func `34, 53: in a test a wait ends in the order of turns, also by another server's change`() async {
        let store = TestStore(Doors())
        await store.send(.expect(id: 1))
        await store.send(.open(id: 2)) { $0.doors[id: 2]?.isOpen = true }
        await store.send(.open(id: 1)) { $0.doors[id: 1]?.isOpen = true }
        await store.receive(.door(id: 1, .passed)) { $0.doors[id: 1]?.passages = 1 }
        await store.send(.expectAll)
        await store.changeElsewhere { $0.doors[id: 3]?.isOpen = true }
        await store.send(.open(id: 2))
        await store.receive(.door(id: 2, .opened))
        await store.receive(.allOpen) { $0.isAllOpen = true }
        await store.finish()
    }

    @Test func `34: a wait of a part sees the part, and ends without a failure when that leaves its list`() async {
        let store = TestStore(Doors())
        await store.send(.expect(id: 1))
        #expect(store.workInProgress == ["pass of 1"])
        await store.send(.remove(id: 1)) { $0.doors.remove(id: 1) }
        #expect(store.workInProgress == [])
        // Another server removes it: no turn of this one cancels the work.
        await store.send(.expect(id: 2))
        await store.changeElsewhere { $0.doors.remove(id: 2) }
        await store.send(.open(id: 3)) { $0.doors[id: 3]?.isOpen = true }
        #expect(store.workInProgress == [] && store.state.doors.ids == [3])
        await store.finish()
    }

    @Test func `53: a test that waits for work which waits for a state fails at once, and says so`() async {
        let texts = await failures {
            let store = TestStore(Doors(), timeout: .seconds(3_600))
            await store.send(.expect(id: 1))
            await store.receive(.door(id: 1, .passed))
            await store.cancelWork()
            await store.finish()
        }
        #expect(
            texts == [
                "Expected to receive .door(id: 1, .passed), but it did not come. Work runs: pass of 1. "
                    + "1 of its tasks wait for a state that has not come."
            ])
    }
}

private struct Door: Part, Identifiable {
    enum Message: Equatable, Sendable { case opened, passed }
    let id: Int
    var isOpen = false
    var passages = 0

    mutating func reduce(_ message: Message) {
        switch message {
        case .opened: isOpen = true
        case .passed: passages += 1
        }
    }
}

/// Doors that work waits for.
private struct Doors: Feature {
    struct State: Codable, Equatable, Sendable {
        var doors: Door.List = [Door(id: 1), Door(id: 2), Door(id: 3)]
        var isAllOpen = false
    }
    enum Intent: Codable, Sendable { case expect(id: Int), open(id: Int), remove(id: Int), expectAll }
    enum Message: Equatable, Sendable {
        case door(id: Int, Door.Message)
        case removed(id: Int)
        case allOpen
    }
    static let examples: [Intent] = [.expect(id: 1), .open(id: 1), .remove(id: 1), .expectAll]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .expect(let id):
            turn.part(id, in: \.doors, Message.door) { door in
                door.launch(id: "pass") { work in
                    if try await work.state(where: { $0.isOpen }).isOpen { await work.dispatch(.passed) }
                }
            }
        case .open(let id): turn.dispatch(.door(id: id, .opened))
        case .remove(let id): turn.dispatch(.removed(id: id))
        case .expectAll:
            turn.launch(id: "all") { work in
                _ = try await work.state(where: { state in state.doors.allSatisfy { $0.isOpen } })
                await work.dispatch(.allOpen)
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .door(let id, let message): state.doors.reduce(id, message)
        case .removed(let id): state.doors.remove(id: id)
        case .allOpen: state.isAllOpen = true
        }
    }
}
