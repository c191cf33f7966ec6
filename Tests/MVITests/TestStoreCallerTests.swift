import MVI
import MVITesting
import Testing

@Suite("A shared store under test", .timeLimit(.minutes(10)))
struct TestStoreCallerTests {
    @Test("53: each caller is a sender, by its session")
    func senders() async {
        let store = TestStore(Board())
        let user = Principal(subject: "bob", claims: ["role": "host"])
        let (ann, bob) = (TestCaller("ann"), TestCaller("bob", principal: user))
        await store.send(.pin, as: ann) { $0.pins = ["\(store.sender(ann).id) nobody"] }
        await store.send(.pin, as: bob) { $0.pins.append("\(store.sender(bob).id) bob") }
        await store.send(.pin, as: TestCaller("ann")) { $0.pins.append($0.pins[0]) }
        #expect(store.sender(ann) == Sender(id: store.sender(ann).id, session: "ann", subject: nil))
        #expect(store.sender(bob).subject == user.identity)
        #expect(Set([ann, bob].map { store.sender($0).id } + ["ann", "bob"]).count == 4)
        await store.finish()
    }

    @Test("53: an intent without a caller has no sender, and callers are refused")
    func others() async {
        let store = TestStore(Board(), principal: Principal(subject: "ann"))
        await store.send(.pin) { $0.pins = ["none ann"] }
        await store.sendRejected(.host, .forbidden, code: "no-host", as: TestCaller("ann"))
        await store.send(.host, as: TestCaller("cid", principal: Principal(subject: "cid")))
        let texts = await failures {
            await store.sendRejected(.host, as: TestCaller("cid", principal: Principal(subject: "cid")))
            await store.send(.host, as: TestCaller("ann"))
        }
        #expect(texts.count == 2, "\(texts)")
        await store.finish()
    }

    @Test("53: another store of the space has the same senders")
    func siblings() async {
        let store = TestStore(Board(), others: [OtherStore(Wall())])
        let (ann, bob) = (TestCaller("ann"), TestCaller("bob", principal: Principal(subject: "bob")))
        await store.send(.write, to: Wall.self, as: ann)
        await store.send(.write, to: Wall.self, as: bob)
        #expect(store.state(of: Wall.self)?.writers == [store.sender(ann).id, store.sender(bob).id])
        await store.finish()
    }
}

private struct Wall: Feature {
    struct State: Codable, Equatable, Sendable { var writers: [String] = [] }
    enum Intent: Codable, Sendable { case write }
    enum Message: Codable, Equatable, Sendable { case written(String) }
    static let examples: [Intent] = [.write]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.written(turn.sender?.id ?? "none")) }
    func reduce(_ state: inout State, _ message: Message) {
        if case .written(let writer) = message { state.writers.append(writer) }
    }
}

private struct Board: Feature {
    struct State: Codable, Equatable, Sendable { var pins: [String] = [] }
    enum Intent: Codable, Sendable { case pin, host }
    enum Message: Codable, Equatable, Sendable { case pinned(String) }
    static let examples: [Intent] = [.pin, .host]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        guard case .pin = intent else {
            guard turn.principal != nil else { throw Refusal(.forbidden, code: "no-host") }
            return
        }
        turn.dispatch(.pinned("\(turn.sender?.id ?? "none") \(turn.principal?.subject ?? "nobody")"))
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .pinned(let text) = message { state.pins.append(text) }
    }
}
