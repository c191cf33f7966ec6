import MVI
import MVIServer
import MVIServerTesting
import MVITesting
import Testing

@testable import shop

extension Principal {
    static let ann = Principal(issuer: "test", subject: "ann")
    static let bob = Principal(issuer: "test", subject: "bob")
    static let premiumAnn = Principal(issuer: "test", subject: "ann", claims: ["tier": "premium"])
    static let ada = Principal(issuer: "test", subject: "ada", claims: ["role": "admin"])
}

extension Shop {
    static let paymentSecret = "the provider's secret"

    /// Runs a test on a shop.
    static func run(
        services: Services = .test(), development: Development? = nil, authenticator: (any Authenticator)? = nil,
        analytics: Collected<Analytics.Entry> = Collected(), _ test: (TestServer) async throws -> Void
    ) async throws {
        try await TestServer.run { _ in
            let shop = Shop(services: services, paymentSecret: paymentSecret, development: development)
            return FeatureServer(
                middleware: [Analytics { analytics.append($0) }], page: page, authenticator: authenticator
            ) { sessions in
                shop.content(sessions)
            }
        } test: { server in
            try await test(server)
        }
    }
}

extension TestServer {
    /// Returns a customer with two packets of tea in the cart.
    func ann() async throws -> TestClient {
        let ann = try await client(as: .ann)
        try await ann.cart.send(.add(product: "assam", count: 2))
        return ann
    }
}

extension TestClient {
    var cart: ClientStore<Cart> { store(Cart.self, key: "tea") }
    var checkout: ClientStore<Checkout> { store(Checkout.self, key: "tea") }

    func goods() async throws -> [String: Int] {
        Dictionary(try await cart.state().lines.map { ($0.id, $0.count) }) { $1 }
    }

    func orders() async throws -> [Checkout.Order] { try await checkout.state().orders }
}

extension Collected<Analytics.Entry> {
    /// Returns the number of analytics actions with a prefix, after the first one was recorded.
    func count(of action: String) async -> Int {
        await until { $0.contains { $0.what.hasPrefix(action) } }.count { $0.what.hasPrefix(action) }
    }
}
