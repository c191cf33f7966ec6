import MVI
import MVITesting
import Testing

// Code of the article "Turns and actions": what the article shows stands here, word for word.

private struct Archive: Feature {
    struct State: Codable, Equatable, Sendable {
        var words = ""
        var year: Int?
        var page = 1
        var found: [String] = []
    }
    enum Intent: Codable, Sendable { case typed(words: String), yearPicked(Int), turnedTo(page: Int), cleared }
    enum Message: Equatable, Sendable {
        case typed(String), yearPicked(Int), pageChanged(Int), cleared, found([String])
    }
    static let examples: [Intent] = [.typed(words: "tea"), .yearPicked(1999), .turnedTo(page: 2), .cleared]
    let initialState = State()
    let find: @Sendable (String, Int?) async throws -> [String]

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .typed(let words): turn.dispatch(.typed(words))
        case .yearPicked(let year): turn.dispatch(.yearPicked(year))
        case .turnedTo(let page): turn.dispatch(.pageChanged(page))
        case .cleared: turn.dispatch(.cleared)
        }
    }

    func onChange(from before: State, _ turn: inout Turn<Self>) {
        guard (turn.state.words, turn.state.year) != (before.words, before.year) else { return }
        turn.dispatch(.pageChanged(1))
        turn.debounce(id: "search", for: .milliseconds(300)) { [find] work in
            let state = work.state
            await work.dispatch(.found(try await find(state.words, state.year)))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .typed(let words): state.words = words
        case .yearPicked(let year): state.year = year
        case .pageChanged(let page): state.page = page
        case .cleared: state = State()
        case .found(let texts): state.found = texts
        }
    }
}

@Suite struct DocumentedChangeTests {
    @Test func `a search follows each change of what is searched for, whichever message made it`() async {
        let store = TestStore(Archive(find: { words, year in ["\(words) of \(year ?? 0)"] }))
        await store.send(.turnedTo(page: 3)) { $0.page = 3 }
        await store.send(.typed(words: "tea")) { ($0.words, $0.page) = ("tea", 1) }
        await store.send(.yearPicked(1999))
        await store.receive(.yearPicked(1999)) { $0.year = 1999 }
        await store.receive(.pageChanged(1))
        await store.advance(by: .milliseconds(300))
        await store.receive(.found(["tea of 1999"])) { $0.found = ["tea of 1999"] }
        await store.send(.cleared) { $0 = Archive.State() }
        await store.advance(by: .milliseconds(300))
        await store.receive(.found([" of 0"])) { $0.found = [" of 0"] }
        await store.finish()
    }
}
