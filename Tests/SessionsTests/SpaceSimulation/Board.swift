import MVI

/// A list that many write to. Each intent has a number of its own.
struct Board: Feature {
    struct State: Codable, Equatable, Sendable { var entries: [Int] = [] }
    enum Intent: Codable, Sendable {
        case enter(value: Int), say(value: Int), both(value: Int), tell(value: Int, to: String)
        /// Tells another board, which enters a value of its own.
        case pass(value: Int, to: String)
    }
    enum Action: Codable, Sendable {
        case passed(value: Int, isRefused: Bool)
        /// It was refused: the board that passed it on enters it.
        case returned(value: Int)
        case lost
    }
    enum Message: Codable, Sendable { case entered(Int) }
    enum Label: Codable, Equatable, Sendable { case said(value: Int) }
    static let examples: [Intent] = [
        .enter(value: 1), .say(value: 2), .both(value: 3), .tell(value: 4, to: "sender"),
        .pass(value: 5, to: "a"),
    ]
    static let labelExamples: [Label] = [.said(value: 1)]
    static let name = "board"

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .enter(let value): turn.dispatch(.entered(value))
        // Each turn is seen in the state, so that a check finds those that ran.
        case .say(let value), .both(let value):
            turn.dispatch(.entered(value))
            turn.publish(.said(value: value))
        case .tell(let value, let to):
            turn.dispatch(.entered(value))
            turn.publish(.said(value: value), to: Addressee(to))
        case .pass(let value, let to):
            turn.dispatch(.entered(value))
            turn.tell(Board.self, .passed(value: Self.passed(value), isRefused: value % 4 == 3), key: to)
        }
    }

    /// The value that a board enters for one that another board passed on.
    static func passed(_ value: Int) -> Int { value + SpaceCaller.range / 2 }
    /// The value that was passed on; nil if it is an intent's own.
    static func origin(of value: Int) -> Int? {
        value % SpaceCaller.range >= SpaceCaller.range / 2 ? value - SpaceCaller.range / 2 : nil
    }

    static func undelivered(_ message: UndeliveredMessage) -> Action? {
        guard message.reason == .refused, case .passed(let value, true)? = message.action(of: Board.self) else {
            return .lost
        }
        return .returned(value: value)
    }

    func presence(of viewer: Viewer) -> String? { viewer.principal?.subject }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        switch action {
        case .passed(_, true): throw Refusal(.conflict, code: "full", "The board is full.")
        case .passed(let value, _), .returned(let value): turn.dispatch(.entered(value))
        // No simulation lasts a day: nothing may be given up.
        case .lost: turn.dispatch(.entered(-1))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .entered(let value) = message { state.entries.append(value) }
    }
}

/// The same list, of which guests see the odd numbers only.
struct Parted: Feature {
    static let examples = Board.examples
    static let labelExamples = Board.labelExamples
    private let board = Board()
    var initialState: Board.State { board.initialState }

    /// The entries that a client sees.
    static func entries(_ all: [Int], isUser: Bool) -> [Int] { isUser ? all : all.filter { $0 % 2 == 1 } }

    func audience(of viewer: Viewer) -> Bool { viewer.principal != nil }
    func view(_ state: Board.State, for isUser: Bool) -> Board.State {
        Board.State(entries: Self.entries(state.entries, isUser: isUser))
    }

    func execute(_ intent: Board.Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .enter(let value): turn.dispatch(.entered(value))
        case .say(let value), .both(let value):
            turn.dispatch(.entered(value))
            turn.publish(.said(value: value))
        case .tell(let value, let to):
            turn.dispatch(.entered(value))
            turn.publish(.said(value: value), to: Addressee(to) { .audience($0 == "users") })
        case .pass(let value, let to):
            turn.dispatch(.entered(value))
            turn.tell(Board.self, .passed(value: Board.passed(value), isRefused: false), key: to)
        }
    }

    func reduce(_ state: inout Board.State, _ message: Board.Message) { board.reduce(&state, message) }
}
