import MVI

/// A feature with an invalid name.
struct Misnamed: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case nothing }

    static let name = "Bad_Name"
    static let examples: [Intent] = [.nothing]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {}
}

/// A feature with an intent that JSON cannot hold.
struct Unlabelled: Feature {
    struct State: Codable, Equatable, Sendable { var count = 0 }
    enum Intent: Codable, Sendable { case move(Int, Int) }

    static let examples: [Intent] = [.move(1, 2)]
    let initialState = State()

    func reduce(_ state: inout State, _ intent: Intent) {}
}
