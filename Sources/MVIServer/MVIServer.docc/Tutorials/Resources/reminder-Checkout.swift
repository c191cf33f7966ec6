import MVI

/// Orders of one shop.
struct Checkout: Feature {
    struct Order: Codable, Equatable, Sendable, Identifiable {
        enum Status: String, Codable, Sendable { case reserved, cancelled, expired }

        let id: String
        /// The count of each product.
        let goods: [String: Int]
        /// In cents.
        let total: Int
        let reservedUntil: Timestamp
        var status = Status.reserved
    }
    struct State: Codable, Equatable, Sendable { var order: Order? }
    enum Intent: Codable, Equatable, Sendable { case place, cancel }
    enum Action: Codable, Equatable, Sendable { case expire(order: String) }
    enum Message: Equatable, Sendable { case placed(Order), ended(Order.Status) }
    enum Label: Codable, Equatable, Sendable { case placed(order: String) }

    static let summary = "Orders of one shop."
    static let examples: [Intent] = [.place, .cancel]
    static let labelExamples: [Label] = [.placed(order: "1")]
    let initialState = State()
    let shop: String
    let reservation: Duration

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .place: try place(&turn)
        case .cancel:
            guard let order = turn.state.order, order.status == .reserved else {
                throw Refusal(.conflict, code: "no-open-order", "No order is waiting for payment.")
            }
            turn.cancelReminder("reservation")
            end(order, .cancelled, &turn)
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .expire(let id):
            guard let order = turn.state.order, order.id == id, order.status == .reserved else { return }
            end(order, .expired, &turn)
        }
    }

    /// The goods go back.
    private func end(_ order: Order, _ status: Order.Status, _ turn: inout Turn<Self>) {
        turn.dispatch(.ended(status))
        for (id, count) in order.goods { turn.send(.add(product: id, count: count), to: Cart.self, key: shop) }
    }

    private func place(_ turn: inout Turn<Self>) throws {
        let cart = try turn.view(of: Cart.self, key: shop)
        guard !cart.lines.isEmpty else { throw Refusal(.conflict, code: "cart-is-empty", "The cart is empty.") }
        let goods = cart.lines.map { ($0.product.id, $0.count) }
        let order = Order(
            id: turn.uuid(), goods: Dictionary(uniqueKeysWithValues: goods), total: cart.total,
            reservedUntil: turn.now + reservation)
        turn.dispatch(.placed(order))
        turn.send(.empty, to: Cart.self, key: shop)
        turn.remind(id: "reservation", at: order.reservedUntil, .expire(order: order.id))
        turn.publish(.placed(order: order.id))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .placed(let order): state.order = order
        case .ended(let status): state.order?.status = status
        }
    }
}
