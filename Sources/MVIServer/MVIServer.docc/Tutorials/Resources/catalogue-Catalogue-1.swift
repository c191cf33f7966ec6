import MVI

/// The products of all shops.
struct Catalogue: Feature {
    struct State: Codable, Equatable, Sendable {
        var text = ""
        var products = Product.all
    }
    enum Intent: Codable, Equatable, Sendable { case search(text: String) }

    static let summary = "The products of all shops, with a search."
    static let examples: [Intent] = [.search(text: "tea")]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .search(let text):
            state.text = text
            state.products = Product.all.filter { text.isEmpty || $0.name.contains(text) }
        }
    }
}
