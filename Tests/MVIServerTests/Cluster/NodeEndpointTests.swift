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

@Suite("Requests that nodes make for themselves", .timeLimit(.minutes(1)))
struct NodeEndpointTests {
    /// Records requests.
    private final class Notes: NodeRequests {
        let watched = Lock<[(node: NodeID, sessions: [WatchedSession])]>([])
        let present = Lock<[PresenceReport]>([])
        let given = Lock<[TokenHash]>([])
        let owned: TokenHash

        init(owned: TokenHash) { self.owned = owned }

        func watched(by node: NodeID, _ sessions: [WatchedSession]) async {
            watched.withLock { $0.append((node, sessions)) }
        }

        func present(on node: NodeID, _ reports: [PresenceReport]) async { present.withLock { $0 += reports } }

        let told = Lock<[(message: ToldMessage, token: TokenHash)]>([])
        /// What becomes of messages.
        let outcome = Lock<TurnOutcome>(.ran)

        func deliver(_ message: ToldMessage, to token: TokenHash) async -> TurnOutcome {
            told.withLock { $0.append((message, token)) }
            return outcome.withLock { $0 }
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
        _ test: (TestServer, PeerClient, NodeRecord, NodeID) async throws -> Void
    ) async throws {
        let (world, nodes) = (World(), Nodes(peers: RecordingPeers(depth)))
        try await TestServer.run(depth, in: world, nodes: nodes, settings) { server in
            let other = try TestNode(in: world, nodes.cluster)
            server.beat()
            let link = try #require(NodeLink(nodes.peers, other.environment))
            do { try await test(server, link.client, try server.record(), #require(other.id)) } catch {
                await nodes.peers.close()
                throw error
            }
            await nodes.peers.close()
        }
    }

    @Test("watched stores arrive completely, with their sender", arguments: Depth.allCases)
    func watchers(depth: Depth) async throws {
        try await run(depth) { server, client, record, sender in
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
            #expect(noted.map(\.node) == [sender] && noted.first?.sessions == sessions)
            try await client.send(watched: [], to: record)
            #expect(notes.watched.withLock { $0.count } == 1)
        }
    }

    @Test("87: a message arrives completely, and what became of it goes back", arguments: Depth.allCases)
    func messages(depth: Depth) async throws {
        try await run(depth) { server, client, record, _ in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let message = ToldMessage(
                to: FeatureID(name: "item", key: "1"), action: Array(#"{"type":"paid","order":"ä\n"}"#.utf8),
                heard: HeardMessage(sender: [UInt8](0..<16), number: 1 << 60),
                origin: MessageOrigin(session: "s-1", number: 7, hops: 16), isLastTry: true)
            guard case .ran = try await client.send(message, to: Self.hash(3), on: record) else {
                Issue.record("it ran")
                return
            }
            let told = try #require(notes.told.withLock { $0.first })
            #expect(told.message.feature == message.feature && told.message.action == message.action)
            #expect(told.message.heard == message.heard && told.message.isLastTry && told.token == Self.hash(3))
            #expect(told.message.origin.session == "s-1" && told.message.origin.number == 7)
            #expect(told.message.origin.hops == 16)
            let error = StoreError(.conflict, "It says no.")
            let outcomes: [(TurnOutcome, String)] = [
                (.replayed, "ran"), (.refused(error), "refused"), (.failed(error, thrown: error, nil), "failed"),
                (.unavailable(error), "unavailable"), (.elsewhere(error), "elsewhere"), (.dropped, "unavailable"),
            ]
            for (outcome, name) in outcomes {
                notes.outcome.withLock { $0 = outcome }
                let answer = try await client.send(message, to: Self.hash(3), on: record)
                #expect("\(answer)".hasPrefix(name))
                if let error = outcome.error {
                    #expect(answer.error?.code == error.code && answer.error?.detail == error.detail)
                }
            }
        }
    }

    @Test("the clients that look at a store arrive completely", arguments: Depth.allCases)
    func presence(depth: Depth) async throws {
        try await run(depth) { server, client, record, _ in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let shown = Array(#"{"name":"\"ann\" é"}"#.utf8)
            let faces = [Face(id: "a~3", since: 1_767_313_000_123, shown: shown), Face(id: "b", since: 5, shown: nil)]
            let reports = [faces, []].enumerated().map { place, faces in
                PresenceReport(session: Self.hash(1), feature: FeatureID(name: "item", key: "\(place)"), faces: faces)
            }
            try await client.send(present: reports, to: record)
            let noted = notes.present.withLock { $0 }
            #expect(noted.map(\.feature) == reports.map(\.feature) && noted.map(\.faces) == reports.map(\.faces))
            #expect(noted.allSatisfy { $0.session == Self.hash(1) })
        }
    }

    @Test("many sessions are sent in several requests of a bounded size", arguments: Depth.allCases)
    func manyWatchers(depth: Depth) async throws {
        try await run(depth, { $0.bodyLimit = 1_024 }) { server, client, record, _ in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            let features = (0..<64).map { FeatureID(name: "item", key: "\($0)\(String(repeating: "k", count: 60))") }
            let sessions = (0..<20).map { WatchedSession(token: Self.hash($0), features: features) }
            var client = client
            // Requests end after five seconds of real time, so they are small for a busy machine.
            client.bodyLimit = 32 << 10
            try await client.send(watched: sessions, to: record)
            let noted = notes.watched.withLock { $0 }
            #expect(noted.count > 1 && noted.flatMap(\.sessions) == sessions)
        }
    }

    @Test("a node gives up a session that it owns, and returns false for another session", arguments: Depth.allCases)
    func giveAway(depth: Depth) async throws {
        try await run(depth) { server, client, record, _ in
            let notes = Notes(owned: Self.hash(1))
            try #require(server.assembly.link).connect(notes)
            #expect(try await client.askToGiveAway(Self.hash(1), from: record))
            #expect(try await !client.askToGiveAway(Self.hash(2), from: record))
            #expect(notes.given.withLock { $0 } == [Self.hash(1), Self.hash(2)])
        }
    }

    @Test func `before a node can serve them they are answered with 503`() throws {
        let head = RequestHead(method: "POST", path: Array(NodeEndpoints.giveAway.utf8))
        guard case .accept(_, let handle)? = NodeEndpoints().answer(to: head, from: .random()) else {
            Issue.record("the request is not accepted")
            return
        }
        let answer = Lock<Response?>(nil)
        handle(GiveAwayMessage.body(Self.hash(1))) { response in answer.withLock { $0 = response } }
        #expect(answer.withLock { $0?.status } == 503)
    }

    @Test(arguments: Depth.allCases)
    func `requests for another node have no effect`(depth: Depth) async throws {
        try await run(depth) { server, client, record, _ in
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
        try await run(depth) { server, _, _, _ in
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
        try await run(.memory) { server, client, record, _ in
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
        let node = try TestNode(in: World())
        node.journal.cutOff(true)
        let peers = ScriptedPeers(then: { _ in .answer(204) })
        let link = try #require(NodeLink(peers, node.environment))
        await #expect(throws: PeerError.self) {
            _ = try await link.client.askToGiveAway(Self.hash(1), from: Self.other)
        }
        #expect(peers.asked.isEmpty)
        node.journal.cutOff(false)
        #expect(try await link.client.askToGiveAway(Self.hash(1), from: Self.other))
    }
}
