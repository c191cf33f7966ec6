import MVI

struct Toasts: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case add }
    enum Message: Equatable, Sendable { case added }
    enum Label: Codable, Equatable, Sendable { case toast(text: String), milestone(count: Int) }
    static let examples: [Intent] = [.add]
    static let labelExamples: [Label] = [.toast(text: "Added"), .milestone(count: 10)]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.added) }

    func reduce(_ state: inout State, _ message: Message) { state.count &+= 1 }

    func timeToLive(of label: Label) -> Duration {
        switch label {
        case .toast: .seconds(10)
        case .milestone: .seconds(3_600)
        }
    }
}

struct Tickets: Feature {
    struct State: Codable, Equatable, Sendable { var tickets: [String] = [] }
    enum Intent: Codable, Sendable { case giveBack(ticket: String) }
    enum Action: Sendable { case add([String]) }
    enum Message: Equatable, Sendable { case added([String]), givenBack(String) }
    static let examples: [Intent] = [.giveBack(ticket: "A1")]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .giveBack(let ticket): turn.dispatch(.givenBack(ticket))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .add(let tickets): turn.dispatch(.added(tickets))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .added(let tickets): state.tickets += tickets
        case .givenBack(let ticket): state.tickets.removeAll { $0 == ticket }
        }
    }
}

func book(_ tickets: [String], _ turn: inout Turn<Toasts>) {
    turn.perform(.add(tickets), on: Tickets.self)
}
