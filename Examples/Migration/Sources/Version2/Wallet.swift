import MVI

/// A user's money.
struct Wallet: Feature {
    struct State: Codable, Equatable, Sendable {
        /// Was `euros`.
        var cents = 0
        /// New: the number of payments.
        var payments = 0
    }
    /// The state of version 1.
    struct StateV1: Decodable {
        var euros: Double
    }
    enum Intent: Codable, Equatable, Sendable { case payIn(euros: Double) }
    enum Label: Codable, Equatable, Sendable { case paidIn(euros: Double) }

    static let summary = "A user's money."
    static let examples: [Intent] = [.payIn(euros: 12.5)]
    static let labelExamples: [Label] = [.paidIn(euros: 12.5)]
    static let schemaVersion = 2
    static let migrations = [Migration(from: 1, StateV1.self) { State(cents: cents($0.euros)) }]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .payIn(let euros):
            guard (0.01...1_000_000).contains(euros) else {
                throw Refusal(.invalid, "The amount must be between a cent and a million euros.", pointer: "/euros")
            }
            turn.dispatch(intent)
            turn.publish(.paidIn(euros: euros))
        }
    }

    func reduce(_ state: inout State, _ intent: Intent) {
        switch intent {
        case .payIn(let euros):
            state.cents += Self.cents(euros)
            state.payments += 1
        }
    }

    private static func cents(_ euros: Double) -> Int { Int((euros * 100).rounded()) }
}
