import MVI

/// Counts, and says so. The text makes a patch smaller than the state.
struct Tally: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var text = String(repeating: "long ", count: 40)
    }
    enum Intent: Codable, Sendable { case add(amount: Int), cheer, refuse }
    enum Message: Codable, Sendable { case added(Int) }
    enum Label: Codable, Equatable, Sendable { case cheered(count: Int) }

    static let name = "tally"
    static let examples: [Intent] = [.add(amount: 5), .cheer, .refuse]
    static let labelExamples: [Label] = [.cheered(count: 5)]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .add(let amount): turn.dispatch(.added(amount))
        case .cheer: turn.publish(.cheered(count: turn.state.count))
        case .refuse: throw Refusal(.invalid, code: "not-today", "Not today.")
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let amount): state.count += amount
        }
    }
}

/// A feature for signed-in callers only.
struct Secrets: Feature {
    struct State: Codable, Equatable, Sendable { var secret = "42" }
    enum Intent: Codable, Sendable { case look }

    static let name = "secrets"
    static let examples: [Intent] = [.look]
    let initialState = State()
    func reduce(_ state: inout State, _ intent: Intent) {}
}

/// The counter of the page's example.
struct Counter: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case increment, add(amount: Int) }
    enum Label: Codable, Equatable, Sendable { case milestone(count: Int) }

    static let examples: [Intent] = [.increment, .add(amount: 5)]
    static let labelExamples: [Label] = [.milestone(count: 10)]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        turn.dispatch(intent)
        turn.publish(.milestone(count: turn.state.count))
    }

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .increment: state.count += 1
        case .add(let amount): state.count += amount
        }
    }
}
