import Locking
import MVI
import MVITesting
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

@Suite("88: what `observe` shows is awaited over HTTP", .timeLimit(.minutes(10)))
struct ObservedTests {
    /// Shows the texts of streams that a test feeds.
    struct Board: Feature {
        struct State: Codable, Equatable, Sendable { var text = "" }
        enum Intent: Codable, Sendable { case clear }
        typealias Message = String
        static let examples: [Intent] = [.clear]
        static let name = "board"
        let initialState = State()
        let made: Collected<AsyncStream<String>.Continuation>
        /// The first element of each stream; nil if the test feeds that.
        var first: Lock<String?> = Lock(nil)
        var ended = Collected<Bool>()

        func bootstrap(_ reason: StartReason, _ turn: inout Turn<Self>) {
            turn.observe(id: "texts") { [made, first, ended] in
                AsyncStream { continuation in
                    if let text = first.withLock({ $0 }) { continuation.yield(text) }
                    continuation.onTermination = { _ in ended.append(true) }
                    made.append(continuation)
                }
            } onElement: { text, work in
                await work.dispatch(text)
            }
        }

        func execute(_ intent: Intent, _ turn: inout Turn<Self>) { turn.dispatch("") }
        func reduce(_ state: inout State, _ text: String) { state.text = text }
    }

    struct Shown: Decodable, Equatable {
        var stale: Bool?
        var state: Board.State
    }

    private static let path = "/features/board/state"

    private func run(
        _ depth: Depth, _ test: (TestServer, Collected<AsyncStream<String>.Continuation>) async throws -> Void
    ) async throws {
        let made = Collected<AsyncStream<String>.Continuation>()
        try await TestServer.run(depth, content: { _ in ServerContent(features: [ServedFeature(Board(made: made))]) }) {
            try await test($0, made)
        }
    }

    @Test("88: a read is answered with the first result", arguments: Depth.allCases)
    func read(depth: Depth) async throws {
        try await run(depth) { server, made in
            let session = try await server.session()
            let reading = Task { try await server.send(session.request("GET", Self.path)) }
            await made.atLeast(1)[0].yield("new")
            let response = try await reading.value
            #expect(response.status == 200)
            #expect(response["mvi-stale"] == nil)
            #expect(try response.json(Board.State.self).text == "new")
        }
    }

    @Test("88: after a second a read, also of the head, says that it is stale", arguments: Depth.allCases)
    func stale(depth: Depth) async throws {
        try await run(depth) { server, made in
            let session = try await server.session()
            let reading = Task { try await server.send(session.request("GET", Self.path)) }
            await server.clock.sleepers(atLeast: 1)
            server.clock.advance(by: .seconds(1))
            let response = try await reading.value
            #expect(response.status == 200)
            #expect(response["mvi-stale"] == "true")
            let tag = try #require(response["etag"])
            let known = try await server.send(session.request("GET", Self.path, [("If-None-Match", tag)]))
            #expect(known.status == 304)
            #expect(known["mvi-stale"] == "true")
            #expect(try await server.send(session.request("HEAD", Self.path))["mvi-stale"] == "true")
            let answer = try await server.send(
                session.request(
                    "POST", "/features/board/intents",
                    [("Content-Type", "application/json"), ("Prefer", "return=representation")],
                    body: #"{"type":"clear"}"#))
            #expect(answer.status == 200)
            #expect(answer["mvi-stale"] == "true")
        }
    }

    @Test(
        "88: a stream's first state comes with the first result, or after a second as stale", arguments: [false, true])
    func stream(isLate: Bool) async throws {
        try await run(.socket) { server, made in
            let session = try await server.session()
            let port = server.port
            let stream = try await offThePool {
                let connection = try Connection(port: port)
                try connection.send(session.request("GET", "/features/board/events"))
                #expect(try connection.head().status == 200)
                _ = try connection.event("hello")
                return connection
            }
            func shown() async throws -> Shown {
                try WireJSON.decode(Shown.self, from: try await offThePool { try stream.event("state").data })
            }
            let feed = await made.atLeast(1)[0]
            if isLate {
                await server.clock.sleepers(atLeast: 1)
                server.clock.advance(by: .seconds(1))
                #expect(try await shown() == Shown(stale: true, state: Board.State()))
            }
            feed.yield("new")
            var last = try await shown()
            // The result may be committed a moment before it counts.
            if isLate, last.stale == true { last = try await shown() }
            #expect(last == Shown(stale: nil, state: Board.State(text: "new")))
        }
    }

    @Test("88: a node has the session's owner observe before it reads a state or opens a stream")
    func nodes() async throws {
        let board = Board(made: Collected(), first: Lock("a"))
        try await NodePair.run(.memory, with: ServerContent(features: [ServedFeature(board)])) { pair in
            // A store of the feature has run on that node.
            let other = try await pair.near.session()
            #expect(try await pair.near.send(other.request("GET", Self.path)).json(Board.State.self).text == "a")
            let session = try await pair.session()
            #expect(try await pair.near.send(session.request("GET", Self.path)).json(Board.State.self).text == "a")
            for text in ["b", "c"] {
                let count = board.ended.all.count
                await pair.far.clock.sleepers(atLeast: 1)
                pair.far.clock.advance(by: .seconds(5))
                _ = await board.ended.atLeast(count + 1)
                board.first.withLock { $0 = text }
                let shown = try await pair.near.send(
                    session.request("GET", text == "b" ? Self.path : "/features/board/events")
                ).text
                #expect(shown.contains("\"text\":\"\(text)\""), "\(shown)")
                #expect(!shown.contains("stale"))
            }
        }
    }
}
