import MVI
import MVITesting
import Testing

@Suite("Directed labels under test", .timeLimit(.minutes(10)))
struct TestStoreLabelTests {
    private let ann = TestCaller("ann")
    private let bob = TestCaller("bob", principal: Principal(subject: "bob"))

    @Test("53: a label is asserted with its addressee, or with the callers that it reaches")
    func addressees() async {
        let store = TestStore(Bell())
        await store.send(.ring([.everyone, .sender, .host]), as: ann)
        await store.expect(.rung(0))
        await store.expect(.rung(1), to: .sender)
        await store.expect(.rung(2), to: .audience(.host))
        await store.send(.ring([.sender, .host, .bob, .session("ann"), .guests]), as: ann)
        await store.expect(.rung(0), to: ann)
        await store.expect(.rung(1), to: bob)
        await store.expect(.rung(2), to: bob)
        await store.expect(.rung(3), to: .session("ann"))
        await store.expect(.rung(4), to: ann, TestCaller("cid"))
        await store.send(.ring([.sender]), as: bob)
        await store.expect(.rung(0), to: bob)
        await store.finish()
    }

    @Test("53: a label reaches callers by their language")
    func languages() async {
        let store = TestStore(Bell())
        let max = TestCaller("max", client: ClientInfo(locale: "de-DE"))
        await store.send(.ring([.germans, .guests]), as: max)
        await store.send(.ring([]), as: ann)
        await store.expect(.rung(0), to: max)
        await store.expect(.rung(1), to: ann)
        await store.finish()
    }

    @Test("53: another addressee than the test says fails it, and so does a label for more callers or for all")
    func others() async {
        let store = TestStore(Bell())
        for caller in [ann, bob] {
            await store.send(.ring([]), as: caller)
        }
        await store.send(.ring([.sender, .sender, .everyone, .sender, .guests, .none]), as: ann)
        let texts = await failures {
            await store.expect(.rung(0))
            await store.expect(.rung(1), to: bob)
            await store.expect(.rung(2), to: ann)
            await store.expect(.rung(3), to: .subject(Subject(issuer: "", id: "ann")))
            await store.expect(.rung(4), to: ann, bob)
            await store.expect(.rung(5), to: ann)
        }
        #expect(texts.count == 6, "\(texts)")
        let differences = texts.map { $0.split(separator: "\n").suffix(2).joined(separator: " ") }
        #expect(
            differences == [
                "- to everyone + to sender", "- to bob + to ann, by sender", "- to ann + to everyone, by everyone",
                "- to subject ann + to sender", "- to ann, bob + to ann, by audience .guest",
                "- to ann + to no caller, by session none",
            ])
        await store.finish()
    }

    @Test("53: a directed label that is not asserted is told with its addressee")
    func unasserted() async {
        let store = TestStore(Bell())
        await store.send(.ring([.host]), as: ann)
        let texts = await failures { await store.finish() }
        #expect(texts.count == 1 && texts[0].contains("rung(0) to audience .host"), "\(texts)")
    }

    @Test("a turn of launched work has no sender, and directs a label to the session that it kept")
    func work() async {
        let store = TestStore(Bell())
        await store.send(.later, as: ann)
        await store.expect(.rung(7), to: ann)
        await store.finish()
    }
}

private struct Bell: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum To: Codable, Sendable { case everyone, sender, host, guests, germans, bob, session(String), none }
    enum Intent: Codable, Sendable { case ring([To]), later }
    enum Label: Codable, Equatable, Sendable { case rung(Int) }
    enum Audience: Hashable, Codable, Sendable { case guest, german, host }
    static let examples: [Intent] = [.ring([.sender]), .later]
    static let labelExamples: [Label] = [.rung(1)]
    let initialState = State()

    func audience(of viewer: Viewer) -> Audience {
        viewer.principal != nil ? .host : viewer.locale?.hasPrefix("de") == true ? .german : .guest
    }
    func view(_ state: State, for audience: Audience) -> State { state }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .ring(let addressees):
            for (index, to) in addressees.enumerated() { turn.publish(.rung(index), to: Self.addressee(to)) }
        case .later:
            let session = turn.sender?.session ?? ""
            turn.launch { work in await work.publish(.rung(7), to: .session(session)) }
        }
    }

    private static func addressee(_ to: To) -> Addressee<Audience> {
        switch to {
        case .everyone: .everyone
        case .sender: .sender
        case .host: .audience(.host)
        case .guests: .audience(.guest)
        case .germans: .audience(.german)
        case .bob: .subject(Subject(issuer: "", id: "bob"))
        case .session(let id): .session(id)
        case .none: .session("none")
        }
    }

    func reduce(_ state: inout State, _ message: Intent) {}
}
