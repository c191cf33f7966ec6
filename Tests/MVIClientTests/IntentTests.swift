import Testing

@testable import MVIClient

@Suite("Intents")
struct IntentTests {
    private static func receipt(_ version: UInt64) -> Result<IntentReceipt, RemoteError> {
        .success(IntentReceipt(intent: "i", session: "s1", version: version))
    }

    @Test func `one intent is on its way at a time, in order over all features`() throws {
        var play = try Play.live()
        play.send(1)
        let first = try play.request()
        #expect(first.request.target == "/features/counter/intents")
        #expect(first.request["Idempotency-Key"] == "\"key-1\"")
        #expect(first.request["Content-Type"] == "application/json")
        play.send(2, to: "todo:7")
        play.send(3)
        #expect(play.requests.isEmpty)
        play.accepted(first.id, version: 2)
        #expect(play.outcomes == [1: Self.receipt(2)])
        let second = try play.request()
        #expect(second.request.target == "/features/todo:7/intents")
        play.accepted(second.id, version: 3)
        #expect(try play.request().request["Idempotency-Key"] == "\"key-3\"")
    }

    @Test func `an intent needs no watched store`() throws {
        var play = Play()
        #expect(play.send(1) == [.loadCredential])
        play.handle(.credential(.success("t")))
        #expect(try play.request().request["Authorization"] == "Bearer t")
    }

    @Test func `an intent without an answer is tried again with the same key`() throws {
        var play = try Play.live()
        play.send(1)
        var waits: [Duration] = []
        for _ in 0..<4 {
            let sent = try play.request()
            #expect(sent.request["Idempotency-Key"] == "\"key-1\"")
            play.handle(.end(sent.id, TransportFailure()))
            #expect(play.requests.isEmpty)
            let wait = try #require(play.connection.deadline) - play.now
            waits.append(wait)
            play.advance(by: wait)
        }
        #expect(waits == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(4)])
        play.accepted(try play.request().id, version: 2)
        #expect(play.outcomes == [1: Self.receipt(2)])
    }

    @Test(arguments: [
        (502, "bad-gateway"), (503, "draining"), (504, "gateway-timeout"), (429, "too-many-requests"),
        (409, "intent-in-progress"), (507, "storage-full"), (408, "request-timeout"),
    ])
    func `a refusal for now is tried again after Retry-After`(status: Int, problem: String) throws {
        var play = try Play.live(random: 0)
        play.send(1)
        play.refuse(try play.request().id, status, problem, retryAfter: .seconds(7))
        #expect(play.outcomes.isEmpty)
        // The server asked for this time: being looked at does not make it shorter.
        play.handle(.foreground)
        #expect(play.requests.isEmpty)
        play.advance(by: .seconds(7))
        #expect(try play.request().request["Idempotency-Key"] == "\"key-1\"")
    }

    @Test(arguments: [
        (400, "bad-request"), (403, "forbidden"), (404, "feature-not-found"), (409, "intent-conflict"),
        (410, "store-disposed"), (413, "body-too-large"), (422, "intent-refused"), (500, "intent-failed"),
        (507, "state-too-large"), (429, "intent-limited"), (503, "check-timeout"),
    ])
    func `another refusal is an error, and the next intent goes on`(status: Int, problem: String) throws {
        var play = try Play.live()
        play.send(1)
        let first = try play.request()
        play.send(2)
        play.refuse(first.id, status, problem, retryAfter: .seconds(60))
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .refused && !error.mayHaveRun)
        #expect(error.problem?.status == status && error.problem?.type == "/problems/\(problem)")
        #expect(try play.request().request["Idempotency-Key"] == "\"key-2\"")
    }

    @Test func `a page of a captive portal is no answer`() throws {
        var play = try Play.live()
        play.send(1)
        play.answer(try play.request().id, 200, "<p>Log in</p>", type: "text/html")
        #expect(play.outcomes.isEmpty)
        play.advance(by: .seconds(1))
        #expect(play.requests.count == 1)
    }

    @Test func `offline intents wait, and online they are sent in order`() throws {
        var play = try Play.live()
        play.handle(.online(false))
        play.send(1)
        play.send(2)
        #expect(play.requests.isEmpty)
        play.handle(.online(true))
        let first = try #require(play.requests.first { $0.method == "POST" })
        #expect(first["Idempotency-Key"] == "\"key-1\"")
    }

    @Test func `after a report of no network that was wrong, foreground frees the intents and the stream`() throws {
        var play = try Play.live()
        play.handle(.online(false))
        play.send(1)
        play.handle(.foreground)
        #expect(play.conditions == [.connecting])
        let intent = try #require(play.requests.first)
        #expect(intent["Idempotency-Key"] == "\"key-1\"" && play.requests.last?.target == "/events?feature=counter")
        #expect(try play.hello().contains(.show(.live)))
        // The same report again is none.
        #expect(play.handle(.online(false)).isEmpty)
        #expect(play.handle(.online(true)).isEmpty)
        #expect(play.handle(.online(false)).contains(.show(.offline)))
    }

    @Test func `after a report that was right, the network's return ends the wait at once`() throws {
        var play = try Play.live()
        play.handle(.online(false))
        play.send(1)
        play.handle(.foreground)
        let stream = try #require(play.stream)
        for case .start(let id, _) in play.commands where id != stream {
            play.handle(.end(id, TransportFailure(mayHaveReached: false)))
        }
        try play.end(cut: true)
        #expect(play.conditions == [.reconnecting(after: .seconds(3))])
        play.handle(.online(true))
        #expect(play.requests.map(\.method) == ["POST", "GET"])
    }

    @Test(arguments: [true, false])
    func `an intent is given up when its patience is over, and says whether it may have run`(wasSent: Bool) throws {
        var play = try Play.live(change: { $0.answerTime = .seconds(1_000) })
        if !wasSent { play.handle(.online(false)) }
        play.send(1)
        let sent = wasSent ? try play.request().id : nil
        play.advance(by: .seconds(10))
        play.send(2)
        play.advance(by: .seconds(290))
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .gaveUp && error.mayHaveRun == wasSent && error.problem == nil)
        if let sent {
            #expect(play.commands.contains(.cut(sent)))
            #expect(play.requests.contains { $0["Idempotency-Key"] == "\"key-2\"" })
        }
        #expect(play.outcomes[2] == nil)
    }

    @Test func `an answer that does not come in 30 seconds is a failed try`() throws {
        var play = try Play.live()
        play.send(1)
        let sent = try play.request().id
        play.advance(by: .seconds(30))
        #expect(play.commands.contains(.cut(sent)) && play.outcomes.isEmpty)
        play.advance(by: .seconds(1))
        #expect(play.requests.contains { $0["Idempotency-Key"] == "\"key-1\"" })
    }

    @Test func `beyond the bound an intent is refused at once`() throws {
        var play = try Play.live(change: { $0.queueLimit = 2 })
        play.send(1)
        play.send(2)
        play.send(3)
        guard case .failure(let error)? = play.outcomes[3] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .queueFull && play.outcomes.count == 1)
    }

    @Test(arguments: [(401, "unauthorized"), (404, "session-not-found")])
    func `an intent of an unknown session goes to a new one, made once`(status: Int, problem: String) throws {
        var play = try Play.live()
        play.send(1)
        let sent = try play.request()
        let stream = try #require(play.stream)
        play.refuse(sent.id, status, problem)
        #expect(play.commands.contains(.cut(stream)) && play.outcomes.isEmpty)
        let made = try play.request()
        #expect(made.request.target == "/sessions")
        // A click meanwhile waits.
        play.send(2)
        #expect(play.requests.isEmpty)
        play.answer(made.id, 201, #"{"id":"s2","token":"t2"}"#)
        let again = try #require(play.requests.first { $0.method == "POST" })
        #expect(again["Authorization"] == "Bearer t2" && again["Idempotency-Key"] == "\"key-1\"")
        #expect(play.requests.contains { $0.target == "/events?feature=counter" && $0["Authorization"] == "Bearer t2" })
    }

    @Test func `an intent that ran is over when its store shows it`() throws {
        var play = try Play.live()
        play.send(1, completion: .shown)
        play.accepted(try play.request().id, version: 4)
        #expect(play.outcomes.isEmpty)
        try play.state(3)
        #expect(play.outcomes.isEmpty)
        try play.state(4)
        #expect(play.outcomes == [1: Self.receipt(4)])
        play.send(2, completion: .shown)
        play.accepted(try play.request().id, version: 4)
        #expect(play.outcomes == [2: Self.receipt(4)])
    }

    @Test func `it does not wait for a store that is not watched, nor longer than its patience`() throws {
        var play = try Play.live()
        play.send(1, to: "todo", completion: .shown)
        play.accepted(try play.request().id, version: 4)
        #expect(play.outcomes == [1: Self.receipt(4)])
        play.send(2, completion: .shown)
        play.accepted(try play.request().id, version: 9)
        play.handle(.online(false))
        play.advance(by: .seconds(300))
        #expect(play.outcomes == [2: Self.receipt(9)])
    }

    @Test func `an intent whose caller is gone is not sent, unless it is on its way`() throws {
        var play = try Play.live()
        play.send(1)
        let first = try play.request()
        play.send(2)
        play.send(3)
        play.handle(.cancelIntent(2))
        play.handle(.cancelIntent(1))
        play.accepted(first.id, version: 2)
        #expect(try play.request().request["Idempotency-Key"] == "\"key-3\"")
    }

    @Test func `renewing the session fails what waits, ends the old session, and goes on in another`() throws {
        var play = try Play.live()
        play.send(1)
        play.handle(.renewSession)
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .sessionEnded && error.mayHaveRun)
        let farewell = try play.request()
        #expect(farewell.request.method == "DELETE" && farewell.request["Authorization"] == "Bearer \(Play.token)")
        play.send(2)
        #expect(play.requests.isEmpty && play.outcomes.isEmpty)
        play.answer(farewell.id, 204)
        let made = try play.request()
        #expect(made.request.target == "/sessions")
        play.answer(made.id, 201, #"{"id":"s2","token":"t2"}"#)
        #expect(play.requests.allSatisfy { $0["Authorization"] == "Bearer t2" } && play.requests.count == 2)
    }

    @Test func `in an ended session an intent fails at once`() throws {
        var play = try Play.live()
        try play.event("goaway", #"{"reason":"ended","retry":1000}"#)
        play.send(1)
        guard case .failure(let error)? = play.outcomes[1] else {
            Issue.record("\(play.commands)")
            return
        }
        #expect(error.code == .sessionEnded)
    }
}
