// The code of docs/identity.md and docs/observation.md, except whole programs.
// snippet.hide
import CoreMetrics
import Foundation
import MVI
import PrometheusMetrics
import Tracing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif
// snippet.show
import MVIServer

// snippet.hide
enum ServerPages {
    // snippet.show
    struct Tally: Feature {
        struct State: Codable, Equatable, Sendable { var count = 0 }
        enum Intent: Codable, Sendable { case increment }
        static let examples: [Intent] = [.increment]
        let initialState = State()

        func reduce(_ state: inout State, _ intent: Intent) { state.count &+= 1 }
    }
    typealias Shop = Tally
    typealias Catalogue = Tally
    typealias Offers = Tally

    struct NewSession: Decodable { let token: String }

    func signIn(_ server: URL, _ jwt: String) async throws -> String {
        var request = URLRequest(url: server.appending(path: "sessions"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(["credential": "bearer", "identity": jwt])
        let (data, _) = try await URLSession.shared.data(for: request)
        let token = try JSONDecoder().decode(NewSession.self, from: data).token
        // Each further request: Authorization: Bearer <token>
        return token
    }

    func rules(_ authenticator: any Authenticator) async throws {
        try await FeatureServer(authenticator: authenticator) {
            Catalogue()
            Offers().requires { $0.claim("tier") == "premium" }
        }.run()
    }

    func keyRules(_ authenticator: any Authenticator, _ desk: Desk) async throws {
        try await FeatureServer(authenticator: authenticator) {
            Keyed { Ticket(id: $0, desk) }.requires { principal, key, access in
                principal.claim("role") == "staff" || access == .read && desk.isCustomer(principal.subject, of: key)
            }
        }.run()
    }

    struct Desk: Sendable {
        let customers: [String: String]

        func isCustomer(_ subject: String, of ticket: String?) -> Bool { ticket != nil && customers[subject] == ticket }
    }

    struct Ticket: Feature {
        struct State: Codable, Equatable, Sendable { var isClosed = false }
        enum Intent: Codable, Sendable { case close }
        static let examples: [Intent] = [.close]
        let initialState = State()

        init(id: String, _ desk: Desk) {}

        func reduce(_ state: inout State, _ intent: Intent) { state.isClosed = true }
    }

    func metrics() async throws {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        try await FeatureServer(metrics: registry) { Shop() }.run()
    }

    func traces(_ tracer: some Tracer) async throws {
        InstrumentationSystem.bootstrap(tracer)
        try await FeatureServer { Shop() }.run()
    }
    // snippet.hide
}
