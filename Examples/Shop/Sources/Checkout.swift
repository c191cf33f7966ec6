import MVI

/// Orders of one shop. The turn that places an order empties the cart and reserves the goods; if the order is not paid
/// in time, they return to the cart.
struct Checkout: Feature {
    struct Order: Codable, Equatable, Sendable, Identifiable {
        enum Status: String, Codable, Sendable { case reserved, paid, expired, cancelled }

        let id: String
        /// The count of each product.
        let goods: [String: Int]
        /// In cents.
        let total: Int
        let reservedUntil: Timestamp
        var status = Status.reserved
    }
    struct State: Codable, Equatable, Sendable {
        /// The newest first, at most ten.
        var orders: [Order] = []
        var open: Order? { orders.first { $0.status == .reserved } }
    }
    enum Intent: Codable, Equatable, Sendable { case place, cancel }
    enum Action: Codable, Equatable, Sendable { case paid(order: String), expire(order: String) }
    enum Message: Codable, Equatable, Sendable { case placed(Order), ended(order: String, Order.Status) }
    enum Label: Codable, Equatable, Sendable { case placed(order: String), paid(order: String), expired(order: String) }

    static let summary = "Orders of one shop."
    static let examples: [Intent] = [.place, .cancel]
    static let labelExamples: [Label] = [.placed(order: "1"), .paid(order: "1"), .expired(order: "1")]
    let initialState = State()
    let shop: String
    let reservation: Duration

    init(shop: String, reservation: Duration, _ services: Services) throws {
        _ = try services.products(of: shop)
        (self.shop, self.reservation) = (shop, reservation)
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .place: try place(&turn)
        case .cancel:
            guard let order = turn.state.open else {
                throw Refusal(.conflict, code: "no-open-order", "No order is waiting for payment.")
            }
            turn.cancelReminder("reservation")
            end(order, .cancelled, &turn)
        }
    }

    private func place(_ turn: inout Turn<Self>) throws {
        guard turn.principal != nil else {
            throw Refusal(.forbidden, code: "sign-in-first", "Sign in to order.")
        }
        guard turn.state.open == nil else {
            throw Refusal(.conflict, code: "order-is-open", "Pay or cancel the open order first.")
        }
        let cart = try turn.view(of: Cart.self, key: shop)
        let goods = cart.lines.filter { $0.count > 0 }.map { ($0.id, $0.count) }
        guard !goods.isEmpty else { throw Refusal(.conflict, code: "cart-is-empty", "The cart is empty.") }
        if let coupon = cart.coupon, coupon.expires <= turn.now {
            throw Refusal(.conflict, code: "coupon-expired", "The coupon has expired.")
        }
        let order = Order(
            id: turn.uuid(), goods: Dictionary(goods) { $1 }, total: cart.total, reservedUntil: turn.now + reservation)
        turn.dispatch(.placed(order))
        turn.send(.empty, to: Cart.self, key: shop)
        turn.remind(id: "reservation", at: order.reservedUntil, .expire(order: order.id))
        turn.publish(.placed(order: order.id))
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        switch action {
        case .paid(let id):
            guard let order = turn.state.open, order.id == id else {
                throw Refusal(.conflict, code: "order-is-over", "The order is not waiting for payment: refund it.")
            }
            turn.cancelReminder("reservation")
            turn.dispatch(.ended(order: id, .paid))
            turn.publish(.paid(order: id))
        case .expire(let id):
            guard let order = turn.state.open, order.id == id else { return }
            end(order, .expired, &turn)
            turn.publish(.expired(order: id))
        }
    }

    /// Returns the goods to the cart.
    private func end(_ order: Order, _ status: Order.Status, _ turn: inout Turn<Self>) {
        turn.dispatch(.ended(order: order.id, status))
        for (id, count) in order.goods { turn.send(.add(product: id, count: count), to: Cart.self, key: shop) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .placed(let order): state.orders = [order] + state.orders.prefix(9)
        case .ended(let id, let status):
            for index in state.orders.indices where state.orders[index].id == id {
                state.orders[index].status = status
            }
        }
    }
}
