import EventStream
import MVI
import MVITesting
import Sessions
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

@Suite("Attacks on identities", .timeLimit(.minutes(10)))
struct AttackTests {
    /// A probe for premium users, beside a feature for everybody.
    private static func content(_ gate: Gate) -> ServerContent {
        ServerContent(features: [
            ServedFeature(Booking(gate: gate)), Probe(gate: gate).requires { $0.claim("tier") == "premium" },
        ])
    }

    private struct Made: Decodable {
        var id: String
        var token: String?
        var stores: [String]?
    }

    private func signedIn(_ server: TestServer, _ session: Credential, _ identity: String) async throws -> Credential {
        let token = try #require(try await server.signIn(session, identity).json(Made.self).token)
        return Credential(id: session.id, field: ("Authorization", "Bearer \(token)"), secret: token)
    }

    private func open(_ server: TestServer, _ request: TestRequest) async throws -> Connection {
        let port = server.port
        return try await offThePool {
            let connection = try Connection(port: port)
            try connection.send(request)
            _ = try connection.head()
            return connection
        }
    }

    private func next(_ stream: Connection, _ name: String) async throws -> String {
        String(decoding: try await offThePool { try stream.event(name).data }, as: UTF8.self)
    }

    @Test("a token from before the sign-in reads no state, no stream and no awaited answer")
    func keptToken() async throws {
        try await TestServer.run(.socket, authenticator: WordAuthenticator()) { server in
            let planted = try await server.session()
            let state = try await server.send(planted.request("GET", "/features/probe/state"))
            let tag = try #require(state["etag"])
            let stream = try await open(server, planted.request("GET", "/events"))
            _ = try await next(stream, "state")
            async let waited = server.send(
                planted.request("GET", "/features/probe/state", [("If-None-Match", tag), ("Prefer", "wait=10")]))
            while server.sessions.environment.openWaits == 0 { await Task.yield() }
            let victim = try await signedIn(server, planted, "anna premium 600")
            #expect(try await next(stream, "goaway").contains(#""reason":"identity""#))
            #expect(try await offThePool { try stream.event() } == nil)
            _ = try await server.send(victim.intent(#"{"type":"say","text":"secret"}"#))
            _ = try await server.send(victim.intent(#"{"type":"add","amount":7}"#))
            let answer = try await waited
            #expect(answer.status == 404 && answer.problem == "session-ended")
            for target in ["/features/probe/state", "/sessions/current"] {
                #expect(try await server.send(planted.request("GET", target)).problem == "session-ended")
            }
            #expect(try await server.send(planted.intent(#"{"type":"increment"}"#)).problem == "session-ended")
            let again = try await server.send(planted.request("GET", "/events?last_event_id=earliest"))
            #expect(again.status == 204)
        }
    }

    @Test("a sign-in in another user's browser gives no access to that user's stores")
    func otherUser() async throws {
        try await TestServer.run(.socket, authenticator: WordAuthenticator()) { server in
            let order = TestRequest(
                "POST", "/sessions", [RefusalCase.json], body: #"{"credential":"cookie","identity":"anna"}"#)
            let first = try await server.send(order)
            let cookie = String(try #require(first["set-cookie"]).prefix { $0 != ";" })
            let annas = Credential(
                id: try first.json(Made.self).id, field: ("Cookie", cookie),
                secret: String(cookie.drop { $0 != "=" }.dropFirst()))
            _ = try await server.send(annas.intent(#"{"type":"add","amount":7}"#))
            var others = order
            others.fields.append(("Cookie", cookie))
            others.body = Array(#"{"credential":"cookie","identity":"bob"}"#.utf8)
            let second = try await server.send(others)
            let bobs = String(try #require(second["set-cookie"]).prefix { $0 != ";" })
            let described = try await server.send(TestRequest("GET", "/sessions/current", [("Cookie", bobs)]))
            #expect(try described.json(Made.self).stores == [])
            #expect(try described.json(Made.self).id != annas.id)
            // A PUT with her cookie does not make her session his.
            #expect(try await server.signIn(annas, "bob").problem == "other-identity")
        }
    }

    @Test("after a loss of access, a stream shows nothing of the feature, nor does a replay after its return")
    func lostFeature() async throws {
        try await TestServer.run(.socket, authenticator: WordAuthenticator(), content: Self.content) { server in
            let anna = try await server.session(of: "anna premium 600", shared: true)
            let other = try await server.session(of: "anna premium 600", shared: true)
            let stream = try await open(server, anna.request("GET", "/events?feature=probe&feature=booking"))
            _ = try await next(stream, "state")
            _ = try await next(stream, "state")
            _ = try await server.send(other.intent(#"{"type":"say","text":"seen"}"#))
            let seen = try await offThePool { try stream.event("label") }
            #expect(try await server.signIn(anna, "anna basic 600").status == 200)
            #expect(try await next(stream, "denied") == #"{"feature":"probe"}"#)
            _ = try await server.send(other.intent(#"{"type":"say","text":"hidden"}"#))
            _ = try await server.send(other.intent(#"{"type":"add","amount":41}"#))
            for (method, target) in [("GET", "/features/probe/state"), ("GET", "/features/probe/events")] {
                #expect(try await server.send(anna.request(method, target)).problem == "forbidden")
            }
            #expect(try await server.send(anna.intent(#"{"type":"increment"}"#)).problem == "forbidden")
            // Access is back: the current state is shown, and labels published meanwhile are not.
            #expect(try await server.signIn(anna, "anna premium 1200").status == 200)
            let state = try await offThePool { () -> String in
                while let event = try stream.event() {
                    let data = String(decoding: event.data, as: UTF8.self)
                    if data.contains(#""feature":"probe""#) { return "\(event.name) \(data)" }
                }
                return "the stream ended"
            }
            #expect(state.hasPrefix("state") && state.contains(#""count":41"#))
            _ = try await server.send(other.intent(#"{"type":"say","text":"later"}"#))
            #expect(try await next(stream, "label").contains("later"))
            let cursor = try #require(seen.id)
            let resumed = try await open(
                server, anna.request("GET", "/events?feature=probe", [("Last-Event-ID", cursor)]))
            #expect(try await next(resumed, "label").contains("later"))
            let all = try await open(server, other.request("GET", "/events?feature=probe&last_event_id=earliest"))
            #expect(try await next(all, "label").contains("seen"))
            #expect(try await next(all, "label").contains("hidden"))
        }
    }

    @Test("a stream of an expired principal shows nothing until the renewal, then everything")
    func expired() async throws {
        try await TestServer.run(.socket, authenticator: WordAuthenticator()) { server in
            let anna = try await server.session(of: "anna basic 600")
            let first = try await open(server, anna.request("GET", "/features/probe/events"))
            let state = try await offThePool { try first.event("state") }
            let cursor = try #require(state.id)
            server.time.advance(by: .seconds(601))
            // The stream's watch sleeps on the clock of the server.
            while server.sessions.environment.openStreams > 0 {
                server.clock.advance(by: .seconds(60))
                await Task.yield()
            }
            #expect(try await next(first, "goaway").contains(#""reason":"identity""#))
            let request = anna.request("GET", "/features/probe/events", [("Last-Event-ID", cursor)])
            let second = try await server.send(request)
            #expect(second.status == 200)
            #expect(second.text.contains("event: goaway") && !second.text.contains("event: hello"))
            let honest = try await server.send(
                anna.request("GET", "/features/probe/events", [("Prefer", "problem")]))
            #expect(honest.problem == "identity-expired")
            #expect(try await server.signIn(anna, "anna basic 1200").status == 200)
            let third = try await open(server, request)
            #expect(try await next(third, "hello").contains(#""resumed":true"#))
            #expect(try await next(third, "state").contains(#""count":0"#))
        }
    }

    @Test("two devices of one subject see each state of their session; one signs out, the other goes on")
    func devices() async throws {
        try await TestServer.run(.socket, authenticator: WordAuthenticator()) { server in
            let phone = try await server.session(of: "anna", shared: true)
            let tablet = try await server.session(of: "anna", shared: true)
            var streams: [Connection] = []
            for device in [phone, tablet] {
                streams.append(try await open(server, device.request("GET", "/features/probe/events")))
            }
            for stream in streams { _ = try await next(stream, "state") }
            for amount in 1...3 {
                let sender = amount == 2 ? tablet : phone
                _ = try await server.send(sender.intent(#"{"type":"add","amount":\#(amount)}"#))
                for stream in streams {
                    #expect(try await next(stream, "state").contains(#""count":\#(amount * (amount + 1) / 2)"#))
                }
            }
            #expect(try await server.send(phone.request("DELETE", "/sessions/current")).status == 204)
            #expect(try await next(streams[0], "goaway").contains(#""reason":"ended""#))
            _ = try await server.send(tablet.intent(#"{"type":"add","amount":4}"#))
            #expect(try await next(streams[1], "state").contains(#""count":10"#))
        }
    }
}
