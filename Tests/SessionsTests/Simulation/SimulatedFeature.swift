import MVI

/// A feature whose state and labels contain its complete history.
struct Ledger: Feature {
    struct State: Codable, Equatable, Sendable {
        /// The numbers of the intents that ran, in order.
        var entries: [Int] = []
        /// The numbers of the intents whose launched work arrived.
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

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) { if reason == .new { turn.dispatch(.began) } }

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

    /// Longer than any run, so that an expired label counts as lost.
    func timeToLive(of label: Label) -> Duration { .seconds(10_000_000) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .entered(let number): state.entries.append(number)
        case .worked(let number): state.worked.append(number)
        case .began: state.bootstraps += 1
        }
    }
}

/// The ledger of a later build: its stored state has another form, and its view contains the build.
struct NewerLedger: Feature {
    struct State: Codable, Equatable, Sendable {
        /// The entries under their new name.
        var numbers: [Int] = []
        var worked: [Int] = []
        var bootstraps = 0
    }
    struct ViewState: Codable, Equatable, Sendable {
        var entries: [Int]
        var worked: [Int]
        var bootstraps: Int
        var build = 2
    }
    typealias Intent = Ledger.Intent
    typealias Message = Ledger.Message
    typealias Label = Ledger.Label

    static let name = Ledger.name
    static let schemaVersion = 2
    static let migrations = [
        Migration(from: 1, Ledger.State.self) {
            State(numbers: $0.entries, worked: $0.worked, bootstraps: $0.bootstraps)
        }
    ]
    static let examples = Ledger.examples
    static let labelExamples = Ledger.labelExamples
    let initialState = State()

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) { if reason == .new { turn.dispatch(.began) } }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .enter(let number): turn.dispatch(.entered(number))
        case .say(let number):
            turn.dispatch(.entered(number))
            turn.publish(.said(number))
        case .work(let number):
            turn.dispatch(.entered(number))
            turn.launch { work in await work.dispatch(.worked(number)) }
        case .fail: throw Ledger.Broken()
        }
    }

    func timeToLive(of label: Label) -> Duration { Ledger().timeToLive(of: label) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .entered(let number): state.numbers.append(number)
        case .worked(let number): state.worked.append(number)
        case .began: state.bootstraps += 1
        }
    }

    func view(_ state: State) -> ViewState {
        ViewState(entries: state.numbers, worked: state.worked, bootstraps: state.bootstraps)
    }
}
