import MVI

/// A room whose visitors see each other.
struct Room: Feature {
    struct State: Codable, Equatable, Sendable {
        var isOpen = false
        /// The sets that it was told since it is open.
        var told: [String] = []
    }
    enum Intent: Codable, Sendable { case open, who }
    enum Action: Codable, Sendable { case changed(String) }
    enum Message: Codable, Sendable { case opened, told(String) }
    enum Label: Codable, Equatable, Sendable { case here(String) }
    struct Presence: Codable, Hashable, Sendable { var name: String }

    static let examples: [Intent] = [.open, .who]
    static let labelExamples: [Label] = [.here("ann")]
    let initialState = State()

    func presence(of viewer: Viewer) -> Presence? {
        switch viewer.principal?.subject {
        case nil: Presence(name: "guest")
        case "spy"?: nil
        case "long"?: Presence(name: String(repeating: "x", count: 2_000))
        case let name?: Presence(name: name)
        }
    }

    static func viewersChanged(_ viewers: Viewers<Presence>) -> Action? { .changed(text(of: viewers)) }

    private static func text(of viewers: Viewers<Presence>) -> String {
        "\(viewers.count): \(viewers.shown.map(\.name).joined(separator: " "))"
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .open: turn.dispatch(.opened)
        case .who: turn.publish(.here(Self.text(of: turn.viewers)))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) throws {
        if case .changed(let text) = action, turn.state.isOpen { turn.dispatch(.told(text)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .opened: state.isOpen = true
        case .told(let text): state.told.append(text)
        }
    }
}
