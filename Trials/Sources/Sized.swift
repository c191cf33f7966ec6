import MVI

/// A counter whose state has the size in its key: `sized:4096`, or `sized:200-3` for one of several.
struct Sized: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var isLoading = false
        var text: String
    }

    enum Intent: Codable, Equatable, Sendable {
        case add(amount: Int)
    }

    enum Message: Codable, Equatable, Sendable {
        case changed(by: Int)
    }

    enum Label: Codable, Equatable, Sendable {
        case milestone(count: Int)
    }

    static let summary = "A counter with ballast, to measure the cost of a state's size."
    static let examples: [Intent] = [.add(amount: 1)]
    static let labelExamples: [Label] = [.milestone(count: 10)]

    let initialState: State

    /// Nil unless the key is a size from 64 bytes to 1 MiB.
    init?(key: String) {
        guard let bytes = Int(key.prefix { $0 != "-" }), (64...1 << 20).contains(bytes) else { return nil }
        // The other bytes of the state while the count has one digit.
        initialState = State(text: String(repeating: "x", count: bytes - 45))
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        let before = turn.state.count
        switch intent {
        case .add(let amount): turn.dispatch(.changed(by: amount))
        }
        let count = turn.state.count
        if count != before, count != 0, count.isMultiple(of: 10) { turn.publish(.milestone(count: count)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .changed(let amount): state.count += amount
        }
    }
}
