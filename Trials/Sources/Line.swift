import MVI

/// A waitlist of 1,000 parties at most. A turn moves the first party to the end, which changes each guest's place.
struct Line: Feature {
    struct State: Codable, Equatable, Sendable {
        var parties: [String] = []
        var turns = 0
    }
    enum Intent: Codable, Sendable { case join, next }
    enum Message: Codable, Sendable { case joined(String), next }
    struct ViewState: Codable, Equatable, Sendable {
        var you: String?
        var place: Int?
        var parties: Int
    }
    enum Audience: Hashable, Sendable { case guest(String), host }

    static let summary = "A waitlist in which each guest sees the own place."
    static let examples: [Intent] = [.join, .next]
    let initialState = State()

    func audience(of viewer: Viewer) -> Audience {
        viewer.principal != nil ? .host : .guest(viewer.sender?.id ?? "")
    }

    func view(_ state: State) -> ViewState { ViewState(parties: state.parties.count) }

    func view(_ state: State, for audience: Audience) -> ViewState {
        guard case .guest(let id) = audience, let place = state.parties.firstIndex(of: id) else { return view(state) }
        return ViewState(you: id, place: place + 1, parties: state.parties.count)
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .join: if let id = turn.sender?.id { turn.dispatch(.joined(id)) }
        case .next: turn.dispatch(.next)
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .joined(let id): if state.parties.count < 1_000 { state.parties.append(id) }
        case .next:
            state.turns += 1
            if !state.parties.isEmpty { state.parties.append(state.parties.removeFirst()) }
        }
    }
}

/// The same waitlist, of which all clients see the same.
struct OpenLine: Feature {
    struct ViewState: Codable, Equatable, Sendable {
        var you: String?
        var turns: Int
        var parties: Int
    }

    static let name = "line"
    static let examples = Line.examples
    private let line = Line()
    var initialState: Line.State { line.initialState }

    func view(_ state: Line.State) -> ViewState {
        ViewState(you: state.parties.first, turns: state.turns, parties: state.parties.count)
    }

    func execute(_ intent: Line.Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .join: if let id = turn.sender?.id { turn.dispatch(.joined(id)) }
        case .next: turn.dispatch(.next)
        }
    }

    func reduce(_ state: inout Line.State, _ message: Line.Message) { line.reduce(&state, message) }
}
