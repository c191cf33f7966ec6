import Locking
import MVITesting
import MicroHTTP
import SessionJournal
import Sessions
import Testing

@testable import MVIServer
@testable import PostgresServer

/// Two servers on one journal. `near` receives requests, and `far` owns every session. Appends of `near` are refused
/// with `.elsewhere` until the test changes this.
struct NodePair: Sendable {
    let near: TestServer
    let far: TestServer
    /// The requests that `near` sent, as they were sent.
    let recorder: RecordingPeers

    /// Runs a test on two servers.
    ///
    /// - Parameters:
    ///   - change: changes forwarded requests. Nil, the default: the node is not reachable.
    ///   - farSettings: the settings of the owner.
    static func run(
        _ depth: Depth, near: (inout ServerSettings) -> Void = { _ in },
        far farSettings: (inout ServerSettings) -> Void = { _ in },
        change: @escaping @Sendable (PeerRequest) -> PeerRequest = { $0 },
        _ test: (NodePair) async throws -> Void
    ) async throws {
        let world = World()
        let unused = ScriptedPeers()
        // The owner regards the other node as the owner after it has lost the ownership.
        let nearAddress = Lock<NodeRecord?>(nil)
        try await TestServer.run(
            depth, in: world, peers: unused, owner: { nearAddress.withLock { $0 } }, farSettings
        ) { far in
            let transport: any PeerTransport =
                depth == .memory ? MemoryPeer(application: far.assembly.application) : HTTPPeerTransport()
            let recorder = RecordingPeers(transport, change)
            let record = try far.record()
            do {
                try await TestServer.run(depth, in: world, peers: recorder, owner: { record }, near) { near in
                    let nearRecord = try near.record()
                    nearAddress.withLock { $0 = nearRecord }
                    try await test(NodePair(near: near, far: far, recorder: recorder))
                }
            } catch {
                await recorder.close()
                throw error
            }
            await recorder.close()
            #expect(unused.asked.isEmpty)
        }
    }

    /// Makes a session with one turn, which the owner ran. From then on `near` runs no turns of it.
    func session(byCookie: Bool = false) async throws -> Credential {
        let session = try await byCookie ? far.cookieSession() : far.session()
        #expect(try await far.send(session.intent(#"{"type":"increment"}"#)).status == 202)
        #expect(try await near.send(session.request("GET", "/features/probe/state")).status == 200)
        near.journal.fail(.elsewhere)
        return session
    }

    /// Notifies `near` of the owner's appends.
    func catchUp(_ session: Credential) async throws {
        let live = try near.live(session)
        await awaitResult { done in live.catchUp { done(()) } }
    }

    /// Returns the answer to a request, and advances the time of `near` meanwhile.
    func sendOverTime(_ request: TestRequest) async throws -> TestResponse {
        let clock = near.clock
        let mover = Task {
            while !Task.isCancelled {
                await clock.sleepers()
                clock.advance(by: .milliseconds(100))
            }
        }
        defer { mover.cancel() }
        return try await near.send(request)
    }
}

/// Forwards requests to other nodes, and records them.
final class RecordingPeers: PeerTransport {
    private let transport: any PeerTransport
    private let change: @Sendable (PeerRequest) -> PeerRequest
    private let kept = Lock<[PeerRequest]>([])

    init(_ transport: any PeerTransport, _ change: @escaping @Sendable (PeerRequest) -> PeerRequest) {
        (self.transport, self.change) = (transport, change)
    }

    /// The requests before they were changed.
    var sent: [PeerRequest] { kept.withLock { $0 } }

    func send(_ request: PeerRequest, to address: String) async throws(PeerError) -> PeerResponse {
        kept.withLock { $0.append(request) }
        return try await transport.send(change(request), to: address)
    }

    func close() async { await transport.close() }
}
