import MVI

/// The products that a user wants to buy in one shop.
struct Cart: Feature {
    struct State: Codable, Equatable, Sendable {
        /// The count of each product.
        var counts: [String: Int] = [:]
    }
    enum Intent: Codable, Equatable, Sendable { case add(product: String, count: Int), empty }
    enum Message: Equatable, Sendable { case added(String, count: Int), emptied }

    static let summary = "A customer's cart in one shop."
    static let examples: [Intent] = [.add(product: "assam", count: 1), .empty]
    let initialState = State()
    let products: [Product]

    init?(shop: String) {
        products = Product.all.filter { $0.shop == shop }
        if products.isEmpty { return nil }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let product, let count):
            guard products.contains(where: { $0.id == product }) else {
                throw Refusal(.notFound, code: "no-such-product", "The shop has no such product.", pointer: "/product")
            }
            guard (1...99).contains(count) else {
                throw Refusal(.invalid, code: "count", "Add from 1 to 99 at a time.", pointer: "/count")
            }
            turn.dispatch(.added(product, count: count))
        case .empty: turn.dispatch(.emptied)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let product, let count): state.counts[product, default: 0] &+= count
        case .emptied: state.counts = [:]
        }
    }
}
