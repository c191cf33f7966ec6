import MVI
import MVIServer

/// Keeps a client's text in everything that is stored of a session: state, label, receipt, reminder.
struct Notes: Feature {
    struct State: Codable, Equatable, Sendable { var text = "" }
    enum Intent: Codable, Sendable { case write(text: String, times: Int) }
    enum Action: Codable, Sendable { case erase(text: String) }
    enum Message: Codable, Equatable, Sendable { case written(String) }
    enum Label: Codable, Equatable, Sendable { case written(text: String) }

    static let summary = "Keeps a client's text, to look for it after a deletion."
    static let examples: [Intent] = [.write(text: "a", times: 3)]
    static let labelExamples: [Label] = [.written(text: "a")]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .write(let text, let times):
            turn.dispatch(.written(String(repeating: text, count: max(1, min(times, 20_000)))))
            turn.publish(.written(text: text))
            turn.remind(id: "erase", at: turn.now + .seconds(3_600), .erase(text: text))
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) { turn.dispatch(.written("")) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .written(let text): state.text = text
        }
    }
}

/// Believes every name.
struct AnyName: Authenticator {
    func authenticate(_ proof: IdentityProof) async throws -> Principal {
        guard let name = proof.identity else { throw AuthenticationError(.rejected, "Give a name as identity.") }
        return Principal(issuer: "trial", subject: name)
    }
}
