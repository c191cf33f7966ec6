// The code of docs/identity.md, "Settings".
// snippet.hide
import MVI
// snippet.show
import JWTAuthentication
import MVIServer

// snippet.hide
enum IdentityPage {
    // snippet.show
    // @main
    struct Shop: FeatureServerCommand {
        var jwt = JWTSettings()

        func server(_ start: ServerStart) async throws -> FeatureServer {
            FeatureServer(authenticator: try await jwt.authenticator(logger: start.logger)) { Tally() }
        }
    }

    struct Tally: Feature {
        struct State: Codable, Equatable, Sendable { var count = 0 }
        enum Intent: Codable, Sendable { case increment }
        static let examples: [Intent] = [.increment]
        let initialState = State()

        func reduce(_ state: inout State, _ intent: Intent) { state.count &+= 1 }
    }
    // snippet.hide
}
