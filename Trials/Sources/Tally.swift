import MVI

/// A sum in the state of the server's first version.
struct Tally: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
    }

    enum Intent: Codable, Equatable, Sendable {
        case add(amount: Int)
    }

    static let summary = "A sum, in its first schema version."
    static let examples: [Intent] = [.add(amount: 1)]

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(intent) }

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .add(let amount): state.count &+= amount
        }
    }
}

/// The same feature in the server's next version, which also counts the intents.
struct NextTally: Feature {
    struct State: Codable, Equatable, Sendable {
        var total = 0
        var additions = 0
    }

    /// The first version's state.
    struct Before: Decodable {
        var count: Int
    }

    static let name = Tally.name
    static let schemaVersion = 2
    static let migrations = [Migration(from: 1, Before.self) { State(total: $0.count) }]
    static let summary = "A sum, in its second schema version."
    static let examples = Tally.examples

    let initialState = State()

    func execute(_ intent: Tally.Intent, _ turn: inout Turn<Self>) { turn.dispatch(intent) }

    func reduce(_ state: inout State, _ intent: Tally.Intent) {
        switch intent {
        case .add(let amount):
            state.total &+= amount
            state.additions += 1
        }
    }
}
