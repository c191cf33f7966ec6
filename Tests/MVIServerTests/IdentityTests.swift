import MVI
import MVITesting
import Sessions
import Testing

@testable import MVIServer

@Suite("Identities of sessions", .timeLimit(.minutes(10)))
struct IdentityTests {
    private struct Answer: Decodable {
        struct Identity: Decodable, Equatable {
            var issuer: String
            var subject: String
            var expiresAt: String?
        }
        var id: String
        var token: String?
        var identity: Identity?
        var shared: Bool?
        var stores: [String]?
    }

    private func credential(_ answer: Answer) throws -> Credential {
        let token = try #require(answer.token)
        return Credential(id: answer.id, field: ("Authorization", "Bearer \(token)"), secret: token)
    }

    @Test(
        "signing in keeps the stores and replaces the credential, once for a repeated request",
        arguments: Depth.allCases)
    func signingIn(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let anonymous = try await server.session()
            _ = try await server.send(anonymous.intent(#"{"type":"add","amount":3}"#))
            let first = try await server.signIn(anonymous, "anna premium 600").json(Answer.self)
            #expect(first.id == anonymous.id && first.shared == false)
            #expect(first.identity == .init(issuer: "tests", subject: "anna", expiresAt: "2026-01-02T00:26:40Z"))
            let again = try await server.signIn(anonymous, "anna premium 600").json(Answer.self)
            #expect(again.token == first.token)
            let signedIn = try credential(first)
            let described = try await server.send(signedIn.request("GET", "/sessions/current")).json(Answer.self)
            #expect(described.identity == first.identity && described.stores == ["probe"])
            let state = try await server.send(signedIn.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 3)
            #expect(try await server.send(anonymous.request("GET", "/sessions/current")).problem == "session-ended")
            // A minute later the old credential is invalid.
            server.time.advance(by: .seconds(60))
            #expect(try await server.signIn(anonymous, "anna premium 600").problem == "session-ended")
            let renewed = try await server.signIn(signedIn, "anna premium 1200").json(Answer.self)
            #expect(renewed.token == nil && renewed.identity?.expiresAt == "2026-01-02T00:36:40Z")
        }
    }

    @Test("a cookie is replaced by signing in, and cleared by signing out", arguments: Depth.allCases)
    func cookies(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let anonymous = try await server.cookieSession()
            let response = try await server.signIn(anonymous, "anna")
            #expect(response.fields.count { $0.name.lowercased() == "set-cookie" } == 1)
            #expect(try response.json(Answer.self).token == nil)
            let cookie = String(try #require(response["set-cookie"]).prefix { $0 != ";" })
            #expect(cookie != anonymous.field.value)
            let order = TestRequest(
                "POST", "/sessions", [RefusalCase.json, ("Cookie", cookie)],
                body: #"{"credential":"cookie","identity":"anna premium"}"#)
            let kept = try await server.send(order)
            #expect(try kept.status == 200 && kept.json(Answer.self).id == anonymous.id)
            var other = order
            other.body = Array(#"{"credential":"cookie","identity":"bob"}"#.utf8)
            let replaced = try await server.send(other)
            #expect(try replaced.status == 201 && replaced.json(Answer.self).id != anonymous.id)
            let out = try await server.send(
                TestRequest("DELETE", "/sessions/current/identity", [("Cookie", cookie)]))
            #expect(out.status == 204 && out["set-cookie"]?.contains("Max-Age=0") == true)
        }
    }

    @Test("if sign-in is required, a signed-in client's cookie returns its session")
    func required() async throws {
        try await TestServer.run(.memory, authenticator: WordAuthenticator(), { $0.requireIdentity = true }) { server in
            let made = try await server.send(
                TestRequest(
                    "POST", "/sessions", [RefusalCase.json], body: #"{"credential":"cookie","identity":"anna"}"#))
            #expect(made.status == 201)
            let cookie = String(try #require(made["set-cookie"]).prefix { $0 != ";" })
            let again = TestRequest(
                "POST", "/sessions", [RefusalCase.json, ("Cookie", cookie)], body: #"{"credential":"cookie"}"#)
            let answer = try await server.send(again)
            #expect(try answer.status == 200 && answer.json(Answer.self).id == made.json(Answer.self).id)
            // An earlier anonymous session is not accepted.
            let anonymous = try await server.anonymousSession()
            var old = again
            old.fields = [RefusalCase.json, ("Cookie", "mvi_session=\(anonymous.secret)")]
            #expect(try await server.send(old).problem == "identity-required")
        }
    }

    @Test("devices share a session; each signs out alone, or all of them together", arguments: Depth.allCases)
    func sharing(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let phone = try await server.session(of: "anna", shared: true)
            let tablet = try await server.session(of: "anna", shared: true)
            #expect(phone.id == tablet.id && phone.secret != tablet.secret)
            _ = try await server.send(phone.intent(#"{"type":"add","amount":3}"#))
            let state = try await server.send(tablet.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 3)
            #expect(try await server.send(phone.request("DELETE", "/sessions/current")).status == 204)
            #expect(try await server.send(phone.request("GET", "/sessions/current")).problem == "session-ended")
            #expect(try await server.send(tablet.request("GET", "/sessions/current")).status == 200)
            let laptop = try await server.session(of: "anna", shared: true)
            let all = laptop.request("DELETE", "/sessions/current?everywhere=true")
            #expect(try await server.send(all).status == 204)
            #expect(try await server.send(tablet.request("GET", "/sessions/current")).problem == "session-ended")
        }
    }

    @Test("the list of features is the caller's, and varies", arguments: Depth.allCases)
    func features(depth: Depth) async throws {
        let content: (Gate) throws -> ServerContent = { gate in
            ServerContent(features: [
                ServedFeature(Booking(gate: gate)),
                Probe(gate: gate).requires { $0.claim("tier") == "premium" },
            ])
        }
        struct List: Decodable {
            struct Entry: Decodable { var id: String }
            var features: [Entry]
        }
        try await TestServer.run(depth, authenticator: WordAuthenticator(), content: content) { server in
            func names(_ fields: [(name: String, value: String)]) async throws -> [String] {
                let response = try await server.send(TestRequest("GET", "/features", fields))
                #expect(response["cache-control"] == "no-store")
                #expect(response["vary"] == "Authorization, Cookie, Origin")
                return try response.json(List.self).features.map(\.id)
            }
            #expect(try await names([]) == ["booking"])
            #expect(try await names([server.session(of: "anna").field]) == ["booking"])
            let premium = try await server.session(of: "anna premium 600")
            #expect(try await names([premium.field]) == ["booking", "probe"])
            server.time.advance(by: .seconds(600))
            #expect(try await names([premium.field]) == ["booking"])
        }
    }

    /// Gives every subject two claims whose names are canonically equivalent in Unicode.
    private struct Twins: Authenticator {
        func authenticate(_ proof: IdentityProof) async throws -> Principal {
            Principal(issuer: "tests", subject: "anna", claims: ["K": "low", "\u{212A}": "high"])
        }
    }

    @Test("an access rule compares claims by bytes, also of a stored principal", arguments: Depth.allCases)
    func claimNames(depth: Depth) async throws {
        let content: (Gate) throws -> ServerContent = { gate in
            ServerContent(features: [
                Probe(gate: gate).requires { $0.claim("K") == "low" && $0.claim("\u{212A}") == "high" },
                Booking(gate: gate).requires { $0.claim("K") == "high" },
            ])
        }
        try await TestServer.run(depth, authenticator: Twins(), content: content) { server in
            let session = try await server.session(of: "anna")
            for _ in 0..<2 {
                #expect(try await server.send(session.intent(#"{"type":"increment"}"#)).status == 202)
                let booking = try await server.send(session.request("GET", "/features/booking/state"))
                #expect(booking.problem == "forbidden")
                try server.leaveMemory()
            }
        }
    }

    @Test("a stream reports a denied feature and shows the others")
    func denied() async throws {
        let content: (Gate) throws -> ServerContent = { gate in
            ServerContent(features: [
                ServedFeature(Booking(gate: gate)),
                Probe(gate: gate).requires { $0.claim("tier") == "premium" },
            ])
        }
        try await TestServer.run(.memory, authenticator: WordAuthenticator(), content: content) { server in
            let session = try await server.session(of: "anna")
            let stream = try await server.send(session.request("GET", "/events?feature=booking&feature=probe")).text
            #expect(stream.contains("event: denied\ndata: {\"feature\":\"probe\"}\n\n"))
            #expect(stream.contains("event: state\ndata: {\"feature\":\"booking\""))
            #expect(!stream.contains("event: state\ndata: {\"feature\":\"probe\""))
        }
    }

    @Test("a stream without a valid identity gets a time to reconnect and is not refused", arguments: Depth.allCases)
    func expired(depth: Depth) async throws {
        try await TestServer.run(depth, authenticator: WordAuthenticator()) { server in
            let session = try await server.session(of: "anna basic 600")
            server.time.advance(by: .seconds(600))
            let stream = try await server.send(session.request("GET", "/features/probe/events"))
            #expect(stream.status == 200 && !stream.text.contains("hello"))
            let pattern = #/retry: (\d+)\nevent: goaway\ndata: \{"reason":"identity","retry":(\d+)\}/#
            let match = try #require(stream.text.firstMatch(of: pattern))
            #expect(match.1 == match.2 && (15_000...60_000).contains(Int(match.1) ?? 0))
            // The session can still be signed out.
            #expect(try await server.send(session.request("DELETE", "/sessions/current/identity")).status == 204)
        }
    }
}
