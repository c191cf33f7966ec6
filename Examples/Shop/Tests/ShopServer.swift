import AsyncHTTPClient
import EventStream
import Locking
import Logging
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing
import WireJSON

@testable import MVIServer
@testable import shop

/// The shop on a free port, with a time that a test moves, and JWTs that are plain words.
struct ShopServer: Sendable {
    /// What outlives a server.
    struct World: Sendable {
        let journal = MemoryJournal()
        let time = Lock(Duration.seconds(1_800_000_000))
        let analytics = Collected<Analytics.Entry>()

        func advance(by duration: Duration) { time.withLock { $0 += duration } }

        /// How often somebody did something that begins so.
        func count(of action: String) -> Int { analytics.all.count { $0.what.hasPrefix(action) } }
    }

    /// Takes `ann` and `ann premium` and `ada admin`.
    struct Words: Authenticator {
        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            let words = (proof.identity ?? "").split(separator: " ").map(String.init)
            guard let name = words.first else { throw AuthenticationError(.rejected, "There is no name.") }
            let claims: [String: [ClaimName: ClaimValue]] = [
                "premium": ["tier": "premium"], "admin": ["role": "admin"],
            ]
            return Principal(issuer: "test", subject: name, claims: claims[words.last ?? ""] ?? [:])
        }
    }

    static let paymentSecret = "the provider's secret"

    let world: World
    let journal: HeldJournal
    let assembly: Assembly

    var sessions: SessionTable { assembly.sessions }

    /// Runs a test on a server, and stops it after. A world that is given again is a server that was started again.
    static func run(
        in world: World = World(), services: Services = .test(), development: Development? = nil,
        authenticator: any Authenticator = Words(), _ test: (ShopServer) async throws -> Void
    ) async throws {
        var settings = ServerSettings()
        settings.port = 0
        let (journal, directory) = (HeldJournal(world.journal), SessionDirectory())
        let shop = Shop(
            services: services, paymentSecret: paymentSecret,
            now: { Timestamp(sinceEpoch: world.time.withLock { $0 }) }, development: development)
        let assembly = try Assembly(
            shop.content(directory), settings: settings,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            middleware: [Analytics { world.analytics.append($0) }], page: Shop.page, authenticator: authenticator,
            directory: directory,
            adapt: { parts in
                SessionEnvironment(
                    features: parts.features, limits: parts.limits, journal: journal,
                    time: TimeSource(
                        monotonic: { world.time.withLock { $0 } }, sinceEpoch: { world.time.withLock { $0 } }),
                    middleware: parts.middleware)
            })
        try assembly.http.start()
        let server = ShopServer(world: world, journal: journal, assembly: assembly)
        let result = await Result { try await test(server) }
        journal.release()
        assembly.sessions.drain()
        await assembly.http.shutdown(grace: .seconds(2))
        try result.get()
    }

    /// Fires the reminders that are due.
    func fireReminders() async { _ = await sessions.fireDueReminders() }

    func send(
        _ method: String, _ path: String, _ body: String = "", fields: [(String, String)] = []
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(assembly.http.port)\(path)")
        request.method = .init(rawValue: method)
        request.headers.add(contentsOf: fields)
        if !body.isEmpty {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(Array(body.utf8))
        }
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        let bytes = try await response.body.collect(upTo: 1 << 20)
        return Answer(status: Int(response.status.code), body: Array(bytes.readableBytesView))
    }

    /// A device with a session: a new one, or with `shared` its owner's.
    func device(_ identity: String? = nil, isShared: Bool = false) async throws -> Device {
        let body = identity.map { #"{"identity":"\#($0)","shared":\#(isShared)}"# } ?? ""
        let answer = try await send("POST", "/sessions", body)
        try #require(answer.status == 201)
        return Device(server: self, session: try answer.read(Device.Session.self))
    }
}

/// An answer as a client reads it.
struct Answer: Sendable {
    let status: Int
    let body: [UInt8]

    private struct Code: Decodable { let code: String? }

    /// A refusal's code.
    var code: String? { (try? read(Code.self))?.code }

    func read<T: Decodable>(_ type: T.Type) throws -> T { try WireJSON.decode(type, from: body) }
}

/// A client with a session by token.
struct Device: Sendable {
    struct Session: Decodable, Sendable {
        let id: String
        var token: String?
    }

    let server: ShopServer
    var session: Session

    private var field: (String, String) { ("Authorization", "Bearer \(session.token ?? "")") }

    @discardableResult
    func send(_ intent: String, to feature: String) async throws -> Answer {
        try await server.send(
            "POST", "/features/\(feature)/intents", intent, fields: [field, ("Prefer", "return=representation")])
    }

    func state<State: Decodable>(_ type: State.Type, of feature: String) async throws -> State {
        try await state(of: feature).read(type)
    }

    func state(of feature: String) async throws -> Answer {
        try await server.send("GET", "/features/\(feature)/state", fields: [field])
    }

    func cart() async throws -> [String: Int] {
        let lines = try await state(Cart.ViewState.self, of: "cart:tea").lines
        return Dictionary(lines.map { ($0.id, $0.count) }) { $1 }
    }

    func orders() async throws -> [Checkout.Order] { try await state(Checkout.State.self, of: "checkout:tea").orders }

    /// Signs in, or renews who is signed in.
    mutating func identify(_ identity: String) async throws -> Answer {
        let answer = try await server.send(
            "PUT", "/sessions/current/identity", #"{"identity":"\#(identity)"}"#, fields: [field])
        if let token = try answer.read(Session.self).token { session.token = token }
        return answer
    }

    func events(of features: String...) async throws -> Events {
        var request = HTTPClientRequest(
            url: "http://127.0.0.1:\(server.assembly.http.port)/events?"
                + features.map { "feature=\($0)" }.joined(separator: "&"))
        request.headers.add(name: field.0, value: field.1)
        let response = try await HTTPClient.shared.execute(request, timeout: .seconds(60))
        try #require(response.status == .ok)
        return Events(body: response.body.makeAsyncIterator())
    }
}

/// A stream's events, in order.
struct Events {
    struct Ended: Error {}

    var body: HTTPClientResponse.Body.AsyncIterator
    private var parser = EventParser()
    private var waiting: [String] = []

    init(body: HTTPClientResponse.Body.AsyncIterator) { self.body = body }

    /// The data of the next event of that name which has a text in it; those before it are dropped.
    @discardableResult
    mutating func next(_ name: String, _ text: String = "") async throws -> String {
        while true {
            while !waiting.isEmpty {
                let event = waiting.removeFirst()
                if event.hasPrefix("\(name) "), text.isEmpty || event.contains(text) { return event }
            }
            guard let bytes = try await body.next() else { throw Ended() }
            for event in try parser.feed(Array(bytes.readableBytesView)) {
                waiting.append("\(event.name) \(String(decoding: event.data, as: UTF8.self))")
            }
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
