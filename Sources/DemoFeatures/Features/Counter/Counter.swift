import MVI

/// The smallest complete feature: a number, a way to load one, and a label at every ten.
struct Counter: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var isLoading = false
    }

    enum Intent: Codable, Equatable, Sendable {
        case increment
        case decrement
        case add(amount: Int)
        case load
    }

    enum Message: Codable, Equatable, Sendable {
        case changed(by: Int)
        case loadStarted
        case loaded(Int)
        case loadFailed
    }

    enum Label: Codable, Equatable, Sendable {
        case milestone(count: Int)
        case toast(text: String)
    }

    static let summary = "A number to count up and down, or to load."
    static let examples: [Intent] = [.increment, .decrement, .add(amount: 5), .load]
    static let labelExamples: [Label] = [.milestone(count: 10), .toast(text: "No number today")]

    /// The range that every client can read exactly: a JavaScript number represents integers up to 2^53 - 1.
    static let limits = -9_007_199_254_740_991...9_007_199_254_740_991

    let initialState = State()
    let numbers: any NumberRepository

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The work from before the restart is gone, but the state still says that it runs.
        if turn.state.isLoading { load(&turn) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        let before = turn.state.count
        switch intent {
        case .increment: turn.dispatch(.changed(by: 1))
        case .decrement: turn.dispatch(.changed(by: -1))
        case .add(let amount): turn.dispatch(.changed(by: amount))
        case .load:
            turn.dispatch(.loadStarted)
            load(&turn)
        }
        let count = turn.state.count
        if count != before, count != 0, count.isMultiple(of: 10) { turn.publish(.milestone(count: count)) }
    }

    private func load(_ turn: inout Turn<Self>) {
        turn.launch(id: "load", policy: .cancelPrevious) { [numbers] work in
            do {
                await work.dispatch(.loaded(try await numbers.next()))
            } catch {
                await work.turn { turn in
                    turn.dispatch(.loadFailed)
                    turn.publish(.toast(text: "No number today"))
                }
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .changed(let amount):
            // A client may send any amount; the sum must not trap.
            let sum = state.count.addingReportingOverflow(amount)
            let exact = sum.overflow ? (amount < 0 ? Int.min : Int.max) : sum.partialValue
            state.count = min(max(exact, Self.limits.lowerBound), Self.limits.upperBound)
        case .loadStarted: state.isLoading = true
        case .loaded(let count):
            state.count = count
            state.isLoading = false
        case .loadFailed: state.isLoading = false
        }
    }
}
