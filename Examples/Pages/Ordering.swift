import MVI

struct Coupon: Codable, Equatable, Sendable { var percent = 10 }

struct Cart: Feature {
    struct State: Codable, Equatable, Sendable {
        var items: [String] = []
        var coupon: Coupon?
    }
    enum Intent: Codable, Sendable { case add(item: String), applyCoupon(code: String), empty }
    enum Action: Sendable { case couponFound(Coupon) }
    enum Message: Equatable, Sendable { case added(String), couponTaken(Coupon), emptied }
    static let examples: [Intent] = [.add(item: "tea"), .applyCoupon(code: "TEA10"), .empty]
    let initialState = State()
    let coupons: Coupons

    struct Coupons: Sendable {
        var find: @Sendable (_ code: String, _ customer: String?) async throws -> Coupon?
        func find(_ code: String, for customer: String?) async throws -> Coupon? { try await find(code, customer) }
    }

    func check(_ intent: Intent) -> Check? {
        guard case .applyCoupon(let code) = intent else { return nil }
        return { [coupons] context in
            let customer = context.principal?.subject
            guard let coupon = try await coupons.find(code, for: customer) else {
                throw Refusal(
                    .invalid, code: "coupon-unknown", "There is no such coupon.", pointer: "/code")
            }
            return .perform(.couponFound(coupon))
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let item): turn.dispatch(.added(item))
        case .applyCoupon:
            throw Refusal(.invalid, code: "coupon-unchecked", "The coupon was not checked.")
        case .empty: turn.dispatch(.emptied)
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .couponFound(let coupon): turn.dispatch(.couponTaken(coupon))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let item): state.items.append(item)
        case .couponTaken(let coupon): state.coupon = coupon
        case .emptied: state = State()
        }
    }
}

struct Checkout: Feature {
    struct State: Codable, Equatable, Sendable {
        let shop: String
        var items: [String] = []
        var reservedUntil: Timestamp?
    }
    enum Intent: Codable, Sendable { case placeOrder, reserve, pay }
    enum Action: Codable, Sendable { case reservationEnded }
    enum Message: Equatable, Sendable { case placed([String]), reserved(until: Timestamp), paid, reservationEnded }
    static let examples: [Intent] = [.placeOrder, .reserve, .pay]
    let initialState: State

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .placeOrder:
            let cart = try turn.view(of: Cart.self, key: turn.state.shop)
            guard !cart.items.isEmpty else {
                throw Refusal(.conflict, code: "empty-cart", "There is nothing to order.")
            }
            turn.dispatch(.placed(cart.items))
            turn.send(.empty, to: Cart.self, key: turn.state.shop)
        case .reserve:
            turn.dispatch(.reserved(until: turn.now + .seconds(600)))
            turn.remind(id: "reservation", after: .seconds(600), .reservationEnded)
        case .pay:
            turn.cancelReminder("reservation")
            // snippet.hide
            turn.dispatch(.paid)
        // snippet.show
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.reservationEnded) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .placed(let items): state.items = items
        case .reserved(let time): state.reservedUntil = time
        case .paid, .reservationEnded: state.reservedUntil = nil
        }
    }
}

struct Subscription: Feature {
    struct State: Codable, Equatable, Sendable {
        var owner = ""
        var isPremium = false
    }
    enum Intent: Codable, Sendable { case order }
    enum Message: Equatable, Sendable { case ordered(by: String, isPremium: Bool) }
    static let examples: [Intent] = [.order]
    let initialState = State()

    struct Claims: Decodable { var tier: String }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        guard let user = turn.principal else {
            throw Refusal(.forbidden, code: "sign-in", "Sign in first.")
        }
        // Or: user.claim("tier") == "premium"
        let isPremium = try user.claims(as: Claims.self).tier == "premium"
        turn.dispatch(.ordered(by: user.subject, isPremium: isPremium))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .ordered(let owner, let isPremium): state = State(owner: owner, isPremium: isPremium)
        }
    }
}

struct Redeemed: Error {}

func redeem(_ isExpired: Bool) throws {
    if isExpired {
        throw Refusal(
            .invalid, code: "coupon-expired", "The coupon expired on Friday.", pointer: "/code")
    }
}
