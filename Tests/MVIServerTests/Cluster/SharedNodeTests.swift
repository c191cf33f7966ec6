import MVI
import Testing

@testable import MVIServer

@Suite("Stores that many share, whose turns another node runs", .timeLimit(.minutes(2)))
struct SharedNodeTests {
    private static let milk = #"{"type":"write","text":"milk"}"#

    @FeatureBuilder private static var content: ServerContent {
        Shared { key in key == "none" ? nil : Wall() }.allows(.everyone)
    }

    private func run(_ depth: Depth, _ test: (NodePair) async throws -> Void) async throws {
        try await NodePair.run(depth, with: Self.content) { pair in
            pair.meet()
            try await test(pair)
        }
    }

    private func lines(_ server: TestServer, _ session: Credential, _ key: String = "a") async throws -> [String] {
        try await server.send(session.request("GET", "/features/wall:\(key)/state")).json(Wall.State.self).lines
    }

    @Test("callers of both nodes write to one store, and each has answers of its own", arguments: Depth.allCases)
    func intents(depth: Depth) async throws {
        try await run(depth) { pair in
            let (ann, bob) = (try await pair.far.session(), try await pair.near.session())
            let request = ann.intent(Self.milk, [("Idempotency-Key", #""k""#)], to: "wall:a")
            let first = try await pair.far.send(request)
            #expect(first.status == 202)
            pair.meet()
            let forwarded = try await pair.near.send(
                bob.intent(
                    Self.milk, [("Idempotency-Key", #""k""#), ("Prefer", "return=representation")], to: "wall:a"))
            #expect(forwarded.status == 200 && forwarded["idempotency-replayed"] == nil)
            #expect(pair.recorder.sent.map(\.target) == ["/features/wall:a/intents"])
            // The same, at the other node.
            let again = try await pair.near.send(request)
            #expect(again["idempotency-replayed"] == "true" && again.text == first.text)
            for server in [pair.near, pair.far] {
                for session in [ann, bob] { #expect(try await lines(server, session) == ["milk", "milk"]) }
            }
        }
    }

    @Test("a refusal by the head consumes a caller's number at the space's owner", arguments: Depth.allCases)
    func numbers(depth: Depth) async throws {
        try await run(depth) { pair in
            let (ann, bob) = (try await pair.far.session(), try await pair.near.session())
            #expect(try await pair.far.send(ann.intent(Self.milk, to: "wall:a")).status == 202)
            pair.meet()
            func numbered(_ number: Int, _ type: String) -> TestRequest {
                bob.request(
                    "POST", "/features/wall:a/intents",
                    [("Content-Type", type), ("Intent-Seq", "\(number)"), ("Intent-Epoch", "e")], body: Self.milk)
            }
            #expect(try await pair.near.send(numbered(1, "text/plain")).problem == "unsupported-media-type")
            #expect(try await pair.near.send(numbered(1, "text/plain"))["idempotency-replayed"] == "true")
            #expect(try await pair.near.send(numbered(2, "application/json")).status == 202)
            #expect(try await lines(pair.far, ann) == ["milk", "milk"])
        }
    }

    @Test("a stream shows spaces of several owners, and stores that only they may make", arguments: Depth.allCases)
    func stream(depth: Depth) async throws {
        try await run(depth) { pair in
            let (ann, bob) = (try await pair.far.session(), try await pair.near.session())
            // Its owner has the space but no store of it.
            #expect(try await pair.far.send(ann.intent(Self.milk, to: "wall:a")).status == 202)
            #expect(try await pair.near.send(bob.intent(Self.milk, to: "wall:b")).status == 202)
            pair.meet()
            let events = "/events?feature=probe&feature=wall:a&feature=wall:b&feature=wall:new"
            let stream = try await pair.near.send(bob.request("GET", events))
            #expect(stream.status == 200)
            #expect(stream.text.contains(#""features":["probe","wall:a","wall:b","wall:new"]"#))
            for key in ["a", "b"] {
                let single = try await pair.near.send(bob.request("GET", "/features/wall:\(key)/events"))
                #expect(single.text.contains(#"{"feature":"wall:\#(key)","version":2,"#), "\(single.text)")
            }
            // Made by the stream itself.
            #expect(try await lines(pair.far, ann, "new").isEmpty)
            #expect(pair.recorder.sent.isEmpty)
        }
    }

    @Test("who is signed out at one node is refused at a space's owner, which was not told", arguments: Depth.allCases)
    func signedOut(depth: Depth) async throws {
        try await run(depth) { pair in
            let (ann, bob) = (try await pair.far.session(), try await pair.near.session())
            #expect(try await pair.far.send(ann.intent(Self.milk, to: "wall:a")).status == 202)
            #expect(try await pair.far.send(bob.intent(Self.milk, to: "wall:a")).status == 202)
            pair.meet()
            #expect(try await pair.near.send(bob.request("DELETE", "/sessions/current")).status == 204)
            for server in [pair.near, pair.far] {
                #expect(try await server.send(bob.intent(Self.milk, to: "wall:a")).problem == "session-ended")
            }
            #expect(try await lines(pair.far, ann) == ["milk", "milk"])
        }
    }

    @Test("an unknown key is found at no node, and a refusal makes nothing", arguments: Depth.allCases)
    func unknown(depth: Depth) async throws {
        try await run(depth) { pair in
            let bob = try await pair.near.session()
            for server in [pair.near, pair.far] {
                #expect(try await server.send(bob.intent(Self.milk, to: "wall:none")).status == 404)
                #expect(try await server.send(bob.request("GET", "/features/wall:none/state")).status == 404)
                #expect(try await server.send(bob.request("GET", "/features/wall:none/events")).status == 404)
                #expect(try await server.send(bob.request("DELETE", "/features/wall:a/state")).status == 403)
            }
        }
    }

    @Test("if a space's owner is lost, another node goes on with what it acknowledged", arguments: Depth.allCases)
    func lost(depth: Depth) async throws {
        try await run(depth) { pair in
            let (ann, bob) = (try await pair.far.session(), try await pair.near.session())
            #expect(try await pair.far.send(ann.intent(Self.milk, to: "wall:a")).status == 202)
            pair.meet()
            try #require(pair.far.shared).cutOff(true)
            pair.pass(20)
            #expect(try await pair.near.send(bob.intent(Self.milk, to: "wall:a")).status == 202)
            #expect(try await lines(pair.near, bob) == ["milk", "milk"])
            #expect(pair.recorder.sent.isEmpty)
        }
    }
}

/// A list that many write to.
private struct Wall: Feature {
    struct State: Codable, Equatable, Sendable { var lines: [String] = [] }
    enum Intent: Codable, Sendable { case write(text: String) }
    enum Message: Codable, Sendable { case wrote(String) }
    static let examples: [Intent] = [.write(text: "milk")]
    let initialState = State()

    func execute(_ intent: Intent, _ turn: inout Turn<Self>) {
        if case .write(let text) = intent { turn.dispatch(.wrote(text)) }
    }

    func reduce(_ state: inout State, _ message: Message) {
        if case .wrote(let line) = message { state.lines.append(line) }
    }
}
