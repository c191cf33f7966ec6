import Locking
import MVITesting
import MicroHTTP
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer
@testable import PostgresServer

@Suite("Requests that nodes make for themselves", .timeLimit(.minutes(1)))
struct NodeEndpointTests {
    /// Records requests.
    private final class Notes: NodeRequests {
        let watched = Lock<[(node: NodeID, sessions: [WatchedSession])]>([])
        let given = Lock<[TokenHash]>([])
        let owned: TokenHash

        init(owned: TokenHash) { self.owned = owned }

        func watched(by node: NodeID, _ sessions: [WatchedSession]) async {
            watched.withLock { $0.append((node, sessions)) }
        }

        func giveAway(session token: TokenHash) async -> Bool {
            given.withLock { $0.append(token) }
            return token == owned
        }
    }

    private static let other = NodeRecord(id: NodeID(5), address: "a:1")

    private static func hash(_ byte: UInt8) -> TokenHash { TokenHash([UInt8](repeating: byte, count: 32)) }

    /// Runs a test with a server, and a client of another node for it.
    private func run(
        _ depth: Depth, _ settings: (inout ServerSettings) -> Void = { _ in },
        _ test: (TestServer, PeerClient, NodeRecord) async throws -> Void
    ) async throws {
        try await TestServer.run(depth, peers: ScriptedPeers(), settings) { server in
            let transport: any PeerTransport =
                depth == .memory ? MemoryPeer(application: server.assembly.application) : HTTPPeerTransport()
            let environment = server.sessions.environment
            let link = NodeLink(NodeID(77), transport, environment)
            do { try await test(server, link.client, try server.record()) } catch {
                await transport.close()
                throw error
            }
            await transport.close()
        }
    }

    @Test("watched stores arrive completely, with their sender", arguments: Depth.allCases)
    func watchers(depth: Depth) async throws {
        try await run(depth) { server, client, record in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let sessions = [
                WatchedSession(
                    token: Self.hash(1),
                    features: [FeatureID(name: "probe", key: nil), FeatureID(name: "item", key: "1")]),
                WatchedSession(token: Self.hash(255), features: []),
            ]
            try await client.send(watched: sessions, to: record)
            let noted = notes.watched.withLock { $0 }
            #expect(noted.map(\.node) == [NodeID(77)] && noted.first?.sessions == sessions)
            try await client.send(watched: [], to: record)
            #expect(notes.watched.withLock { $0.count } == 1)
        }
    }

    @Test("many sessions are sent in several requests of a bounded size", arguments: Depth.allCases)
    func manyWatchers(depth: Depth) async throws {
        try await run(depth, { $0.bodyLimit = 1_024 }) { server, client, record in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let features = (0..<64).map { FeatureID(name: "item", key: "\($0)\(String(repeating: "k", count: 60))") }
            let sessions = (0..<300).map { number in
                WatchedSession(token: Self.hash(UInt8(number % 256)), features: features)
            }
            try await client.send(watched: sessions, to: record)
            let noted = notes.watched.withLock { $0 }
            #expect(noted.count > 1 && noted.flatMap(\.sessions) == sessions)
        }
    }

    @Test("a node gives up a session that it owns, and returns false for another session", arguments: Depth.allCases)
    func giveAway(depth: Depth) async throws {
        try await run(depth) { server, client, record in
            await #expect(throws: PeerError.self) { _ = try await client.askToGiveAway(Self.hash(1), from: record) }
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            #expect(try await client.askToGiveAway(Self.hash(1), from: record))
            #expect(try await !client.askToGiveAway(Self.hash(2), from: record))
            #expect(notes.given.withLock { $0 } == [Self.hash(1), Self.hash(2)])
        }
    }

    @Test(arguments: Depth.allCases)
    func `requests for another node have no effect`(depth: Depth) async throws {
        try await run(depth) { server, client, record in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let other = NodeRecord(id: NodeID(5), address: record.address)
            await #expect(throws: PeerError.self) { _ = try await client.askToGiveAway(Self.hash(1), from: other) }
            await #expect(throws: PeerError.self) {
                try await client.send(watched: [WatchedSession(token: Self.hash(1), features: [])], to: other)
            }
            #expect(notes.given.withLock { $0.isEmpty } && notes.watched.withLock { $0.isEmpty })
        }
    }

    @Test("other callers get 404", arguments: Depth.allCases, ["watchers", "give-away", "x"])
    func strangers(depth: Depth, path: String) async throws {
        try await run(depth) { server, _, _ in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let session = try await server.session()
            for method in ["GET", "POST", "DELETE", "OPTIONS", "HEAD"] {
                for stamp in [nil, "1 2 unknown 3 4"] {
                    var request = session.request(method, "/nodes/\(path)", [("Content-Type", "application/json")])
                    if let stamp { request = request.with(NodeStamp.shownField, stamp) }
                    #expect(try await server.send(request).status == 404)
                }
            }
            #expect(notes.given.withLock { $0.isEmpty } && notes.watched.withLock { $0.isEmpty })
        }
    }

    @Test("a server without other nodes knows neither the paths nor the field", arguments: Depth.allCases)
    func alone(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            #expect(server.assembly.link == nil)
            let seal = NodeSeal(try server.secret())
            let stamp = NodeStamp(
                node: NodeID(1), receiver: NodeID(2), time: Int64(ManualTime.beginning.components.seconds) * 1_000,
                client: .unknown,
                bodyHash: NodeSeal.hash([]))
            let fields = [("host", "localhost")]
            let value = seal.seal(stamp, method: "POST", target: NodeEndpoints.giveAway, fields: fields)
            let request = TestRequest("POST", NodeEndpoints.giveAway, fields + [(NodeStamp.shownField, value)])
            #expect(try await server.send(request).status == 404)
        }
    }

    @Test(
        "a malformed body is refused",
        arguments: [
            (NodeEndpoints.watchers, "{"), (NodeEndpoints.watchers, #"{"sessions":[{"token":"12","features":[]}]}"#),
            (
                NodeEndpoints.watchers,
                #"{"sessions":[{"token":"\#(String(repeating: "0", count: 64))","features":["A B"]}]}"#
            ),
            (NodeEndpoints.giveAway, "{}"), (NodeEndpoints.giveAway, #"{"session":"xyz"}"#),
        ])
    func malformed(path: String, body: String) async throws {
        try await run(.memory) { server, client, record in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let answer = try await client.send(
                PeerRequest(
                    method: "POST", target: path, fields: [], body: Array(body.utf8), timeout: .seconds(5),
                    longestAnswer: 1_000), for: .unknown, to: record)
            #expect(answer.status == 400)
            #expect(notes.given.withLock { $0.isEmpty } && notes.watched.withLock { $0.isEmpty })
        }
    }

    @Test("an unreadable secret of the journal is read again")
    func secret() async throws {
        let journal = HeldJournal()
        journal.fail(.unavailable)
        let environment = SessionEnvironment(features: try FeatureRegistry([]), journal: journal)
        let peers = ScriptedPeers(then: { _ in .answer(204) })
        let link = NodeLink(NodeID(1), peers, environment)
        await #expect(throws: PeerError.self) {
            _ = try await link.client.askToGiveAway(Self.hash(1), from: Self.other)
        }
        #expect(peers.asked.isEmpty)
        journal.fail(nil)
        #expect(try await link.client.askToGiveAway(Self.hash(1), from: Self.other))
    }
}
