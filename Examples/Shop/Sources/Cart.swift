import MVI

/// A customer's cart in one shop, signed in or not. The devices of a shared session have one cart.
struct Cart: Feature {
    struct State: Codable, Equatable, Sendable {
        var lines = Line.List()
        var coupon: Coupon?
    }
    struct ViewState: Codable, Equatable, Sendable {
        var lines: [Line]
        var coupon: Coupon?
        /// In cents.
        var total: Int
    }
    enum Intent: Codable, Equatable, Sendable {
        case add(product: String, count: Int)
        case set(product: String, count: Int)
        case coupon(code: String)
        case empty
    }
    enum Action: Codable, Equatable, Sendable { case take(Coupon) }
    enum Message: Codable, Equatable, Sendable {
        case added(Line)
        case line(id: String, Line.Message)
        case couponTaken(Coupon)
        case emptied
    }

    static let summary = "A customer's cart in one shop."
    static let examples: [Intent] = [
        .add(product: "assam", count: 1), .set(product: "assam", count: 3), .coupon(code: "TEA10"), .empty,
    ]
    let initialState = State()
    let shop: String
    let products: [String: Product]
    let services: Services

    init(shop: String, _ services: Services) throws {
        products = try services.products(of: shop)
        (self.shop, self.services) = (shop, services)
    }

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        for line in turn.state.lines where line.isSaving { save(line.id, &turn) }
    }

    func signedIn(_ principal: Principal, _ turn: inout Turn<Self>) {
        for id in turn.state.lines.ids { save(id, &turn) }
    }

    /// The session does not wait while a coupon is looked up.
    func check(_ intent: Intent) -> Check? {
        guard case .coupon(let code) = intent else { return nil }
        return { [services] context in
            guard let coupon = try await services.coupon(code) else {
                throw Refusal(.invalid, code: "coupon-unknown", "There is no such coupon.", pointer: "/code")
            }
            guard context.now < coupon.expires else {
                throw Refusal(.invalid, code: "coupon-expired", "The coupon has expired.", pointer: "/code")
            }
            return .perform(.take(coupon))
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let id, let count): try change(id, to: (turn.state.lines[id: id]?.count ?? 0) + clamped(count), &turn)
        case .set(let id, let count): try change(id, to: count, &turn)
        case .coupon: throw Refusal(.invalid, code: "coupon-unchecked", "Only clients may send a coupon.")
        case .empty: turn.dispatch(.emptied)
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .take(let coupon): turn.dispatch(.couponTaken(coupon))
        }
    }

    private func change(_ id: String, to count: Int, _ turn: inout Turn<Self>) throws {
        guard let product = products[id] else {
            throw Refusal(.notFound, code: "no-such-product", "The shop has no such product.", pointer: "/product")
        }
        if turn.state.lines[id: id] == nil { turn.dispatch(.added(Line(product))) }
        let save = saving(turn.session)
        turn.part(id, in: \.lines, Message.line) { $0.change(to: clamped(count), save) }
    }

    private func clamped(_ count: Int) -> Int { min(max(count, 0), 99) }

    private func save(_ id: String, _ turn: inout Turn<Self>) {
        let save = saving(turn.session)
        turn.part(id, in: \.lines, Message.line) { $0.save(save) }
    }

    private func saving(_ session: SessionInfo) -> Line.Save? {
        guard let owner = session.subject else { return nil }
        return { [services, shop] line in try await services.save(line, shop, owner) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let line): state.lines.append(line)
        case .line(let id, let message): state.lines.reduce(id, message)
        case .couponTaken(let coupon): state.coupon = coupon
        case .emptied: state = State()
        }
    }

    func view(_ state: State) -> ViewState {
        let lines = state.lines.view.filter { $0.count > 0 || $0.hasFailed }
        let sum = lines.reduce(0) { $0 + $1.price * $1.count }
        return ViewState(lines: lines, coupon: state.coupon, total: sum * (100 - (state.coupon?.percent ?? 0)) / 100)
    }
}
