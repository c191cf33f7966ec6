import MVI

/// The feature of the store turns: the demo's counter without loading.
struct Tally: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var isLoading = false
    }

    enum Intent: Codable, Equatable, Sendable {
        case increment
        case decrement
        case add(amount: Int)
    }

    enum Message: Codable, Equatable, Sendable {
        case changed(by: Int)
    }

    enum Label: Codable, Equatable, Sendable {
        case milestone(count: Int)
    }

    static let summary = "A number to count up and down."
    static let examples: [Intent] = [.increment, .decrement, .add(amount: 5)]

    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .increment: turn.dispatch(.changed(by: 1))
        case .decrement: turn.dispatch(.changed(by: -1))
        case .add(let amount): turn.dispatch(.changed(by: amount))
        }
        let count = turn.state.count
        if count != 0, count.isMultiple(of: 10) { turn.publish(.milestone(count: count)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .changed(let amount): state.count += amount
        }
    }
}
