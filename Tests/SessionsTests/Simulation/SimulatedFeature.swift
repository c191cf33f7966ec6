import MVI

/// A feature of which everything that ever happened to it can be told from its state and labels.
struct Ledger: Feature {
    struct State: Codable, Equatable, Sendable {
        /// The numbers of the intents that ran, in order.
        var entries: [Int] = []
        /// The numbers of the intents of which launched work arrived.
        var worked: [Int] = []
        var bootstraps = 0
    }
    enum Intent: Codable, Sendable {
        case enter(Int)
        case say(Int)
        case work(Int)
        case fail(Int)
    }
    enum Message: Codable, Sendable { case entered(Int), worked(Int), began }
    enum Label: Codable, Equatable, Sendable { case said(Int) }
    struct Broken: Error {}

    static let name = "ledger"
    static let examples: [Intent] = [.enter(1), .say(1), .work(1), .fail(1)]
    static let labelExamples: [Label] = [.said(1)]
    let initialState = State()

    func bootstrap(_ life: Life, _ turn: inout Turn<Self>) { if life == .new { turn.dispatch(.began) } }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .enter(let number): turn.dispatch(.entered(number))
        case .say(let number):
            turn.dispatch(.entered(number))
            turn.publish(.said(number))
        case .work(let number):
            turn.dispatch(.entered(number))
            turn.launch { work in
                try await work.sleep(for: .milliseconds(50))
                await work.dispatch(.worked(number))
            }
        case .fail(let number):
            turn.dispatch(.entered(number))
            turn.publish(.said(number))
            throw Broken()
        }
    }

    /// Longer than any run: a label whose time is over is no loss.
    func timeToLive(of label: Label) -> Duration { .seconds(10_000_000) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .entered(let number): state.entries.append(number)
        case .worked(let number): state.worked.append(number)
        case .began: state.bootstraps += 1
        }
    }
}
