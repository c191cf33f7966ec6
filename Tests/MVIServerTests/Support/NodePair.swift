import Locking
import MVI
import MVITesting
import MicroHTTP
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer
@testable import PostgresServer

/// The world of several nodes: one journal, and the transport between them.
struct Nodes: Sendable {
    let cluster = NodeJournal.Cluster()
    let peers: RecordingPeers
}

/// Two servers on one journal, with leases of their own. `near` receives requests, and `far` owns the sessions that
/// `session` makes, because it runs work of them. Held by script/gate nodes with two released programs.
struct NodePair: Sendable {
    let near: TestServer
    let far: TestServer
    /// The requests for clients that the nodes sent to each other, as they were sent.
    let recorder: RecordingPeers

    /// Runs a test on two servers.
    ///
    /// - Parameters:
    ///   - change: changes forwarded requests.
    ///   - more: more features of both.
    ///   - farSettings: the settings of the owner.
    static func run(
        _ depth: Depth, near: (inout ServerSettings) -> Void = { _ in },
        far farSettings: (inout ServerSettings) -> Void = { _ in },
        change: @escaping @Sendable (PeerRequest) -> PeerRequest = { $0 }, with more: ServerContent = ServerContent(),
        _ test: (NodePair) async throws -> Void
    ) async throws {
        let world = World()
        let keeping = Gate()
        let nodes = Nodes(peers: RecordingPeers(depth, change))
        let content: (Gate) throws -> ServerContent = { Self.content($0, keeping, more) }
        do {
            try await TestServer.run(depth, in: world, nodes: nodes, content: content, farSettings) { far in
                try await TestServer.run(depth, in: world, nodes: nodes, content: content, near) { near in
                    defer { keeping.open() }
                    try await test(NodePair(near: near, far: far, recorder: nodes.peers))
                }
            }
        } catch {
            await nodes.peers.close()
            throw error
        }
        await nodes.peers.close()
    }

    @FeatureBuilder
    private static func content(_ gate: Gate, _ keeping: Gate, _ more: ServerContent) -> ServerContent {
        TestServer.probes(gate)
        more
        Keeper(gate: keeping)
    }

    /// Makes a session with one turn, whose owner `far` is from then on, since it runs work of it.
    func session(byCookie: Bool = false) async throws -> Credential {
        let session = try await byCookie ? far.cookieSession() : far.session()
        try await keep(session)
        #expect(try await far.send(session.intent(#"{"type":"increment"}"#)).status == 202)
        #expect(try await near.send(session.request("GET", "/features/probe/state")).status == 200)
        return session
    }

    /// Makes `far` the session's owner.
    func keep(_ session: Credential) async throws {
        #expect(try await far.send(session.intent(#"{"type":"keep"}"#, to: "keeper")).status == 202)
        meet()
    }

    /// Renews both leases, so that the nodes know each other.
    func meet() { for node in [far, near] { node.beat() } }

    /// Advances both nodes by some seconds, in which they renew their leases.
    func pass(_ seconds: Int) {
        for _ in 0..<seconds {
            near.time.advance(by: .seconds(1))
            meet()
        }
    }

    /// Notifies `near` of the owner's appends.
    func catchUp(_ session: Credential) async throws {
        let live = try near.live(session)
        await awaitResult { done in live.catchUp { done(()) } }
    }

    /// Returns the answer to a request, and advances the time of `near` meanwhile.
    func sendOverTime(_ request: TestRequest) async throws -> TestResponse {
        try await near.overTime { try await near.send(request) }
    }
}

/// A feature whose work makes a node the owner of the session.
private struct Keeper: Feature {
    struct State: Codable, Equatable, Sendable {}
    enum Intent: Codable, Sendable { case keep }
    static let examples: [Intent] = [.keep]
    let initialState = State()
    let gate: Gate

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        turn.launch { [gate] _ in try await gate.wait() }
    }

    func reduce(_ state: inout State, _ intent: Intent) {}
}

/// Carries requests between nodes, and records those for clients.
final class RecordingPeers: PeerTransport {
    private let depth: Depth
    private let sockets = HTTPPeerTransport()
    private let change: @Sendable (PeerRequest) -> PeerRequest
    private let kept = Lock<[PeerRequest]>([])
    private let applications = Lock<[String: Application]>([:])
    private let redirection = Lock<String?>(nil)

    init(_ depth: Depth, _ change: @escaping @Sendable (PeerRequest) -> PeerRequest = { $0 }) {
        (self.depth, self.change) = (depth, change)
    }

    /// The requests before they were changed.
    var sent: [PeerRequest] { kept.withLock { $0 } }

    func register(_ server: TestServer) {
        applications.withLock { $0[server.address] = server.assembly.application }
    }

    /// Leads every request to this address from now on.
    func redirect(to address: String) { redirection.withLock { $0 = address } }

    func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        let address = redirection.withLock { $0 } ?? address
        guard !request.target.hasPrefix("/nodes/") else { return try await pass(request, to: address) }
        kept.withLock { $0.append(request) }
        return try await pass(change(request), to: address)
    }

    private func pass(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        guard depth == .memory else { return try await sockets.send(request, to: address) }
        guard let application = applications.withLock({ $0[address] }) else {
            throw PeerError(.notSent, "no node has the address \(address)")
        }
        return try await MemoryPeer(application: application).send(request, to: address)
    }

    func close() async { await sockets.close() }
}
