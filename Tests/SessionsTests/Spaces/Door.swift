import MVI

/// A waitlist: each guest sees the own party and its place, hosts see all.
struct Door: Feature {
    struct Party: Codable, Equatable, Sendable {
        var name: String
        /// What only its guest and hosts may see.
        var secret: String
        var guest: String
    }
    struct State: Codable, Equatable, Sendable {
        var parties: [Party] = []
        /// What only hosts see.
        var note = ""
    }
    enum Intent: Codable, Sendable {
        case join(name: String, secret: String), leave, note(text: String), call(text: String)
        case tell(text: String, to: String)
    }
    enum Message: Codable, Sendable { case joined(Party), left(guest: String), noted(String) }
    enum Label: Codable, Equatable, Sendable { case called(text: String) }
    enum Audience: Hashable, Codable, Sendable { case guest(String, isGerman: Bool), host }
    struct ViewState: Codable, Equatable, Sendable {
        var place: Int?
        var parties: [String]
        var note: String?
        var rules = Door.rules
    }

    static let examples: [Intent] = [
        .join(name: "ann", secret: "s"), .leave, .note(text: "full"), .call(text: "tea"),
        .tell(text: "tea", to: "host"),
    ]
    static let labelExamples: [Label] = [.called(text: "tea")]

    let initialState = State()
    fileprivate static let rules = "Be there five minutes after you are called, or your place goes to the next party."

    func audience(of viewer: Viewer) -> Audience {
        if viewer.principal?.claims["role"] == "host" { return .host }
        return .guest(viewer.sender?.id ?? "", isGerman: viewer.locale?.hasPrefix("de") == true)
    }

    func view(_ state: State, for audience: Audience) -> ViewState {
        switch audience {
        case .host:
            ViewState(parties: state.parties.map { "\($0.name) \($0.secret)" }, note: state.note)
        case .guest(let id, let isGerman):
            ViewState(
                place: state.parties.firstIndex { $0.guest == id }.map { $0 + 1 },
                parties: state.parties.filter { $0.guest == id }.map { "\($0.name) \($0.secret)" },
                rules: isGerman ? "Seien Sie pünktlich." : Self.rules)
        }
    }

    func view(_ state: State) -> ViewState { view(state, for: .host) }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .join(let name, let secret):
            turn.dispatch(.joined(Party(name: name, secret: secret, guest: turn.sender?.id ?? "")))
        case .leave: turn.dispatch(.left(guest: turn.sender?.id ?? ""))
        case .note(let text): turn.dispatch(.noted(text))
        case .call(let text): turn.publish(.called(text: text))
        case .tell(let text, let to):
            turn.publish(
                .called(text: text), to: Addressee(to) { .audience($0 == "host" ? .host : .guest($0, isGerman: false)) }
            )
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .joined(let party): state.parties.append(party)
        case .left(let guest): state.parties.removeAll { $0.guest == guest }
        case .noted(let text): state.note = text
        }
    }
}
