import MVI
import TestSupport
import Testing

@testable import MVIServer

@Suite("92: streams over a socket of which a part is late", .timeLimit(.minutes(5)))
struct LatePartTests {
    private static let line = #"{"type":"write","text":"milk"}"#

    @FeatureBuilder private static var content: ServerContent {
        Shared { key in key == "none" ? nil : Notes() }.allows(.everyone)
        Shared("inn") { _ in
            Kitchen()
            Bar()
        }.allows(.everyone)
    }

    /// Opens a stream that begins a second later, without what is late.
    private func open(_ server: TestServer, _ session: Credential, _ names: String...) async throws -> Connection {
        let stream = try Connection(port: server.port)
        let query = names.map { "feature=\($0)" }.joined(separator: "&")
        try stream.send(session.request("GET", "/events?\(query)"))
        let status = try await server.overTime { try await offThePool { try stream.head().status } }
        #expect(status == 200)
        return stream
    }

    @Test("a space that loads slowly holds up no other, and joins the stream")
    func slowLoad() async throws {
        let world = World()
        let (content, path) = (Self.content, "/features/notes:a/state")
        let session = try await TestServer.run(.socket, in: world, content: { _ in content }) { server in
            let session = try await server.session()
            for key in ["a", "b"] {
                #expect(try await server.send(session.intent(Self.line, to: "notes:\(key)")).status == 202)
            }
            return session
        }
        try await TestServer.run(.socket, in: world, content: { _ in content }) { server in
            #expect(try await server.send(session.request("GET", path)).status == 200)
            server.journal.holdLoads()
            let stream = try await open(server, session, "notes:a", "notes:b")
            #expect(try #require(try stream.event()).text.contains(#""shared":["notes:a","notes:b"]"#))
            #expect(try stream.event("state").text.contains("notes:a"))
            server.journal.releaseLoads()
            let late = try stream.event("state")
            #expect(late.text.contains(#"{"feature":"notes:b","version":2,"#))
            #expect(late.id?.split(separator: "~").count == 3)
            #expect(try await server.send(session.intent(Self.line, to: "notes:b")).status == 202)
            #expect(try stream.event("state").text.contains(#""version":3,"#))
        }
    }

    @Test("an owner that is not reachable holds up no other space, and its part joins when it answers")
    func slowOwner() async throws {
        try await NodePair.run(.socket, with: Self.content) { pair in
            pair.meet()
            let (ann, bob) = (try await pair.far.session(), try await pair.near.session())
            // Its owner has the space, and no store of the bar.
            #expect(try await pair.far.send(ann.intent(Self.line, to: "kitchen:a")).status == 202)
            #expect(try await pair.near.send(bob.intent(Self.line, to: "notes:a")).status == 202)
            pair.meet()
            pair.recorder.redirect(to: "127.0.0.1:1")
            let stream = try await open(pair.near, bob, "notes:a", "bar:a", "kitchen:a")
            #expect(try #require(try stream.event()).text.contains(#""shared":["notes:a","bar:a","kitchen:a"]"#))
            #expect(try stream.event("state").text.contains("notes:a"))
            pair.recorder.redirect(to: pair.far.address)
            for name in ["bar:a", "kitchen:a"] {
                let state = try await pair.near.overTime { try await offThePool { try stream.event("state").text } }
                #expect(state.contains(name))
            }
        }
    }

    @Test("a key that is refused in time is the answer to the stream")
    func refused() async throws {
        let content = Self.content
        try await TestServer.run(.socket, content: { _ in content }) { server in
            let session = try await server.session()
            let stream = try Connection(port: server.port)
            try stream.send(session.request("GET", "/events?feature=notes:a&feature=notes:none"))
            #expect(try stream.response(to: "GET").problem == "feature-not-found")
        }
    }
}

/// Lines that several people write.
private protocol Lines: Feature where State == LineState, Intent == LineIntent, Message == String {}

private struct LineState: Codable, Equatable, Sendable { var lines: [String] = [] }
private enum LineIntent: Codable, Sendable { case write(text: String) }

extension Lines {
    static var examples: [LineIntent] { [.write(text: "milk")] }
    var initialState: LineState { LineState() }

    func execute(_ intent: LineIntent, _ turn: inout Turn<Self>) {
        if case .write(let text) = intent { turn.dispatch(text) }
    }

    func reduce(_ state: inout LineState, _ line: String) { state.lines.append(line) }
}

private struct Notes: Lines {}
private struct Kitchen: Lines {}
private struct Bar: Lines {}
