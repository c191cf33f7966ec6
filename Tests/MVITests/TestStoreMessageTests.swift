import MVI
import MVITesting
import Testing

@Suite("87: messages in tests")
struct TestStoreMessageTests {
    struct Till: Feature {
        struct State: Codable, Equatable, Sendable {
            var paid: [String] = []
            var lost: [String] = []
        }
        enum Intent: Codable, Sendable { case pay(String) }
        enum Action: Codable, Equatable, Sendable { case paid(String), lost(String) }
        enum Message: Codable, Equatable, Sendable { case paid(String), lost(String) }
        typealias Label = Never

        static let examples: [Intent] = [.pay("tea")]
        let initialState = State()

        static func undelivered(_ message: UndeliveredMessage) -> Action? {
            guard case .paid(let what)? = message.action(of: Till.self) else { return nil }
            return .lost("\(what) \(message.reason)")
        }

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            guard case .pay(let what) = intent else { return }
            turn.tell(Till.self, .paid(what), in: .session("cook"))
            if what == "cake" { turn.tell(Till.self, .paid("plate"), in: .session("cook")) }
            turn.tell(Till.self, .paid(what), in: .subject(Subject(issuer: "i", id: "boss")))
        }

        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            switch action {
            case .paid(let what): turn.dispatch(.paid(what))
            case .lost(let what): turn.dispatch(.lost(what))
            }
        }

        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .paid(let what): state.paid.append(what)
            case .lost(let what): state.lost.append(what)
            }
        }
    }

    @Test("87: a test may tell more than a session may have waiting")
    func many() async {
        let store = TestStore(Till())
        for _ in 0..<150 { await store.send(.pay("tea")) }
        #expect(store.told(Till.self, in: .session("cook")).count == 150)
        await store.finish()
    }

    @Test("87: a test sees what a store told each receiver, and what it does with what was not delivered")
    func told() async {
        let store = TestStore(Till())
        await store.send(.pay("tea"))
        await store.send(.pay("cake"))
        #expect(store.told(Till.self, in: .session("cook")) == [.paid("tea"), .paid("cake"), .paid("plate")])
        #expect(store.told(Till.self, in: .subject(Subject(issuer: "i", id: "boss"))) == [.paid("tea"), .paid("cake")])
        #expect(store.told(Till.self).isEmpty)
        #expect(store.reminders.isEmpty)
        await store.undelivered(UndeliveredMessage(Till.self, .paid("tea"), in: .session("cook"), reason: .gone))
        await store.receive(.lost("tea gone")) { $0.lost = ["tea gone"] }
        // Nobody receives them, however long the test waits.
        await store.advance(by: .seconds(100))
        await store.finish()
    }
}
