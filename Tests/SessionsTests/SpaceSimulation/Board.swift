import MVI

/// A list that many write to. Each intent has a number of its own.
struct Board: Feature {
    struct State: Codable, Equatable, Sendable { var entries: [Int] = [] }
    enum Intent: Codable, Sendable { case enter(value: Int), say(value: Int), both(value: Int) }
    enum Message: Codable, Sendable { case entered(Int) }
    enum Label: Codable, Equatable, Sendable { case said(value: Int) }
    static let examples: [Intent] = [.enter(value: 1), .say(value: 2), .both(value: 3)]
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
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .entered(let value) = message { state.entries.append(value) }
    }
}
