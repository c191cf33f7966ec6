import MVI

/// The products of all shops, with a search while the customer types.
struct Catalogue: Feature {
    struct State: Codable, Equatable, Sendable {
        var text = ""
        var products: [Product] = []
        var isSearching = false
        var hasFailed = false
    }
    enum Intent: Codable, Equatable, Sendable { case search(text: String), retry }
    enum Message: Codable, Equatable, Sendable { case searchStarted(text: String), found([Product]), failed }

    static let summary = "The products of all shops, with a search."
    static let examples: [Intent] = [.search(text: "tea"), .retry]
    let initialState = State()
    let search: @Sendable (String) async throws -> [Product]

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if reason == .new || turn.state.isSearching { find(turn.state.text, after: .zero, &turn) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .search(let text):
            guard text.count <= 100 else {
                throw Refusal(.invalid, code: "text-too-long", "Use at most 100 characters.", pointer: "/text")
            }
            find(text, after: .milliseconds(300), &turn)
        case .retry:
            if !turn.isRunning("search") { find(turn.state.text, after: .zero, &turn) }
        }
    }

    private func find(_ text: String, after pause: Duration, _ turn: inout Turn<Self>) {
        turn.dispatch(.searchStarted(text: text))
        turn.debounce(id: "search", for: pause) { [search] work in
            await work.dispatch(.found(try await work.retry(attempts: 3) { try await search(text) }))
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { turn.dispatch(.failed) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .searchStarted(let text): (state.text, state.isSearching, state.hasFailed) = (text, true, false)
        case .found(let products): (state.products, state.isSearching) = (products, false)
        case .failed: (state.isSearching, state.hasFailed) = (false, true)
        }
    }
}
