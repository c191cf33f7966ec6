import MVI
import MVITesting
import Testing

/// Its tickets come from other stores alone.
private struct TicketBox: Feature {
    struct State: Codable, Equatable, Sendable {
        var tickets: [String] = []
        var isOld = false
    }
    enum Intent: Codable, Sendable { case clear }
    enum Action: Codable, Equatable, Sendable { case add(String), grow }
    enum Message: Equatable, Sendable { case cleared, added(String), grown }
    static let examples: [Intent] = [.clear]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.cleared) }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .add(let ticket):
            turn.dispatch(.added(ticket))
            turn.remind(id: "age", after: .seconds(60), .grow)
        case .grow: turn.dispatch(.grown)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .cleared: state = State()
        case .added(let ticket): state.tickets.append(ticket)
        case .grown: state.isOld = true
        }
    }
}

private struct Counterfoil: Feature {
    struct State: Codable, Equatable, Sendable { var sold = 0 }
    enum Intent: Codable, Sendable { case sell(ticket: String), sellLater(ticket: String) }
    enum Action: Codable, Sendable { case sell(ticket: String) }
    enum Message: Equatable, Sendable { case sold }
    static let examples: [Intent] = [.sell(ticket: "A1"), .sellLater(ticket: "A1")]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .sell(let ticket): sell(ticket, &turn)
        case .sellLater(let ticket): turn.remind(id: "sale", after: .seconds(1), .sell(ticket: ticket))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .sell(let ticket): sell(ticket, &turn)
        }
    }

    private func sell(_ ticket: String, _ turn: inout Turn<Self>) {
        turn.dispatch(.sold)
        turn.perform(.add(ticket), on: TicketBox.self)
    }

    func reduce(_ state: inout State, _ message: Message) { state.sold += 1 }
}

@Suite("Actions of other stores under test", .timeLimit(.minutes(10)))
struct TestStoreActionTests {
    @Test("53, 58: an action that another store performs is stated by the test; that store's reminders are its own")
    func performed() async {
        let store = TestStore(Counterfoil(), others: [OtherStore(TicketBox())])
        await store.send(.sell(ticket: "A1")) { $0.sold = 1 }
        await store.expectSent(action: .add("A1"), to: TicketBox.self)
        #expect(store.state(of: TicketBox.self)?.tickets == ["A1"])
        await store.advance(by: .seconds(60))
        #expect(store.state(of: TicketBox.self)?.isOld == true)
        await store.finish()
    }

    @Test("53, 58, 60: an action that a reminder's turn has another store perform is stated as well")
    func performedByReminder() async {
        let store = TestStore(Counterfoil(), others: [OtherStore(TicketBox())])
        await store.send(.sellLater(ticket: "A1"))
        await store.advance(by: .seconds(1))
        await store.receive(.sold) { $0.sold = 1 }
        await store.expectSent(action: .add("A1"), to: TicketBox.self)
        await store.finish()
    }

    @Test("53, 58: another action than expected, and one that the test does not state, fail it")
    func unexpected() async {
        let texts = await failures {
            let store = TestStore(Counterfoil(), others: [OtherStore(TicketBox())])
            await store.send(.sell(ticket: "A1")) { $0.sold = 1 }
            await store.expectSent(action: .add("B2"), to: TicketBox.self)
            await store.send(.sell(ticket: "A2")) { $0.sold = 2 }
            await store.finish()
        }
        #expect(
            texts == [
                """
                Something else was sent than expected (- expected, + sent):
                  - .add("B2") to ticket-box
                  + .add("A1") to ticket-box
                """,
                "1 intent or action to another store was not expected by the test:\n  .add(\"A2\") to ticket-box",
            ])
    }
}
