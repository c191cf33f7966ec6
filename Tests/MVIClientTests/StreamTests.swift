import Testing

@testable import MVIClient

@Suite("The stream")
struct StreamTests {
    @Test func `a store that is watched leads to a session and a stream with its credential`() throws {
        var play = Play()
        #expect(play.handle(.watch("counter")) == [.loadCredential, .show(.connecting)])
        play.handle(.credential(.success(nil)))
        let made = try play.request()
        #expect(made.request.body == Array(#"{"credential":"bearer"}"#.utf8))
        play.answer(made.id, 201, #"{"id":"s1","token":"t"}"#)
        #expect(play.commands.contains(.saveCredential("t")))
        let stream = try play.request().request
        #expect(stream.target == "/events?feature=counter")
        #expect(stream["Authorization"] == "Bearer t")
        #expect(stream["Accept"] == "text/event-stream" && stream["Last-Event-ID"] == nil)
        #expect(try play.hello().contains(.show(.live)))
        #expect(try play.state(1) == [.deliver(feature: "counter", .count(1))])
    }

    @Test func `a session by cookie sends the cookie and no token`() throws {
        var play = Play { $0.credential = .cookie }
        play.handle(.watch("counter"))
        play.handle(.credential(.success(nil)))
        let made = try play.request()
        #expect(made.request.body == Array(#"{"credential":"cookie"}"#.utf8))
        play.answer(made.id, 201, #"{"id":"s1"}"#, cookie: "mvi_session=abc; Path=/; HttpOnly")
        let stream = try play.request().request
        #expect(stream["Cookie"] == "mvi_session=abc" && stream["Authorization"] == nil)
    }

    @Test func `stores that are watched in one turn share one stream`() throws {
        var play = Play { $0.gatherTime = .milliseconds(5) }
        play.handle(.credential(.success(nil)))
        play.handle(.watch("b:7"))
        play.handle(.watch("a"))
        #expect(play.connection.deadline == .milliseconds(5))
        play.handle(.credential(.success("t")))
        #expect(play.requests.isEmpty)
        play.advance(by: .milliseconds(5))
        #expect(try play.request().request.target == "/events?feature=a&feature=b:7")
    }

    @Test func `another watched store opens the stream anew with the cursor`() throws {
        var play = try Play.live()
        let first = try #require(play.stream)
        try play.state(2, id: "e1.2")
        play.handle(.watch("todo"))
        #expect(play.commands.first == .cut(first))
        let stream = try play.request().request
        #expect(stream.target == "/events?feature=counter&feature=todo" && stream["Last-Event-ID"] == "e1.2")
        // What still comes of the old one is nothing.
        #expect(play.handle(.bytes(first, Array("event: state\ndata: {\n\n".utf8))).isEmpty)
    }

    @Test func `while another watched store opens a healthy stream anew, the client stays live`() throws {
        var play = try Play.live()
        play.handle(.watch("todo"))
        #expect(play.conditions.isEmpty)
        play.handle(.watch("tally"))
        #expect(play.conditions.isEmpty)
        try play.hello()
        #expect(play.conditions.isEmpty)
        play.handle(.unwatch("tally"))
        try play.end(cut: true)
        #expect(play.conditions == [.reconnecting(after: .seconds(3))])
        play.handle(.unwatch("todo"))
        play.handle(.foreground)
        #expect(play.conditions == [.connecting])
    }

    @Test func `a stream that is opened anew and does not answer is lost`() throws {
        var play = try Play.live()
        play.handle(.watch("todo"))
        play.advance(by: .seconds(50))
        #expect(play.conditions == [.reconnecting(after: .seconds(3))])
    }

    @Test func `without a watched store there is no stream`() throws {
        var play = try Play.live()
        let first = try #require(play.stream)
        #expect(play.handle(.unwatch("counter")) == [.cut(first), .show(.idle)])
    }

    @Test func `another watcher of a shown store sees its state at once`() throws {
        var play = try Play.live()
        #expect(play.handle(.watch("counter")) == [.deliver(feature: "counter", .count(1))])
    }

    @Test func `a lost stream comes back after base times two to the number of failures, at most 30 seconds`() throws {
        var play = try Play.live()
        try play.write("retry: 400\n\n")
        for wait in [400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000] {
            try play.end(cut: true)
            #expect(play.conditions == [.reconnecting(after: .milliseconds(wait))])
            #expect(play.advance(by: .milliseconds(wait - 1)).isEmpty)
            play.advance(by: .milliseconds(1))
            #expect(try play.request().request["Last-Event-ID"] == "e1.1")
        }
        try play.hello()
        try play.end(cut: true)
        #expect(play.conditions == [.reconnecting(after: .milliseconds(400))])
    }

    @Test(arguments: [(0.0, 200), (0.5, 300), (1.0, 400)])
    func `chance chooses a wait between its half and its whole`(random: Double, wait: Int) throws {
        var play = try Play.live(random: random)
        try play.write("retry: 400\n\n")
        try play.end(cut: true)
        #expect(play.conditions == [.reconnecting(after: .milliseconds(wait))])
    }

    @Test func `an accepted stream without hello does not make the waits short again`() throws {
        var play = try Play.live()
        try play.write("retry: 400\n\n")
        try play.end()
        play.advance(by: .milliseconds(400))
        play.accept(try #require(play.stream))
        try play.write(": ok\n\n")
        try play.end()
        #expect(play.conditions == [.reconnecting(after: .milliseconds(800))])
    }

    @Test func `a stream that is silent for two and a half heartbeats is cut and opened anew`() throws {
        var play = try Play.live()
        let first = try #require(play.stream)
        play.now += .seconds(30)
        try play.write(": still here\n")
        #expect(play.advance(by: .milliseconds(49_999)).isEmpty)
        play.advance(by: .milliseconds(1))
        #expect(play.commands.first == .cut(first))
        #expect(try play.request().request["Last-Event-ID"] == "e1.1")
    }

    @Test func `a connection that gets no head in that time is a failure`() throws {
        var play = Play()
        try play.connect()
        play.advance(by: .seconds(50))
        #expect(play.conditions == [.reconnecting(after: .seconds(3))])
    }

    @Test func `a client that waits tries at once in the foreground, and keeps its count of failures`() throws {
        var play = try Play.live()
        try play.write("retry: 1000\n\n")
        try play.end(cut: true)
        play.handle(.foreground)
        #expect(try play.request().request.target == "/events?feature=counter")
        try play.end(cut: true)
        #expect(play.conditions == [.reconnecting(after: .seconds(2))])
    }

    @Test func `offline nothing is tried, and online it is tried at once`() throws {
        var play = try Play.live()
        let first = try #require(play.stream)
        #expect(play.handle(.online(false)) == [.cut(first), .show(.offline)])
        #expect(play.advance(by: .seconds(600)).isEmpty && play.connection.deadline == nil)
        play.handle(.online(true))
        #expect(try play.request().request["Last-Event-ID"] == "e1.1")
    }

    @Test func `a superseded stream comes back in the foreground only`() throws {
        var play = try Play.live()
        try play.event("goaway", #"{"reason":"superseded","retry":60000}"#)
        #expect(play.conditions == [.paused])
        #expect(play.advance(by: .seconds(600)).isEmpty)
        play.handle(.online(false))
        play.handle(.online(true))
        #expect(play.requests.isEmpty)
        play.handle(.foreground)
        #expect(play.requests.count == 1)
    }

    @Test(arguments: ["drain", "rotate", "busy", "something-new"])
    func `after goaway it comes back when it is told, without a failure`(reason: String) throws {
        var play = try Play.live(random: 0)
        for _ in 0..<3 {
            try play.event("goaway", #"{"reason":"\#(reason)","retry":2000}"#)
            #expect(play.conditions == [.reconnecting(after: .seconds(2))])
            play.advance(by: .seconds(2))
            #expect(play.requests.count == 1)
            play.accept(try #require(play.stream))
        }
    }

    @Test func `goaway with expired makes another session and forgets the cursor`() throws {
        var play = try Play.live()
        try play.event("goaway", #"{"reason":"expired","retry":1000}"#)
        let made = try play.request()
        #expect(made.request.target == "/sessions")
        play.answer(made.id, 201, #"{"id":"s2","token":"t2"}"#)
        let stream = try play.request().request
        #expect(stream["Authorization"] == "Bearer t2" && stream["Last-Event-ID"] == nil)
    }

    @Test func `204, session-ended and goaway with ended end the client`() throws {
        var play = try Play.live()
        try play.event("goaway", #"{"reason":"ended","retry":1000}"#)
        #expect(play.conditions == [.ended] && play.commands.contains(.saveCredential(nil)))
        #expect(play.advance(by: .seconds(600)).isEmpty)
        play = Play()
        try play.connect()
        play.handle(.head(try #require(play.stream), HTTPAnswer(status: 204)))
        #expect(play.conditions == [.ended])
        play = Play()
        try play.connect()
        play.refuse(try #require(play.stream), 404, "session-ended")
        #expect(play.conditions == [.ended])
    }

    @Test func `an ended client begins again when the app wants another session`() throws {
        var play = try Play.live()
        try play.event("goaway", #"{"reason":"ended","retry":1000}"#)
        play.handle(.renewSession)
        let made = try play.request()
        #expect(made.request.target == "/sessions")
        play.answer(made.id, 201, #"{"id":"s2","token":"t2"}"#)
        #expect(try play.request().request["Authorization"] == "Bearer t2")
    }

    @Test(arguments: [(401, "unauthorized"), (404, "session-not-found")])
    func `a session that the server does not know is replaced`(status: Int, problem: String) throws {
        var play = try Play.live()
        try play.end(cut: true)
        play.advance(by: .seconds(3))
        play.refuse(try #require(play.stream), status, problem)
        #expect(try play.request().request.target == "/sessions")
    }

    @Test func `sessions that are never known are made with growing times in between`() throws {
        var play = Play()
        try play.connect()
        var waits: [Duration] = []
        for number in 2...6 {
            play.refuse(try #require(play.stream), 404, "session-not-found")
            if let wait = play.connection.deadline, play.requests.isEmpty {
                waits.append(wait - play.now)
                play.advance(by: wait - play.now)
            }
            let made = try play.request()
            play.answer(made.id, 201, #"{"id":"s\#(number)","token":"t\#(number)"}"#)
        }
        #expect(waits == [.seconds(0.5), .seconds(1), .seconds(2), .seconds(4)])
    }

    @Test(arguments: [400, 406])
    func `a stream that is refused for good is not asked for again`(status: Int) throws {
        var play = Play()
        try play.connect()
        play.refuse(try #require(play.stream), status, "bad-request")
        #expect(play.conditions.count == 1 && play.connection.deadline == nil)
        guard case .failed(let problem)? = play.conditions.first else {
            Issue.record("\(play.conditions)")
            return
        }
        #expect(problem.status == status && problem.type == "/problems/bad-request")
    }

    @Test(arguments: [(503, "text/html"), (200, "text/html"), (404, "text/html"), (200, "application/json"), (500, "")])
    func `what is not the server's is tried again`(status: Int, type: String) throws {
        var play = Play()
        try play.connect()
        play.answer(try #require(play.stream), status, "<p>", type: type)
        #expect(play.conditions == [.reconnecting(after: .seconds(3))])
    }

    @Test func `Retry-After is obeyed up to five minutes`() throws {
        var play = Play(random: 0)
        try play.connect()
        play.refuse(try #require(play.stream), 503, "busy", retryAfter: .seconds(90))
        #expect(play.conditions == [.reconnecting(after: .seconds(90))])
        play.advance(by: .seconds(90))
        play.refuse(try #require(play.stream), 429, "too-many-connections", retryAfter: .seconds(86_400))
        #expect(play.conditions == [.reconnecting(after: .seconds(300))])
    }

    @Test func `the one refused feature of several is found, and the others go on`() throws {
        var play = Play()
        try play.connect("counter", "nope")
        play.refuse(try #require(play.stream), 404, "feature-not-found")
        let looks = play.commands.compactMap { command -> (ExchangeID, String)? in
            guard case .start(let id, let request) = command else { return nil }
            #expect(request.method == "HEAD")
            return (id, request.target)
        }
        #expect(looks.map(\.1) == ["/events?feature=counter", "/events?feature=nope"])
        play.answer(looks[0].0, 200)
        play.answer(looks[1].0, 404)
        #expect(play.commands.first == .deliver(feature: "nope", .missing))
        #expect(try play.request().request.target == "/events?feature=counter")
    }

    @Test func `a client that is closed asks for nothing more`() throws {
        var play = try Play.live()
        let stream = try #require(play.stream)
        play.send(1)
        let intent = try play.request().id
        play.handle(.close)
        #expect(play.commands.contains(.cut(stream)) && play.commands.contains(.cut(intent)))
        #expect(play.conditions == [.closed])
        var error = ClientConnection.closedError
        error.mayHaveRun = true
        #expect(play.outcomes == [1: .failure(error)])
        #expect(play.handle(.foreground).isEmpty && play.handle(.watch("todo")).isEmpty)
        #expect(play.connection.deadline == nil)
        play.send(2)
        #expect(play.outcomes == [2: .failure(ClientConnection.closedError)])
    }

    @Test func `a credential storage that cannot be read makes no session, and is asked again`() throws {
        var play = Play()
        play.handle(.watch("counter"))
        play.handle(.credential(.failure(CredentialFailure())))
        #expect(play.requests.isEmpty)
        #expect(play.advance(by: .seconds(1)).contains(.loadCredential))
        play.handle(.credential(.success("kept")))
        #expect(try play.request().request["Authorization"] == "Bearer kept")
    }

    @Test func `a feature's id is escaped where it is no plain text`() {
        #expect(ClientConnection.escaped("order:a-B_9.~") == "order:a-B_9.~")
        #expect(ClientConnection.escaped("a&b=c/ü ") == "a%26b%3Dc%2F%C3%BC%20")
    }
}
