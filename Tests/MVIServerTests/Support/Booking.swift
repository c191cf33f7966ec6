import MVI
import MVIServer
import MVITesting

/// A feature with rules that refuse with codes, and with asynchronous checks before some intents.
struct Booking: Feature {
    struct State: Codable, Equatable, Sendable { var seats = 0 }
    enum Intent: Codable, Sendable {
        /// An asynchronous check that waits for the gate.
        case book
        case cancel(number: Int)
        case confirm
        case redeem(code: String)
        case leave
    }

    static let examples: [Intent] = [.book, .cancel(number: 1), .confirm, .redeem(code: "SPRING"), .leave]
    let initialState = State()
    let gate: Gate

    @FeatureBuilder
    static func content(_ gate: Gate) -> ServerContent {
        Booking(gate: gate)
        TestServer.probes(gate)
    }

    func check(_ intent: Intent) -> Check? {
        guard case .book = intent else { return nil }
        return { [gate] _ in
            try await gate.wait()
            return .execute
        }
    }

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) throws {
        switch intent {
        case .book: turn.dispatch(.book)
        case .cancel: throw Refusal(.notFound, code: "no-such-booking", "There is no such booking.")
        case .confirm: throw Refusal(.conflict, code: "sold-out", "The last seat is gone.")
        case .redeem: throw Refusal(.invalid, code: "coupon-expired", "The coupon has expired.", pointer: "/code")
        case .leave: throw Refusal(.forbidden, code: "not-yours", "The booking is another's.")
        }
    }

    func reduce(_ state: inout State, _ intent: Intent) {
        if case .book = intent { state.seats += 1 }
    }
}
