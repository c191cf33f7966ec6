import TestSupport
import Locking
import Logging
import MVI
import MVITesting
import MicroHTTP
import SessionJournal
import Sessions
import Testing

@testable import MVIServer

/// A server with the test features, used in memory or over a socket.
struct TestServer: Sendable {
    let assembly: Assembly
    let client: any Client
    /// Of a server that is the only one of its journal.
    let journal: HeldJournal
    /// Of a node.
    let shared: NodeJournal?
    let time: ManualTime
    let clock: ManualClock
    let gate: Gate

    var sessions: SessionTable { assembly.sessions }
    var port: UInt16 { assembly.http.port }

    static let page = [
        PageResource(path: "/", contentType: "text/html; charset=utf-8", bytes: Array("<!doctype html>".utf8)),
        PageResource(path: "/style.css", contentType: "text/css; charset=utf-8", bytes: Array("p {}".utf8)),
    ]

    @FeatureBuilder
    static func probes(_ gate: Gate) -> ServerContent {
        Probe(gate: gate)
        Keyed { try Item(id: $0) }
    }

    /// Runs a test on its own server, and stops it afterwards. Over a socket it listens on a free port.
    ///
    /// - Parameters:
    ///   - world: the disk and the time, which survive the server. Reuse it for a restart or another node.
    ///   - nodes: makes the server one of several nodes on the world's journal.
    ///   - systemd: notifies systemd.
    ///   - observation: the destination of metrics and traces.
    ///   - accessLog: logs each answer; nil for none.
    static func run<Result>(
        _ depth: Depth, in world: World = World(), directory: SessionDirectory = SessionDirectory(),
        authenticator: (any Authenticator)? = nil, nodes: Nodes? = nil, systemd: SystemdNotifier? = nil,
        observation: ServerObservation = ServerObservation(), accessLog: Logger? = nil,
        content: (Gate) throws -> ServerContent = Self.probes, _ change: (inout ServerSettings) -> Void = { _ in },
        _ test: (TestServer) async throws -> Result
    ) async throws -> Result {
        var settings = ServerSettings()
        settings.port = 0
        settings.grace = .seconds(5)
        change(&settings)
        let (journal, time, clock, gate) = (HeldJournal(world.kept), world.time, ManualClock(), Gate())
        let shared = nodes.map { NodeJournal(world.kept, $0.cluster) }
        let source = world.start()
        let assembly = try Assembly(
            try content(gate), settings: settings,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), page: page,
            authenticator: authenticator, directory: directory, peers: nodes?.peers, systemd: systemd,
            observation: observation, accessLog: accessLog,
            adapt: { parts in
                SessionEnvironment(
                    features: parts.features, limits: parts.limits, journal: shared ?? journal, time: source,
                    clock: clock,
                    middleware: parts.middleware, metrics: parts.metrics, tracer: parts.tracer, report: parts.report)
            })
        if depth == .socket { try assembly.http.start() }
        let server = TestServer(
            assembly: assembly,
            client: depth == .memory
                ? MemoryClient(application: assembly.application) as any Client
                : SocketClient(port: assembly.http.port),
            journal: journal, shared: shared, time: time, clock: clock, gate: gate)
        nodes?.peers.register(server)
        if shared != nil {
            NodeService(assembly).connect()
            assembly.sessions.listen()
            server.beat()
        }
        do {
            let result = try await test(server)
            await server.stop(depth)
            return result
        } catch {
            await server.stop(depth)
            throw error
        }
    }

    private func stop(_ depth: Depth) async {
        gate.open()
        journal.release()
        journal.releaseLoads()
        sessions.drain()
        if depth == .socket { await assembly.http.shutdown(grace: .seconds(2)) }
    }

    /// Sends a request, and checks its answer against the contract.
    func send(_ request: TestRequest) async throws -> TestResponse {
        let response = try await client.exchange(request)
        Contract.check(request, response)
        return response
    }

    /// The header field of a new session with a bearer token.
    func session() async throws -> Credential {
        let response = try await send(TestRequest("POST", "/sessions"))
        try #require(response.status == 201)
        struct Made: Decodable {
            var id: String
            var token: String
        }
        let made = try response.json(Made.self)
        return Credential(id: made.id, field: ("Authorization", "Bearer \(made.token)"), secret: made.token)
    }

    /// The header field of a new session with a cookie.
    func cookieSession() async throws -> Credential {
        let response = try await send(
            TestRequest(
                "POST", "/sessions", [("Content-Type", "application/json")], body: #"{"credential":"cookie"}"#))
        try #require(response.status == 201)
        struct Made: Decodable { var id: String }
        let cookie = try #require(response["set-cookie"]).prefix { $0 != ";" }
        return Credential(
            id: try response.json(Made.self).id, field: ("Cookie", String(cookie)),
            secret: String(cookie.drop { $0 != "=" }.dropFirst()))
    }

    /// Its record in the journal, for other nodes.
    func record() throws -> NodeRecord {
        NodeRecord(id: try #require(sessions.environment.lease?.id), address: address)
    }

    /// The address at which other nodes reach it. In memory its port is that of no socket.
    var address: String {
        port != 0 ? assembly.nodeAddress : "\(ObjectIdentifier(assembly.application)):1"
    }

    /// Does the work of `NodeService` for one second: renews the node's lease.
    func beat() { sessions.beat(at: address) }

    /// Runs a body, and advances the clock meanwhile. A step lasts as long as a request and its answer: otherwise hours of
    /// the clock pass on a busy machine before a byte reaches its reader.
    func overTime<Value>(_ body: () async throws -> Value) async throws -> Value {
        let mover = Task {
            while !Task.isCancelled {
                await clock.sleepers()
                clock.advance(by: .milliseconds(100))
                if shared != nil { beat() }
                guard try await isServing() else { return }
            }
        }
        func end() async {
            mover.cancel()
            _ = await mover.result
        }
        do {
            let result = try await body()
            await end()
            return result
        } catch {
            await end()
            throw error
        }
    }

    /// The journal's membership of nodes.
    func secret() throws -> JournalSecret {
        let found = Lock<JournalSecret?>(nil)
        // The journal in memory answers at once.
        journal.secret { result in found.withLock { $0 = try? result.get() } }
        return try #require(found.withLock { $0 })
    }

    /// The session.
    func live(_ session: Credential) throws -> Session {
        let token = try #require(SessionToken(session.secret))
        // The journal in memory answers at once.
        let found = Lock<SessionLookup?>(nil)
        sessions.find(token) { lookup in found.withLock { $0 = lookup } }
        guard case .live(let live, _) = found.withLock({ $0 }) else { throw Gone() }
        return live
    }

    struct Gone: Error {}

    /// Advances the time until an unused session leaves memory.
    func leaveMemory() throws {
        time.advance(by: sessions.environment.limits.evictAfter)
        sessions.sweep(part: 1)
        try #require(sessions.count == 0)
    }

    /// Advances the time until an unused store leaves memory, but not its session, which is in use.
    func passivateStores(of session: Credential) async throws {
        time.advance(by: sessions.environment.limits.passivateAfter)
        _ = try await send(session.request("GET", "/sessions/current"))
        sessions.sweep(part: 1)
        try #require(sessions.liveStoreCount == 0 && sessions.count > 0)
    }

    /// Returns true if the server still answers, which it must after each refusal.
    func isServing() async throws -> Bool {
        try await send(TestRequest("GET", "/health/live")).status == 200
    }
}

/// The credential of a session's requests.
struct Credential: Sendable {
    let id: String
    let field: (name: String, value: String)
    let secret: String

    func request(
        _ method: String, _ target: String, _ fields: [(name: String, value: String)] = [], body: String = ""
    ) -> TestRequest {
        TestRequest(method, target, [field] + fields, body: body)
    }

    func intent(
        _ json: String, _ fields: [(name: String, value: String)] = [], to feature: String = "probe"
    ) -> TestRequest {
        request(
            "POST", "/features/\(feature)/intents", [("Content-Type", "application/json")] + fields, body: json)
    }
}

/// The disk and the time, which survive a server.
struct World: Sendable {
    let kept: MemoryJournal
    let time = ManualTime()
    private let starts = Lock(0)

    init(kept: MemoryJournal = MemoryJournal()) { self.kept = kept }

    /// The time of the next server in this world: its monotonic clock starts again, as after a reboot.
    func start() -> TimeSource {
        let start = starts.withLock { starts in
            defer { starts += 1 }
            return starts
        }
        return time.source(monotonicStart: .seconds(100_000 * start))
    }
}

/// A manual clock.
final class ManualTime: Sendable {
    /// The initial value of a clock that counts from the computer's start.
    private static let start: Duration = .seconds(1_000)
    /// The initial time of every test: time since 1970.
    static let beginning: Duration = .seconds(1_767_313_000)
    private let now = Lock(start)

    func advance(by duration: Duration) { now.withLock { $0 += duration } }

    func source(monotonicStart: Duration) -> TimeSource {
        TimeSource(
            monotonic: { [self] in monotonicStart + now.withLock { $0 } },
            sinceEpoch: { [self] in Self.beginning - Self.start + now.withLock { $0 } })
    }
}

extension TestServer {
    /// A server in memory on a journal of its own, which does not listen.
    init(
        on journal: any Journal, _ content: ServerContent, _ settings: ServerSettings, authenticator: any Authenticator
    ) throws {
        let (time, clock) = (ManualTime(), ManualClock())
        let assembly = try Assembly(
            content, settings: settings, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            authenticator: authenticator,
            adapt: { parts in
                SessionEnvironment(
                    features: parts.features, limits: parts.limits, journal: journal,
                    time: time.source(monotonicStart: .zero), clock: clock,
                    middleware: parts.middleware, metrics: parts.metrics, tracer: parts.tracer, report: parts.report)
            })
        self.init(
            assembly: assembly, client: MemoryClient(application: assembly.application), journal: HeldJournal(),
            shared: nil, time: time, clock: clock, gate: Gate())
    }
}
