import MVI
import MVIServer

struct Tally: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case increment, add(amount: Int) }
    static let examples: [Intent] = [.increment, .add(amount: 5)]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .increment: state.count &+= 1
        case .add(let amount): state.count &+= amount
        }
    }
}

@main
struct Minimal: FeatureServerCommand {
    var content: ServerContent { Tally() }
}
