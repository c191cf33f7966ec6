import MVI
import PostgresServer

import JWTAuthentication
import MVIServer

// @main
struct OrderingServer: FeatureServerCommand {
    var jwt = JWTSettings()
    @Setting("reservation", .time(.seconds(1) ... .seconds(3_600)), "The time to pay an order.")
    var reservation: Duration = .seconds(600)

    func server(_ start: ServerStart) async throws -> FeatureServer {
        let authenticator =
            start.isServing ? try await jwt.authenticator(logger: start.logger) : nil
        return FeatureServer(page: page, authenticator: authenticator) {
            Orders(reservation: reservation)
        }
    }
}

extension OrderingServer {
    var sharedStorage: SharedStorage? { .postgres }
}

struct Orders: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum Intent: Codable, Sendable { case refresh }
    static let examples: [Intent] = [.refresh]
    let initialState = State()
    let reservation: Duration

    func reduce(_ state: inout State, _ intent: Intent) {}
}
