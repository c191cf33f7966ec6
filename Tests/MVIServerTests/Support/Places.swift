import MVI

/// A feature with an audience for each client.
struct Places: Feature {
    struct State: Codable, Equatable, Sendable { var taken = 0 }
    enum Intent: Codable, Sendable { case take }
    static let examples: [Intent] = [.take]
    let initialState = State()
    func audience(of viewer: Viewer) -> String { viewer.sender?.id ?? "" }
    func view(_ state: State, for audience: String) -> State { state }
    func reduce(_ state: inout State, _ intent: Intent) { state.taken += 1 }
}
