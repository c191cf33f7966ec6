import CoreMetrics
import Logging
import MVI
import MVIServer
import PrometheusMetrics
import SQLiteJournal
import ServiceLifecycle
import SessionJournal

// snippet.hide
enum Servers {
    // snippet.show
    struct Tally: Feature {
        struct State: Codable, Equatable, Sendable { var count = 0 }
        enum Intent: Codable, Sendable { case increment }
        static let examples: [Intent] = [.increment]
        let initialState = State()

        func reduce(_ state: inout State, _ intent: Intent) { state.count &+= 1 }
    }

    /// Corresponds to SwiftPM's code for `resources: [.embedInCode("Page")]`.
    struct PackageResources {
        static let index_html: [UInt8] = []
        static let page_js: [UInt8] = []
    }

    func page() async throws {
        let page = [
            PageResource("/", PackageResources.index_html),
            PageResource("/page.js", PackageResources.page_js),
        ]
        try await FeatureServer(page: page) { Tally() }.run()
    }

    /// Refuses all intents while the shop is closed; states can be read.
    struct OpeningHours: CommonMiddleware {
        let isOpen: @Sendable () -> Bool

        func middleware<F: Feature>(for feature: F.Type) -> Middleware<F> {
            .intercepting { [isOpen] intent, _ in
                guard isOpen() else { throw Refusal(.conflict, code: "closed", "The shop is closed.") }
                return intent
            }
        }
    }

    func middleware(_ isOpen: @escaping @Sendable () -> Bool) async throws {
        try await FeatureServer(middleware: [OpeningHours(isOpen: isOpen)]) { Tally() }.run()
    }

    func memory() async throws {
        try await FeatureServer(journal: MemoryJournal()) { Tally() }.run()
    }

    func sqlite(_ logger: Logger) async throws {
        let journal = try await SQLiteJournal.open(directory: "/var/lib/shop", logger: logger)
        try await FeatureServer(logger: logger, journal: journal) { Tally() }.run()
    }

    /// The newest prices, which another program sends while the server runs.
    actor PriceFeed: Service {
        private(set) var newest: [String: Int] = [:]
        private let updates: AsyncStream<[String: Int]>

        init(_ updates: AsyncStream<[String: Int]>) { self.updates = updates }

        func run() async throws {
            for await prices in updates.cancelOnGracefulShutdown() { newest = prices }
        }
    }

    struct Prices: Feature {
        struct State: Codable, Equatable, Sendable { var prices: [String: Int] = [:] }
        enum Intent: Codable, Sendable { case refresh }
        enum Message: Sendable { case loaded([String: Int]) }
        static let examples: [Intent] = [.refresh]
        let initialState = State()
        let newest: @Sendable () async -> [String: Int]

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
            turn.launch(id: "load", policy: .keepPrevious) { [newest] work in
                await work.dispatch(.loaded(newest()))
            }
        }

        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .loaded(let prices): state.prices = prices
            }
        }
    }

    func services(_ updates: AsyncStream<[String: Int]>) async throws {
        let feed = PriceFeed(updates)
        try await FeatureServer(services: [feed]) {
            Prices { await feed.newest }
        }.run()
    }

    /// Identifies clients by their keys.
    struct KeyAuthenticator: Authenticator {
        let users: [String: String]

        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            guard let key = proof.identity, let user = users[key] else {
                throw AuthenticationError(.rejected, "The key is unknown.")
            }
            return Principal(issuer: "keys", subject: user)
        }
    }

    func authenticator() async throws {
        try await FeatureServer(authenticator: KeyAuthenticator(users: ["8d1f…": "ann"])) {
            Tally().requires { $0.subject == "ann" }
        }.run()
    }

    func metrics() async throws {
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        try await FeatureServer(metrics: registry) { Tally() }.run()
    }

    // MARK: Keyed features

    struct OrderDetail: Feature {
        struct State: Codable, Equatable, Sendable {
            let id: String
            var isOpen = true
        }
        enum Intent: Codable, Sendable { case close }
        static let examples: [Intent] = [.close]
        let initialState: State

        init(id: String) { initialState = State(id: id) }

        func reduce(_ state: inout State, _ intent: Intent) { state.isOpen = false }
    }

    func keyed() -> FeatureServer {
        FeatureServer {
            Keyed(examples: ["42"]) { OrderDetail(id: $0) }
        }
    }

    func owned(_ orders: [String: String]) -> FeatureServer {
        FeatureServer {
            Keyed<OrderDetail> { id, context in
                guard let owner = orders[id] else { return nil }
                guard context.session.subject?.id == owner else {
                    throw Refusal(.forbidden, code: "other-owner", "The order belongs to another customer.")
                }
                return OrderDetail(id: id)
            }
        }
    }

    // MARK: Outside

    struct Payment: Codable, Sendable { let id, session: String }

    struct Checkout: Feature {
        struct State: Codable, Equatable, Sendable { var payment = "" }
        enum Intent: Codable, Sendable { case cancel }
        enum Action: Codable, Sendable { case paid(String) }
        enum Message: Sendable { case paid(String), cancelled }
        static let examples: [Intent] = [.cancel]
        let initialState = State()

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch(.cancelled) }

        func perform(_ action: Action, _ turn: inout Turn<Self>) {
            switch action {
            case .paid(let payment): turn.dispatch(.paid(payment))
            }
        }

        func reduce(_ state: inout State, _ message: Message) {
            switch message {
            case .paid(let payment): state.payment = payment
            case .cancelled: state.payment = ""
            }
        }
    }

    func isGood(_ signature: String, _ body: [UInt8]) -> Bool { false }

    func endpoint() async throws {
        try await FeatureServer {
            Checkout()
            Endpoint(.post, "/webhooks/payment") { request, sessions in
                guard let signature = request.field("Payment-Signature"),
                    isGood(signature, request.body)
                else {
                    throw Refusal(
                        .forbidden, code: "bad-signature", "The signature is not the provider's.")
                }
                let payment = try request.decode(Payment.self)
                try await sessions.perform(
                    .paid(payment.id), on: Checkout.self, session: payment.session, once: payment.id)
                return .noContent
            }
        }.run()
    }

    struct SessionList: Feature {
        struct State: Codable, Equatable, Sendable {}
        enum Intent: Codable, Sendable { case refresh }
        static let examples: [Intent] = [.refresh]
        let initialState = State()
        let sessions: SessionDirectory

        func reduce(_ state: inout State, _ intent: Intent) {}
    }

    func directory() async throws {
        try await FeatureServer { sessions in
            SessionList(sessions: sessions).requires { $0.claim("role") == "admin" }
        }.run()
    }

    func types() throws {
        let types = try FeatureServer { Tally() }.types()
        print(types.source(in: .typeScript))
    }
    // snippet.hide
}
