import MVI
import MVITesting

/// A feature with everything that a request can meet: states, labels, work that waits for a gate, every refusal.
struct Probe: Feature {
    struct State: Codable, Equatable, Sendable {
        var count = 0
        var isLoading = false
        var text = ""
        var ratio = 0.0
    }
    enum Intent: Codable, Sendable {
        case increment
        case add(amount: Int)
        case say(text: String)
        case load
        case nothing
        case fail
        case grow(bytes: Int)
        case poison
        case secret
        case nonsense
        case hurry
    }
    enum Message: Codable, Sendable { case added(Int), loading, loaded, wrote(String), ratio(Double) }
    enum Label: Codable, Equatable, Sendable { case said(text: String) }
    struct Broken: Error {}

    static let summary = "Counts, and fails in every way."
    static let examples: [Intent] = [
        .increment, .add(amount: 5), .say(text: "hello"), .load, .nothing, .fail, .grow(bytes: 10), .poison, .secret,
        .nonsense, .hurry,
    ]
    static let labelExamples: [Label] = [.said(text: "hello")]

    let initialState = State()
    let gate: Gate

    var middleware: Middleware<Probe> {
        .intercepting { intent, _ in
            switch intent {
            case .secret: throw Refusal(.forbidden, "Not for you.")
            case .nonsense: throw Refusal(.invalid, "That makes no sense now.")
            case .hurry: throw Refusal(.tooMany(retryAfter: .milliseconds(2_500)), "Not so fast.")
            default: return intent
            }
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .increment: turn.dispatch(.added(1))
        case .add(let amount): turn.dispatch(.added(amount))
        case .say(let text): turn.publish(.said(text: text))
        case .load:
            turn.dispatch(.loading)
            turn.launch { [gate] work in
                try await gate.wait()
                await work.dispatch(.loaded)
            }
        case .fail:
            turn.dispatch(.added(1))
            throw Broken()
        case .grow(let bytes): turn.dispatch(.wrote(String(repeating: "x", count: bytes)))
        case .poison: turn.dispatch(.ratio(.nan))
        case .nothing, .secret, .nonsense, .hurry: break
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let amount): state.count += amount
        case .loading: state.isLoading = true
        case .loaded:
            state.isLoading = false
            state.count += 100
        case .wrote(let text): state.text = text
        case .ratio(let ratio): state.ratio = ratio
        }
    }
}

/// A feature with a key: `1` to `9` exist, `broken` cannot be shown, other numbers do not exist, and other keys throw.
struct Item: Feature {
    struct State: Codable, Equatable, Sendable {
        var id: String
        var weight = 1.0
    }
    enum Intent: Codable, Sendable { case weigh(weight: Double) }
    struct Unknown: Error {}

    static let examples: [Intent] = [.weigh(weight: 2)]
    let initialState: State

    init?(id: String) throws {
        if id == "broken" {
            initialState = State(id: id, weight: .infinity)
            return
        }
        guard let number = Int(id) else { throw Unknown() }
        guard (1...9).contains(number) else { return nil }
        initialState = State(id: id)
    }

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .weigh(let weight): state.weight = weight
        }
    }
}
