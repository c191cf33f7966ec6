import MVI
import MVITesting
import Testing

/// Belongs to the person who signs in to its session.
private struct Notebook: Feature {
    struct State: Codable, Equatable, Sendable {
        var owner = ""
        var lines: [String] = []
    }
    enum Intent: Codable, Sendable { case write(String) }
    enum Message: Equatable, Sendable { case taken(by: String), written(String) }
    struct Closed: Error {}
    static let examples: [Intent] = [.write("tea")]
    let initialState = State()

    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) throws {
        if principal.subject == "mallory" { throw Closed() }
        turn.dispatch(.taken(by: principal.subject))
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        guard case .write(let text) = intent else { return }
        turn.dispatch(.written("\(turn.principal?.subject ?? "a guest"): \(text)"))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .taken(let owner): state.owner = owner
        case .written(let line): state.lines.append(line)
        }
    }
}

@Suite("Signing in under test", .timeLimit(.minutes(10)))
struct TestStoreSignInTests {
    @Test("53, 56: each store of the session is told who has signed in, and what is sent afterwards is theirs")
    func signIn() async {
        let store = TestStore(Notebook(), others: [OtherStore(Trolley(), state: Trolley.State(items: 1))])
        await store.send(.write("tea")) { $0.lines = ["a guest: tea"] }
        await store.signIn(Principal(subject: "ann"))
        await store.receive(.taken(by: "ann")) { $0.owner = "ann" }
        await store.send(.write("milk")) { $0.lines.append("ann: milk") }
        await store.finish()
    }

    @Test("53, 56: a store that has left memory comes back to be told, and a throw is a failure")
    func passive() async {
        let store = TestStore(Notebook())
        await store.send(.write("tea")) { $0.lines = ["a guest: tea"] }
        await store.passivate()
        await store.signIn(Principal(subject: "ann"))
        await store.receive(.taken(by: "ann")) { $0.owner = "ann" }
        await store.signIn(Principal(subject: "mallory"))
        #expect(await store.expectFailure()?.error is Notebook.Closed)
        #expect(store.state.owner == "ann")
        await store.finish()
    }
}
