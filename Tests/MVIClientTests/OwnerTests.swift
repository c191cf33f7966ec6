import Testing

@testable import MVIClient

@Suite("Intents are meant for one session")
struct OwnerTests {
    private static let ann = #""identity":{"issuer":"i","subject":"ann"}"#

    /// A client whose stream is live and whose user, anna, has signed in.
    private static func signedIn() throws -> Play {
        var play = try Play.live(change: { $0.hasIdentity = true })
        play.handle(.signIn())
        play.handle(.identity("jwt"))
        play.answer(try play.request().id, 200, #"{"id":"s1",\#(ann)}"#)
        return play
    }

    /// Returns the error of an intent.
    private static func code(_ play: Play, _ intent: UInt64) -> RemoteError.Code? {
        guard case .failure(let error)? = play.outcomes[intent] else { return nil }
        return error.code
    }

    @Test func `each names the session that the last hello said`() throws {
        var play = try Play.live()
        play.send(1)
        #expect(try play.request().request["MVI-Session"] == "s1")
    }

    @Test func `each names the session that was made, also without a stream`() throws {
        var play = Play()
        play.send(1)
        play.handle(.credential(.success(nil)))
        play.answer(try play.request().id, 201, #"{"id":"s9","token":"t"}"#)
        let first = try play.request()
        #expect(first.request["MVI-Session"] == "s9")
        play.send(2)
        play.answer(first.id, 202, #"{"intent":"i","session":"s9","feature":"counter","version":2}"#)
        #expect(try play.request().request["MVI-Session"] == "s9")
    }

    @Test func `of a stored credential the first answer says which session it is`() throws {
        var play = Play()
        play.send(1)
        play.handle(.credential(.success("t")))
        let first = try play.request()
        #expect(first.request["MVI-Session"] == nil)
        play.send(2)
        play.accepted(first.id, version: 2)
        #expect(try play.request().request["MVI-Session"] == "s1")
    }

    @Test func `refused by another session it is not sent again, and what waits behind it fails`() throws {
        var play = try Play.live()
        for number in UInt64(1)...3 { play.send(number) }
        let stream = try #require(play.stream)
        let sent = try #require(play.connection.intents.inFlight)
        play.refuse(sent, 409, "other-session")
        #expect(Self.code(play, 1) == .refused)
        #expect(Self.code(play, 2) == .sessionEnded && Self.code(play, 3) == .sessionEnded)
        #expect(play.requests.allSatisfy { $0.method == "GET" })
        // The next stream says which session it is.
        #expect(play.commands.contains(.cut(stream)))
        try play.hello(session: "s2")
        play.send(4)
        #expect(try play.request().request["MVI-Session"] == "s2")
        play.advance(by: .seconds(600))
        #expect(play.requests.allSatisfy { $0["Idempotency-Key"] != "\"key-2\"" })
    }

    @Test func `a stream of another session than the token's is left, and what waits goes on`() throws {
        var play = try Play.live()
        play.send(1)
        play.refuse(try play.request().id, 503, "busy", retryAfter: .seconds(20))
        let stream = try #require(play.stream)
        let commands = try play.hello(session: "s2")
        #expect(commands.contains(.cut(stream)))
        try play.state(9)
        #expect(play.outcomes.isEmpty)
        let sent = play.advance(by: .seconds(30)).filter {
            if case .start(_, let it) = $0 { it.method == "POST" } else { false }
        }
        #expect(sent.count == 1)
    }

    @Test func `a stream that shows another session to a cookie fails what waits`() throws {
        var play = try Play.live { $0.credential = .cookie }
        play.send(1)
        play.refuse(try play.request().id, 503, "busy", retryAfter: .seconds(20))
        play.send(2)
        try play.hello(session: "s2")
        #expect(Self.code(play, 1) == .sessionEnded && Self.code(play, 2) == .sessionEnded)
        #expect(play.advance(by: .seconds(30)).allSatisfy { if case .start = $0 { false } else { true } })
    }

    @Test(arguments: ["ann", "bob"])
    func `of a lost session they go on in the next one of the same user only`(next: String) throws {
        var play = try Self.signedIn()
        play.send(1)
        play.send(2)
        play.refuse(try #require(play.connection.intents.inFlight), 404, "session-not-found")
        play.handle(.identity("another jwt"))
        let made = try play.request()
        play.send(3)
        play.answer(
            made.id, 201, #"{"id":"s2","token":"t2","identity":{"issuer":"i","subject":"\#(next)"}}"#)
        let sent = try #require(play.requests.first { $0.method == "POST" })
        #expect(sent["MVI-Session"] == "s2")
        if next == "ann" {
            #expect(play.outcomes.isEmpty && sent["Idempotency-Key"] == "\"key-1\"")
        } else {
            #expect(Self.code(play, 1) == .sessionEnded && Self.code(play, 2) == .sessionEnded)
            // This one was sent after the loss.
            #expect(sent["Idempotency-Key"] == "\"key-3\"")
        }
    }

    @Test func `of a lost anonymous session they do not run as somebody`() throws {
        var play = Play { $0.hasIdentity = true }
        try play.connect()
        try play.hello()
        play.send(1)
        play.refuse(try #require(play.connection.intents.inFlight), 404, "session-not-found")
        play.refuse(try play.request().id, 401, "identity-required")
        play.handle(.identity("jwt"))
        play.answer(try play.request().id, 201, #"{"id":"s2","token":"t2",\#(Self.ann)}"#)
        #expect(Self.code(play, 1) == .sessionEnded)
        #expect(play.requests.allSatisfy { $0.method == "GET" })
    }

    @Test(arguments: [true, false])
    func `of a stored credential that is not known any more they go on if it was not taken`(wasTaken: Bool) throws {
        var play = Play { $0.hasIdentity = true }
        if wasTaken { play.handle(.watch("counter")) }
        play.send(1)
        play.handle(.credential(.success("t")))
        let sent = try #require(play.connection.intents.inFlight)
        if wasTaken { try play.hello() }
        play.refuse(sent, 404, "session-not-found")
        play.answer(try play.request().id, 201, #"{"id":"s2","token":"t2"}"#)
        #expect(Self.code(play, 1) == (wasTaken ? .sessionEnded : nil))
        #expect(play.requests.contains { $0.method == "POST" } == !wasTaken)
    }

    // MARK: Signing in

    @Test func `signing in keeps the stores and what waits, and sends it with the new credential`() throws {
        var play = try Play.live(change: { $0.hasIdentity = true })
        play.handle(.signIn())
        play.handle(.identity("jwt"))
        let put = try play.request()
        #expect(put.request.body == Array(#"{"identity":"jwt"}"#.utf8))
        play.send(1)
        play.answer(put.id, 200, #"{"id":"s1","token":"t2",\#(Self.ann)}"#)
        let sent = try #require(play.requests.first { $0.method == "POST" })
        #expect(sent["Authorization"] == "Bearer t2" && sent["MVI-Session"] == "s1" && play.outcomes.isEmpty)
    }

    @Test func `signing in without keeping the stores says so, and fails what waits`() throws {
        var play = try Play.live(change: { $0.hasIdentity = true })
        play.handle(.online(false))
        play.send(1)
        play.handle(.signIn(keepsStores: false))
        play.send(2)
        play.handle(.online(true))
        // Neither is sent into stores that are disposed of.
        #expect(play.requests.isEmpty)
        play.handle(.identity("jwt"))
        let put = try play.request()
        #expect(put.request.body == Array(#"{"identity":"jwt","keep":false}"#.utf8))
        play.refuse(put.id, 503, "identity-unavailable", retryAfter: .seconds(2))
        #expect(play.outcomes.isEmpty)
        play.advance(by: .seconds(3))
        let again = try play.request()
        #expect(again.request.body == put.request.body)
        play.answer(again.id, 200, #"{"id":"s1","token":"t2",\#(Self.ann)}"#)
        #expect(Self.code(play, 1) == .sessionEnded)
        let sent = try #require(play.requests.first { $0.method == "POST" })
        #expect(sent["Idempotency-Key"] == "\"key-2\"" && sent["Authorization"] == "Bearer t2")
        #expect(play.requests.contains { $0.target.hasPrefix("/events") })
    }

    @Test func `a sign-in that comes to nothing leaves what waits as it was`() throws {
        for isRefused in [true, false] {
            var play = try Play.live(change: { $0.hasIdentity = true })
            play.send(1)
            let sent = try play.request()
            play.send(2)
            play.handle(.signIn(keepsStores: false))
            play.accepted(sent.id, version: 2)
            #expect(play.requests.isEmpty)
            play.handle(.identity(isRefused ? "jwt" : nil))
            if isRefused { play.refuse(try play.request().id, 401, "identity-rejected") }
            #expect(try play.request().request["Idempotency-Key"] == "\"key-2\"")
        }
    }
}
