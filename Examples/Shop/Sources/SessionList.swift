import MVI
import MVIServer

/// A list of a customer's sessions for administrators, who can end them.
struct SessionList: Feature {
    struct State: Codable, Equatable, Sendable {
        var customer = ""
        var sessions: [SessionDirectory.Entry] = []
        var isLoading = false
        var hasFailed = false
    }
    enum Intent: Codable, Equatable, Sendable { case show(customer: String), end(session: String) }
    enum Message: Codable, Equatable, Sendable {
        case loadStarted(customer: String), loaded([SessionDirectory.Entry]), failed
    }

    static let summary = "A customer's sessions, for administrators."
    static let examples: [Intent] = [.show(customer: "ann"), .end(session: "gpeqqiynsofocl")]
    let initialState = State()
    let sessions: SessionDirectory

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        if turn.state.isLoading { turn.dispatch(.failed) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .show(let customer): load(customer, ending: nil, &turn)
        case .end(let session):
            guard turn.state.sessions.contains(where: { $0.id == session }) else {
                throw Refusal(.notFound, code: "no-such-session", "It is not on the list.", pointer: "/session")
            }
            load(turn.state.customer, ending: session, &turn)
        }
    }

    private func load(_ customer: String, ending session: String?, _ turn: inout Turn<Self>) {
        turn.dispatch(.loadStarted(customer: customer))
        // Administrators and customers have the same issuer.
        let subject = Subject(issuer: turn.principal?.issuer ?? "", id: customer)
        turn.launch(id: "load", policy: .queue) { [sessions] work in
            if let session { try await sessions.end(session: session) }
            let found = try await sessions.sessions(of: subject)
            await work.dispatch(.loaded(Array(found.prefix(100))))
        }
    }

    func onFailure(_ failure: Failure, _ turn: inout Turn<Self>) { turn.dispatch(.failed) }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .loadStarted(let customer):
            if customer != state.customer { state.sessions = [] }
            (state.customer, state.isLoading, state.hasFailed) = (customer, true, false)
        case .loaded(let sessions): (state.sessions, state.isLoading) = (sessions, false)
        case .failed: (state.isLoading, state.hasFailed) = (false, true)
        }
    }
}
