import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("Tokens on every route of a session", .timeLimit(.minutes(5)))
struct TokenTests {
    private static let streams = ["/events", "/features/probe/events"]

    /// A request to each route that a session's token is for.
    private static func requests(_ token: String) -> [TestRequest] {
        let session = ("Authorization", "Bearer \(token)")
        let others: [(String, String, String)] = [
            ("GET", "/sessions/current", ""), ("GET", "/features/probe/state", ""),
            ("DELETE", "/features/probe/state", ""), ("POST", "/features/probe/intents", #"{"type":"increment"}"#),
            ("PUT", "/sessions/current/identity", #"{"identity":"x"}"#), ("DELETE", "/sessions/current/identity", ""),
            ("DELETE", "/sessions/current", ""),
        ]
        return others.map { method, target, body in
            TestRequest(method, target, [session] + (body.isEmpty ? [] : [RefusalCase.json]), body: body)
        } + streams.map { TestRequest("GET", $0, [session]) }
    }

    /// Returns true if an answer is the one for an ended session.
    private static func isEnd(_ request: TestRequest, _ response: TestResponse) -> Bool {
        streams.contains(request.target) ? response.status == 204 : response.problem == "session-ended"
    }

    @Test func `requests of several clients on one connection of a proxy act for the client of each`() async throws {
        try await TestServer.run(.socket) { server in
            let (first, second) = (try await server.session(), try await server.session())
            let ended = try await server.session()
            _ = try await server.send(ended.request("DELETE", "/sessions/current"))
            let altered = (first.secret.hasPrefix("A") ? "B" : "A") + first.secret.dropFirst()
            try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                func ask(_ token: some StringProtocol) throws -> TestResponse {
                    try connection.send(
                        TestRequest("GET", "/sessions/current", [("Authorization", "Bearer \(token)")]))
                    return try connection.response(to: "GET")
                }
                for session in [first, first, second, first, second, second] {
                    #expect(try ask(session.secret).text.contains(#""id":"\#(session.id)""#))
                }
                #expect(try ask(first.secret).status == 200)
                #expect(try ask(first.secret.dropLast()).status == 401)
                for _ in 0..<2 { #expect(try ask(altered).problem == "session-not-found") }
                #expect(try ask(ended.secret).problem == "session-ended")
                #expect(try ask(ended.secret).problem == "session-ended")
                #expect(try ask(second.secret).text.contains(#""id":"\#(second.id)""#))
                // One with a cookie after one with a token.
                try connection.send(
                    TestRequest("GET", "/sessions/current", [("Cookie", "mvi_session=\(first.secret)")]))
                #expect(try connection.response(to: "GET").text.contains(#""id":"\#(first.id)""#))
                #expect(try ask(second.secret).text.contains(#""id":"\#(second.id)""#))
            }
        }
    }

    @Test(arguments: Depth.allCases)
    func `a token of a former key names its session until all clients are signed out`(
        depth: Depth
    ) async throws {
        let world = World()
        let (empty, used) = try await TestServer.run(depth, in: world) { server in
            let (empty, used) = (try await server.session(), try await server.session())
            _ = try await server.send(used.intent(#"{"type":"increment"}"#))
            return (empty, used)
        }
        let now = ManualTime.beginning
        world.kept.replaceSecret { $0.rotated(now: now, since: now, tokenLife: .seconds(86_400)) }
        try await TestServer.run(depth, in: world) { server in
            for session in [empty, used] {
                let current = try await server.send(session.request("GET", "/sessions/current"))
                #expect(current.text.contains(#""id":"\#(session.id)""#))
            }
        }
        world.kept.replaceSecret { _ in .random() }
        try await TestServer.run(depth, in: world) { server in
            let other = try await server.session()
            for request in Self.requests(empty.secret) {
                #expect(try await server.send(request).problem == "session-not-found", "\(request.target)")
            }
            try await #expect(server.send(other.request("GET", "/sessions/current")).status == 200)
        }
    }

    @Test(arguments: Depth.allCases)
    func `a token of an ended session gets that answer with any proof, and an unknown token does not`(
        depth: Depth
    ) async throws {
        try await TestServer.run(depth) { server in
            let (kept, unkept) = (try await server.session(), try await server.session())
            _ = try await server.send(kept.intent(#"{"type":"increment"}"#))
            for session in [kept, unkept] {
                try await #expect(server.send(session.request("DELETE", "/sessions/current")).status == 204)
                for token in [session.secret, session.secret.dropLast(4) + "AAAA", String(session.secret.prefix(43))] {
                    for request in Self.requests(token) {
                        let response = try await server.send(request)
                        #expect(Self.isEnd(request, response), "\(request.method) \(request.target)")
                    }
                }
                let stranger = (session.secret.first == "A" ? "B" : "A") + session.secret.dropFirst()
                for token in [stranger, String(stranger.prefix(43))] {
                    for request in Self.requests(token) {
                        let response = try await server.send(request)
                        #expect(response.problem == "session-not-found", "\(request.method) \(request.target)")
                    }
                }
            }
        }
    }
}
