import MVI

/// The products of all shops.
struct Catalogue: Feature {
    struct State: Codable, Equatable, Sendable {
        var text = ""
        var products: [Product] = []
        var isSearching = false
    }
    enum Intent: Codable, Equatable, Sendable { case search(text: String) }
    enum Message: Equatable, Sendable { case searchStarted(text: String), found([Product]), failed }
    enum Label: Codable, Equatable, Sendable { case notice(text: String) }

    static let summary = "The products of all shops, with a search."
    static let examples: [Intent] = [.search(text: "tea")]
    static let labelExamples: [Label] = [.notice(text: "The catalogue cannot be searched now.")]
    let initialState = State()
    let search: @Sendable (String) async throws -> [Product]

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .search(let text):
            turn.dispatch(.searchStarted(text: text))
            turn.debounce(id: "search", for: .milliseconds(300)) { [search] work in
                await work.dispatch(.found(try await search(text)))
            }
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) {
        turn.dispatch(.failed)
        turn.publish(.notice(text: "The catalogue cannot be searched now."))
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .searchStarted(let text): (state.text, state.isSearching) = (text, true)
        case .found(let products): (state.products, state.isSearching) = (products, false)
        case .failed: state.isSearching = false
        }
    }
}
