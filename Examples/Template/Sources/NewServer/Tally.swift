import MVI

/// Counts, and publishes a label for each full dozen. Its name in the API is `tally`.
struct Tally: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case increment, add(amount: Int) }
    enum Message: Equatable, Sendable { case added(Int) }
    enum Label: Codable, Equatable, Sendable { case dozen(count: Int) }

    static let summary = "Counts, with a label for each full dozen."
    static let examples: [Intent] = [.increment, .add(amount: 5)]
    static let labelExamples: [Label] = [.dozen(count: 12)]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .increment:
            turn.dispatch(.added(1))
        case .add(let amount):
            guard (1...100).contains(amount) else {
                throw Refusal(.invalid, code: "amount", "The amount must be from 1 to 100.", pointer: "/amount")
            }
            turn.dispatch(.added(amount))
        }
        if turn.state.count.isMultiple(of: 12) { turn.publish(.dozen(count: turn.state.count)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let amount): state.count &+= amount
        }
    }
}
