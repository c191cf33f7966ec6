import MVI

/// A feature for targets that run a server: it accepts every intent and never fails.
struct Desk: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var text: String? = ""
        var rows: [Int] = []
    }

    enum Intent: Codable, Sendable {
        case increment
        case add(amount: Int)
        case say(text: String)
        case write(text: String?, rows: [Int])
        case load
    }

    enum Message: Codable, Sendable { case added(Int), wrote(String?, [Int]) }
    enum Label: Codable, Equatable, Sendable { case said(text: String) }

    static let summary = "Counts and says."
    static let examples: [Intent] = [
        .increment, .add(amount: 5), .say(text: "hello"), .write(text: nil, rows: [1]), .load,
    ]
    static let labelExamples: [Label] = [.said(text: "hello")]

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .increment: turn.dispatch(.added(1))
        case .add(let amount): turn.dispatch(.added(amount))
        case .say(let text): turn.publish(.said(text: text))
        case .write(let text, let rows): turn.dispatch(.wrote(text, rows))
        case .load: turn.launch { work in await work.dispatch(.added(100)) }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let amount): state.count &+= amount
        case .wrote(let text, let rows): (state.text, state.rows) = (text, rows)
        }
    }
}

/// A feature with a numeric key.
struct Shelf: Feature {
    struct State: Codable, Equatable, Sendable { var number: Int }
    enum Intent: Codable, Sendable { case renumber(number: Int) }

    static let schemaVersion = 2
    static let migrations = [Migration<State>(from: 1, Int.self) { State(number: $0) }]
    static let examples: [Intent] = [.renumber(number: 2)]
    let initialState: State

    init?(key: String) {
        guard let number = Int(key) else { return nil }
        initialState = State(number: number)
    }

    func reduce(_ state: inout State, _ intent: Intent) {
        if case .renumber(let number) = intent { state.number = number }
    }
}
