import MVI

/// The signed-in user, loaded as soon as the store starts.
///
/// Each step is separate: bootstrap sends an action, the action launches work, the work dispatches messages, and
/// the view state is derived from the state.
struct UserInfo: Feature {
    struct State: Codable, Equatable, Sendable {
        enum Progress: String, Codable, Sendable { case idle, loading, failed }

        var user: User?
        var progress = Progress.idle
    }

    enum Intent: Codable, Equatable, Sendable {
        /// Loads unless the user is loaded or loading.
        case load
        /// Loads in any case.
        case reload
    }

    enum Action: Codable, Equatable, Sendable {
        case fetchUser
    }

    enum Message: Codable, Equatable, Sendable {
        case fetchStarted
        case fetched(User)
        case fetchFailed
    }

    enum Label: Codable, Equatable, Sendable {
        case toast(text: String)
    }

    static let summary = "The signed-in user, loaded at once, with an error state and a reload."
    static let examples: [Intent] = [.load, .reload]
    static let labelExamples: [Label] = [.toast(text: "Your profile could not be loaded")]

    let initialState = State()
    let users: any UserRepository

    func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
        // The work from before the restart is gone, though the state may say that it runs. Loaded content stays.
        let state = turn.state
        if state.progress == .loading || (state.user == nil && state.progress == .idle) { turn.send(.fetchUser) }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        switch intent {
        case .load: if turn.state.user == nil, turn.state.progress != .loading { turn.send(.fetchUser) }
        case .reload: turn.send(.fetchUser)
        }
    }

    func perform(_ action: Action, _ turn: inout Turn<Self>) {
        switch action {
        case .fetchUser:
            turn.dispatch(.fetchStarted)
            turn.launch(id: "fetch", policy: .cancelPrevious) { [users] work in
                do {
                    await work.dispatch(.fetched(try await users.current()))
                } catch {
                    await work.turn { turn in
                        turn.dispatch(.fetchFailed)
                        turn.publish(.toast(text: "Your profile could not be loaded"))
                    }
                }
            }
        }
    }

    func reduce(_ state: inout State, _ message: Message) {
        switch message {
        case .fetchStarted: state.progress = .loading
        case .fetched(let user):
            state.user = user
            state.progress = .idle
        case .fetchFailed: state.progress = .failed
        }
    }
}
