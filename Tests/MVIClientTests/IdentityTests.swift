import Testing

@testable import MVIClient

@Suite("The identity")
struct IdentityTests {
    /// A sign-in without an answer yet, during which an intent finds the session ended.
    private static func refusedDuringSignIn() throws -> (Play, put: (id: ExchangeID, request: HTTPRequest)) {
        var play = try live()
        play.handle(.signIn())
        play.send(1)
        let sent = try play.request()
        play.handle(.identity("jwt"))
        let put = try play.request()
        play.refuse(sent.id, 404, "session-ended")
        return (play, put)
    }

    private static func live() throws -> Play { try Play.live(change: { $0.hasIdentity = true }) }

    @Test func `an identity that expires soon is renewed, and the stream stays`() throws {
        var play = try Self.live()
        #expect(try play.event("identity", #"{"expiresIn":30}"#) == [.askIdentity])
        play.handle(.identity(#"jwt "1""#))
        let put = try play.request()
        #expect(put.request.method == "PUT" && put.request.target == "/sessions/current/identity")
        #expect(put.request.body == Array(#"{"identity":"jwt \"1\""}"#.utf8))
        #expect(play.answer(put.id, 200, #"{"id":"s1"}"#).isEmpty)
        try play.state(2)
        #expect(play.deliveries == [.count(2)])
    }

    @Test func `without an identity for it, a stream goes on until the server ends it`() throws {
        var play = try Self.live()
        try play.event("identity", #"{"expiresIn":30}"#)
        #expect(play.handle(.identity(nil)).isEmpty)
        try play.event("goaway", #"{"reason":"identity","retry":1000}"#)
        #expect(play.commands.contains(.askIdentity))
        #expect(play.handle(.identity(nil)).contains(.show(.signedOut)))
        #expect(play.advance(by: .seconds(600)).isEmpty)
    }

    @Test func `an intent that finds the identity expired waits for another, and is sent again`() throws {
        var play = try Self.live()
        play.send(1)
        play.refuse(try play.request().id, 401, "identity-expired")
        #expect(play.commands == [.askIdentity])
        play.send(2)
        play.handle(.identity("jwt"))
        let put = try play.request()
        #expect(put.request.method == "PUT")
        play.answer(put.id, 200, #"{"id":"s1"}"#)
        #expect(try play.request().request["Idempotency-Key"] == "\"key-1\"")
    }

    @Test func `a stream and an intent that find it expired lead to one renewal`() throws {
        var play = try Self.live()
        play.send(1)
        let intent = try play.request().id
        try play.event("goaway", #"{"reason":"identity","retry":1000}"#)
        #expect(play.commands.contains(.askIdentity))
        #expect(play.refuse(intent, 401, "identity-expired").isEmpty)
        play.handle(.identity("jwt"))
        play.answer(try play.request().id, 200, #"{"id":"s1"}"#)
        #expect(play.requests.count == 2)
    }

    @Test func `a new credential is kept and used, for the stream too`() throws {
        var play = try Self.live()
        let stream = try #require(play.stream)
        play.handle(.signIn())
        play.handle(.identity("jwt"))
        play.answer(try play.request().id, 200, #"{"id":"s1","token":"t2"}"#)
        #expect(play.commands.contains(.saveCredential("t2")) && play.commands.contains(.cut(stream)))
        let opened = try play.request().request
        #expect(opened["Authorization"] == "Bearer t2" && opened["Last-Event-ID"] == "e1.1")
    }

    @Test func `an intent that the old credential was too old for is sent with the new one`() throws {
        var play = try Self.live()
        play.handle(.signIn())
        play.send(1)
        let sent = try play.request()
        play.handle(.identity("jwt"))
        play.answer(try play.request().id, 200, #"{"id":"s1","token":"t2"}"#)
        play.refuse(sent.id, 404, "session-ended")
        #expect(play.outcomes.isEmpty)
        #expect(try play.request().request["Authorization"] == "Bearer t2")
    }

    @Test(arguments: [(204, ""), (404, "session-ended"), (401, "unauthorized")])
    func `a stream that an unanswered sign-in made invalid is opened with the new credential`(
        status: Int, problem: String
    ) throws {
        var play = try Self.live()
        play.handle(.signIn())
        try play.end()
        play.advance(by: .seconds(10))
        let stream = try play.request()
        play.handle(.identity("jwt"))
        let put = try play.request()
        if status == 204 { play.answer(stream.id, 204) } else { play.refuse(stream.id, status, problem) }
        #expect(play.requests.isEmpty && !play.conditions.contains(.ended))
        play.answer(put.id, 200, #"{"id":"s1","token":"t2"}"#)
        let opened = try play.request().request
        #expect(opened.target.hasPrefix("/events") && opened["Authorization"] == "Bearer t2")
    }

    @Test func `an intent that an unanswered sign-in made invalid is sent with the new credential`() throws {
        var (play, put) = try Self.refusedDuringSignIn()
        #expect(play.outcomes.isEmpty && play.requests.isEmpty)
        // The sign-in is repeated, also if its answer is lost, before anything else is sent.
        play.handle(.end(put.id, TransportFailure()))
        #expect(play.requests.isEmpty)
        play.advance(by: .seconds(10))
        let again = try play.request()
        #expect(again.request.method == "PUT")
        play.answer(again.id, 200, #"{"id":"s1","token":"t2"}"#)
        #expect(play.requests.allSatisfy { $0["Authorization"] == "Bearer t2" })
        #expect(play.requests.contains { $0["Idempotency-Key"] == "\"key-1\"" })
    }

    @Test func `a session that ended before its sign-in has ended`() throws {
        var (play, put) = try Self.refusedDuringSignIn()
        play.refuse(put.id, 404, "session-ended")
        #expect(play.conditions == [.ended] && play.outcomes.count == 1)
    }

    @Test func `an identity that is rejected signs out, and intents fail`() throws {
        var play = try Self.live()
        play.send(1)
        play.refuse(try play.request().id, 401, "identity-expired")
        play.handle(.identity("jwt"))
        play.refuse(try play.request().id, 401, "identity-rejected")
        #expect(play.conditions == [.signedOut])
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .signedOut && error.problem?.name == "identity-rejected")
    }

    @Test func `signing in again goes on in the same session`() throws {
        var play = try Self.live()
        try play.event("goaway", #"{"reason":"identity","retry":1000}"#)
        play.handle(.identity(nil))
        #expect(play.handle(.signIn()).contains(.askIdentity))
        play.handle(.identity("jwt"))
        let put = try play.request()
        #expect(put.request["Authorization"] == "Bearer \(Play.token)")
        play.answer(put.id, 200, #"{"id":"s1"}"#)
        #expect(try play.request().request["Last-Event-ID"] == "e1.1")
    }

    @Test func `a server without anonymous sessions gets an identity`() throws {
        var play = Play { $0.hasIdentity = true }
        play.handle(.watch("counter"))
        play.handle(.credential(.success(nil)))
        play.refuse(try play.request().id, 401, "identity-required")
        #expect(play.commands == [.askIdentity])
        play.handle(.identity("jwt"))
        #expect(try play.request().request.body == Array(#"{"credential":"bearer","identity":"jwt"}"#.utf8))
    }

    @Test func `a user who was signed in gets no anonymous session in place of a lost one`() throws {
        var play = try Self.live()
        play.handle(.signIn())
        play.handle(.identity("jwt"))
        play.answer(try play.request().id, 200, #"{"id":"s1"}"#)
        try play.event("goaway", #"{"reason":"expired","retry":1000}"#)
        #expect(play.commands.contains(.askIdentity) && play.requests.isEmpty)
        #expect(play.handle(.identity(nil)).contains(.show(.signedOut)))
    }

    @Test func `another user's identity fails what waits, and makes another session`() throws {
        var play = try Self.live()
        play.handle(.signIn())
        play.handle(.identity("jwt"))
        let put = try play.request()
        play.send(1)
        play.refuse(put.id, 409, "other-identity")
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .sessionEnded && play.commands.contains(.askIdentity))
        play.handle(.identity("jwt"))
        #expect(try play.request().request.target == "/sessions")
    }

    @Test func `a renewal that fails for now is repeated with the same identity`() throws {
        var play = try Play.live(change: { $0.hasIdentity = true }, random: 0)
        try play.event("goaway", #"{"reason":"identity","retry":1000}"#)
        play.handle(.identity("jwt"))
        play.refuse(try play.request().id, 503, "identity-unavailable", retryAfter: .seconds(2))
        play.advance(by: .seconds(2))
        let put = try play.request()
        #expect(put.request.body == Array(#"{"identity":"jwt"}"#.utf8))
        play.handle(.end(put.id, TransportFailure()))
        play.advance(by: .seconds(1))
        #expect(try play.request().request.method == "PUT")
    }
}
