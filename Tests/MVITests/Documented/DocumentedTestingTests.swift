import MVI
import MVITesting
import Testing

// Tests of the article "Testing features": what the article shows stands here, word for word.

private struct Cart: Feature {
    struct State: Codable, Equatable, Sendable { var items: [String] = [] }
    enum Intent: Codable, Sendable { case empty }
    static let examples: [Intent] = [.empty]
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) { state.items = [] }
}

private struct Checkout: Feature {
    struct State: Codable, Equatable, Sendable { var orders: [String] = [] }
    enum Intent: Codable, Sendable { case placeOrder(shop: String) }
    enum Message: Equatable, Sendable { case placed(String) }
    static let examples: [Intent] = [.placeOrder(shop: "tea")]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        guard case .placeOrder(let shop) = intent else { return }
        let items = try turn.view(of: Cart.self, key: shop).items
        guard !items.isEmpty else { throw Refusal(.conflict, code: "empty-cart", "There is nothing to order.") }
        turn.dispatch(.placed("\(items.joined(separator: ", ")) for \(turn.principal?.subject ?? "nobody")"))
        turn.send(.empty, to: Cart.self, key: shop)
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .placed(let order) = message { state.orders.append(order) }
    }
}

private struct Seat: Feature {
    struct State: Codable, Equatable, Sendable { var isReserved = false }
    enum Intent: Codable, Sendable { case reserve }
    enum Action: Codable, Equatable, Sendable { case reservationEnded }
    enum Message: Equatable, Sendable { case reserved, ended }
    static let examples: [Intent] = [.reserve]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        if turn.state.isReserved { throw Refusal(.conflict, code: "taken", "The seat is taken.") }
        turn.dispatch(.reserved)
        turn.remind(id: "reservation", after: .seconds(600), .reservationEnded)
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.ended) }

    func reduce(_ state: inout State, _ message: Message) { state.isReserved = message == .reserved }
}

private struct SharedSeat: Feature {
    struct State: Codable, Equatable, Sendable { var owner: String? }
    enum Intent: Codable, Sendable { case reserve, end }
    enum Message: Equatable, Sendable { case owned(by: String?) }
    static let examples: [Intent] = [.reserve, .end]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        if case .reserve = intent { return turn.dispatch(.owned(by: turn.sender?.id)) }
        guard turn.state.owner == turn.sender?.id else { throw Refusal(.forbidden, "Another client's seat.") }
        turn.dispatch(.owned(by: nil))
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .owned(let owner) = message { state.owner = owner }
    }
}

private struct Voucher: Feature {
    struct State: Codable, Equatable, Sendable { var isRedeemed = false }
    enum Intent: Codable, Sendable { case redeem(code: String) }
    static let examples: [Intent] = [.redeem(code: "SPRING")]
    let initialState = State()
    let gate: Gate

    func check(_ intent: Intent) -> Check? {
        { [gate] _ in
            try await gate.wait()
            return .execute
        }
    }

    func reduce(_ state: inout State, _ intent: Intent) { state.isRedeemed = true }
}

@Suite struct DocumentedTestingTests {
    @Test("an answer that takes too long refuses the coupon")
    func slowCoupon() async {
        let store = TestStore(Voucher(gate: Gate()))
        async let error = store.sendRejected(.redeem(code: "SPRING"))
        await store.clock.sleepers()
        await store.advance(by: .seconds(5))
        #expect(await error?.code == .checkTimeout)
        await store.finish()
    }

    @Test("an order empties the cart in the same commit, and an empty cart cannot be ordered")
    func order() async {
        let cart = OtherStore(Cart(), key: "tea", state: Cart.State(items: ["assam"]))
        let store = TestStore(Checkout(), principal: Principal(subject: "ann"), others: [cart])
        await store.send(.placeOrder(shop: "tea")) { $0.orders = ["assam for ann"] }
        await store.expectSent(.empty, to: Cart.self, key: "tea")
        #expect(store.view(of: Cart.self, key: "tea")?.items == [])
        await store.sendRejected(.placeOrder(shop: "tea"), .conflict, code: "empty-cart")
        await store.finish()
    }

    @Test("a reservation ends after ten minutes, wherever the store is")
    func reservation() async {
        let store = TestStore(Seat())
        await store.send(.reserve) { $0.isReserved = true }
        #expect(
            store.reminders == [
                SetReminder(id: "reservation", due: .testStart + .seconds(600), action: .reservationEnded)
            ])
        await store.passivate()
        await store.advance(by: .seconds(600))
        await store.receive(.ended) { $0.isReserved = false }
        await store.finish()
    }

    @Test("a seat is reserved once, also where another server is first or the journal fails")
    func elsewhere() async {
        let store = TestStore(Seat())
        store.failCommits(with: StoreError(.full, "The disk is full."))
        #expect(await store.sendRejected(.reserve)?.code == .full)
        store.allowCommits()
        await store.changeElsewhere { $0.isReserved = true }
        await store.sendRejected(.reserve, .conflict, code: "taken")
        await store.finish()
    }

    @Test("a shared seat says who reserved it, and only that client ends it")
    func callers() async {
        let (ann, bob) = (TestCaller("ann"), TestCaller("bob", principal: Principal(subject: "bob")))
        let store = TestStore(SharedSeat())
        await store.send(.reserve, as: ann) { $0.owner = store.sender(ann).id }
        await store.sendRejected(.end, .forbidden, as: bob)
        await store.finish()
    }

    @Test("a reservation may be made again when it has ended")
    func again() async {
        let store = TestStore(Seat())
        await store.send(.reserve)
        await store.advance(by: .seconds(600))
        await store.skipUnasserted()
        await store.send(.reserve) { $0.isReserved = true }
        await store.finish()
    }
}
