import MVI
import MVIServer

// @main
struct Reminding: FeatureServerCommand {
    @Setting(
        "reminder-delay", .time(.seconds(1) ... .seconds(30 * 86_400)),
        "The time until the list reminds.")
    var delay: Duration = .seconds(86_400)

    var content: ServerContent { Books(delay: delay) }
}

struct Books: Feature {
    struct State: Codable, Equatable, Sendable {
        var books: [String] = []
        var isReminded = false
    }
    enum Intent: Codable, Sendable { case add(book: String) }
    enum Action: Codable, Sendable { case remind }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .remind: turn.dispatch(.reminded)
        }
    }
    enum Message: Equatable, Sendable { case added(String), reminded }
    static let examples: [Intent] = [.add(book: "Emma")]
    let initialState = State()
    let delay: Duration

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .add(let book):
            turn.dispatch(.added(book))
            turn.remind(id: "unread", after: delay, .remind)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let book): state.books.append(book)
        case .reminded: state.isReminded = true
        }
    }
}
