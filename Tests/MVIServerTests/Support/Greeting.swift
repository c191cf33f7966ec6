import MVI

/// Greets each client in its language, and keeps what its turns and checks know of their clients.
struct Greeting: Feature {
    struct State: Codable, Equatable, Sendable { var clients: [String] = [] }
    struct ViewState: Codable, Equatable, Sendable {
        var text: String
        var clients: [String]
    }
    enum Intent: Codable, Sendable { case greet, check, remind }
    enum Action: Codable, Sendable { case checked(String), reminded }
    enum Message: Codable, Sendable { case greeted(String) }
    struct Audience: Hashable, Sendable { var locale, timeZone: String? }

    static let examples: [Intent] = [.greet, .check, .remind]
    let initialState = State()

    func audience(of viewer: Viewer) -> Audience { Audience(locale: viewer.locale, timeZone: viewer.timeZone) }

    func view(_ state: State, for audience: Audience) -> ViewState {
        let hello = audience.locale?.hasPrefix("de") == true ? "Hallo" : "Hello"
        return ViewState(text: "\(hello) \(audience.timeZone ?? "?")", clients: state.clients)
    }

    func view(_ state: State) -> ViewState { view(state, for: Audience()) }

    func check(_ intent: Intent) -> Check? {
        guard case .check = intent else { return nil }
        return { context in .perform(.checked(Self.text(context.client))) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .remind = intent { return turn.remind(id: "later", after: .seconds(60), .reminded) }
        turn.dispatch(.greeted(Self.text(turn.client)))
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .checked(let text): turn.dispatch(.greeted("check \(text)"))
        case .reminded: turn.dispatch(.greeted("reminder \(Self.text(turn.client))"))
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .greeted(let client) = message { state.clients.append(client) }
    }

    private static func text(_ client: ClientInfo) -> String {
        "\(client.locale ?? "-") \(client.timeZone ?? "-") \(client.address ?? "-")"
    }
}
