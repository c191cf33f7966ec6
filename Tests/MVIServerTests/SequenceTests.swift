import MVI
import MVITesting
import MicroHTTP
import SessionJournal
import TestSupport
import Testing

@testable import MVIServer

@Suite("Intent-Seq: order across requests", .timeLimit(.minutes(10)))
struct SequenceTests {
    private static let increment = #"{"type":"increment"}"#

    private func numbered(_ number: Int, epoch: String = "e") -> [(name: String, value: String)] {
        [("Intent-Seq", "\(number)"), ("Intent-Epoch", epoch)]
    }

    /// Returns true if `number` is the expected one: an intent with it runs, and one with the next does not.
    private func expects(
        _ number: Int, _ session: Credential, _ server: TestServer, of feature: String = "probe"
    ) async throws -> Bool {
        let ahead = try await server.send(session.intent(Self.increment, numbered(number + 1), to: feature))
        return ahead.problem == "out-of-sequence" && ahead["expected-seq"] == "\(number)"
    }

    private func count(_ session: Credential, _ server: TestServer) async throws -> Int {
        try await server.send(session.request("GET", "/features/probe/state")).json(Probe.State.self).count
    }

    @Test("the first number is 1, the next runs, a gap gets 409 with the expected number", arguments: Depth.allCases)
    func order(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            #expect(try await expects(1, session, server))
            for number in 1...3 {
                let response = try await server.send(session.intent(Self.increment, numbered(number)))
                #expect(response.status == 202 && response["idempotency-replayed"] == nil)
            }
            #expect(try await expects(4, session, server))
            #expect(try await count(session, server) == 3)
        }
    }

    @Test("a number that was used is answered from its receipt, by the retry's own Prefer", arguments: Depth.allCases)
    func replay(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let first = try await server.send(session.intent(Self.increment, numbered(1)))
            _ = try await server.send(session.intent(Self.increment, numbered(2)))
            let again = try await server.send(session.intent(Self.increment, numbered(1)))
            #expect(again.status == 202 && again.text == first.text)
            #expect(again["idempotency-replayed"] == "true")
            let state = try await server.send(
                session.intent(Self.increment, numbered(1) + [("Prefer", "return=representation")]))
            #expect(state.status == 200 && state["idempotency-replayed"] == "true")
            #expect(try state.json(Probe.State.self).count == 2)
            // With another body, or to another feature, it is another request.
            for other in [
                session.intent(#"{"type":"add","amount":5}"#, numbered(1)),
                session.intent(Self.increment, numbered(1), to: "item:1"),
            ] {
                let reused = try await server.send(other)
                #expect(reused.status == 422 && reused["idempotency-replayed"] == nil)
            }
            #expect(try await expects(3, session, server))
            #expect(try await count(session, server) == 2)
        }
    }

    @Test("numbers count over all features of a session, and for each epoch alone", arguments: Depth.allCases)
    func scope(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let weigh = #"{"type":"weigh","weight":2}"#
            #expect(try await server.send(session.intent(Self.increment, numbered(1))).status == 202)
            #expect(try await server.send(session.intent(weigh, numbered(2), to: "item:1")).status == 202)
            #expect(try await server.send(session.intent(Self.increment, numbered(3))).status == 202)
            #expect(try await server.send(session.intent(Self.increment, numbered(1, epoch: "f"))).status == 202)
            let other = try await server.session()
            #expect(try await server.send(other.intent(Self.increment, numbered(1))).status == 202)
            #expect(try await expects(4, session, server))
        }
    }

    /// A refused request with a number, and its refusal.
    struct Refused: Sendable, CustomTestStringConvertible {
        let status: Int
        let body: String
        var fields: [(name: String, value: String)] = []
        var isJSON = true
        var feature = "probe"
        var testDescription: String { "\(status) \(body.prefix(24)) \(fields.map(\.name))" }

        func request(_ session: Credential, _ number: [(name: String, value: String)]) -> TestRequest {
            session.request(
                "POST", "/features/\(feature)/intents",
                [("Content-Type", isJSON ? "application/json" : "text/plain")] + fields + number, body: body)
        }
    }

    static let final = [
        Refused(status: 400, body: "{"),
        Refused(status: 400, body: SequenceTests.increment, fields: [("If-Match", "1")]),
        Refused(status: 403, body: #"{"type":"secret"}"#),
        Refused(status: 412, body: SequenceTests.increment, fields: [("If-Match", "\"x.9\"")]),
        Refused(status: 412, body: #"{"type":"explode"}"#, fields: [("If-Match", "\"x.9\"")]),
        Refused(status: 413, body: String(repeating: " ", count: 2_000)),
        Refused(status: 415, body: SequenceTests.increment, isJSON: false),
        Refused(status: 415, body: SequenceTests.increment, fields: [("Content-Encoding", "gzip")]),
        Refused(status: 422, body: #"{"type":"explode"}"#),
        Refused(status: 422, body: #"{"type":"nonsense"}"#),
    ]

    @Test("a final refusal consumes the number and is repeated unchanged", arguments: final, Depth.allCases)
    func finalRefusal(_ refused: Refused, depth: Depth) async throws {
        try await TestServer.run(depth, { $0.bodyLimit = 1_024 }) { server in
            let session = try await server.session()
            let first = try await server.send(refused.request(session, numbered(1)))
            #expect(first.status == refused.status)
            #expect(first["idempotency-replayed"] == nil)
            #expect(try await expects(2, session, server))
            let again = try await server.send(refused.request(session, numbered(1)))
            #expect(again.status == first.status && again.text == first.text)
            #expect(again["idempotency-replayed"] == "true")
            #expect(try await server.send(session.intent(Self.increment, numbered(2))).status == 202)
            #expect(try await count(session, server) == 1)
        }
    }

    @FeatureBuilder
    private static func shared(_ gate: Gate) -> ServerContent {
        Shared { _ in Probe(gate: gate) }.allows(.everyone)
    }

    @Test(
        "a chunked body that is too large consumes the number, also in a shared store, also in a new one",
        arguments: ["probe", "probe:old", "probe:new"])
    func cutOff(feature: String) async throws {
        try await TestServer.run(
            .socket, content: { feature == "probe" ? TestServer.probes($0) : Self.shared($0) },
            { $0.bodyLimit = 1_024 }
        ) { server in
            let session = try await server.session()
            if feature == "probe:old" {
                #expect(try await server.send(session.intent(Self.increment, to: feature)).status == 202)
            }
            for isRepeated in [false, true] {
                let response = try await offThePool { [port = server.port] in
                    let connection = try Connection(port: port)
                    try connection.send(
                        "POST /features/\(feature)/intents HTTP/1.1\r\nHost: localhost\r\n"
                            + "Authorization: Bearer \(session.secret)\r\nContent-Type: application/json\r\n"
                            + "Intent-Seq: 1\r\nIntent-Epoch: e\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "800\r\n\(String(repeating: " ", count: 2_048))\r\n")
                    return try connection.response(to: "POST")
                }
                #expect(response.problem == "body-too-large")
                #expect(response["idempotency-replayed"] == (isRepeated ? "true" : nil))
            }
            #expect(try await expects(2, session, server, of: feature))
        }
    }

    @Test(
        "a chunked body that is too large consumes the number also in a session that left memory, if it is its own",
        arguments: [true, false])
    func cutOffWhileLoading(isOwn: Bool) async throws {
        try await TestServer.run(.memory) { server in
            let session = try await server.session()
            try server.leaveMemory()
            let request = session.request(
                "POST", "/features/probe/intents", numbered(1) + [("MVI-Session", isOwn ? session.id : "another")])
            let head = RequestHead(
                method: "POST", path: Array(request.target.utf8), query: nil,
                fields: HeaderFields(request.fields + [("Host", "localhost"), ("Transfer-Encoding", "chunked")]))
            let fault = RequestFault(.bodyTooLarge, "The body may have 1024 bytes at most.")
            #expect(server.assembly.application.response(to: fault, head: head).status == 413)
            #expect(try await expects(isOwn ? 2 : 1, session, server))
        }
    }

    static let transient = [
        Refused(status: 403, body: SequenceTests.increment, fields: [("Origin", "https://evil.example")]),
        Refused(status: 404, body: SequenceTests.increment, feature: "nobody"),
        Refused(status: 409, body: SequenceTests.increment, fields: [("MVI-Session", "another")]),
        Refused(
            status: 409, body: String(repeating: " ", count: 2_000_000), fields: [("MVI-Session", "another")],
            isJSON: false),
        Refused(status: 404, body: SequenceTests.increment, feature: "item:11"),
        Refused(status: 429, body: #"{"type":"hurry"}"#),
        Refused(status: 500, body: #"{"type":"fail"}"#),
        Refused(status: 500, body: #"{"type":"poison"}"#),
        Refused(status: 507, body: #"{"type":"grow","bytes":900}"#),
    ]

    @Test("other refusals do not consume the number", arguments: transient, Depth.allCases)
    func transientRefusal(_ refused: Refused, depth: Depth) async throws {
        try await TestServer.run(depth, { $0.maxStateBytes = 512 }) { server in
            let session = try await server.session()
            let first = try await server.send(refused.request(session, numbered(1)))
            #expect(first.status == refused.status)
            #expect(try await expects(1, session, server))
            let next = try await server.send(session.intent(Self.increment, numbered(1)))
            #expect(next.status == 202 && next["idempotency-replayed"] == nil)
        }
    }

    @Test("a missing credential and a failing journal do not consume the number", arguments: Depth.allCases)
    func notTaken(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            var stranger = session.intent(Self.increment, numbered(1))
            stranger.fields.removeFirst()
            #expect(try await server.send(stranger).status == 401)
            for (code, status) in [(StoreError.Code.unavailable, 503), (.full, 507)] {
                server.journal.fail(code)
                // The first would run, the others would be refused for good.
                for body in [Self.increment, "{", #"{"type":"secret"}"#] {
                    #expect(try await server.send(session.intent(body, numbered(1))).status == status)
                }
                #expect(
                    try await server.send(
                        session.request("POST", "/features/probe/intents", numbered(1), body: "x")
                    ).status == status)
                server.journal.fail(nil)
            }
            #expect(try await expects(1, session, server))
            #expect(try await server.send(session.intent(Self.increment, numbered(1))).status == 202)
        }
    }

    static let malformed: [[(name: String, value: String)]] = [
        [("Intent-Seq", "1")], [("Intent-Epoch", "e")],
        [("Intent-Seq", "0"), ("Intent-Epoch", "e")], [("Intent-Seq", "-1"), ("Intent-Epoch", "e")],
        [("Intent-Seq", "01"), ("Intent-Epoch", "e")], [("Intent-Seq", "1.0"), ("Intent-Epoch", "e")],
        [("Intent-Seq", "9223372036854775808"), ("Intent-Epoch", "e")],
        [("Intent-Seq", "1"), ("Intent-Epoch", "")], [("Intent-Seq", "1"), ("Intent-Epoch", "a b")],
        [("Intent-Seq", "1"), ("Intent-Epoch", String(repeating: "e", count: 129))],
        [("Intent-Seq", "1"), ("Intent-Seq", "2"), ("Intent-Epoch", "e")],
        [("Intent-Seq", "1"), ("Intent-Epoch", "e"), ("Intent-Epoch", "f")],
        [("Intent-Seq", "1"), ("Intent-Epoch", "e"), ("Idempotency-Key", "k")],
    ]

    @Test("malformed fields, and an additional Idempotency-Key, get 400", arguments: malformed)
    func malformedFields(_ fields: [(name: String, value: String)]) async throws {
        for depth in Depth.allCases {
            try await TestServer.run(depth) { server in
                let session = try await server.session()
                let response = try await server.send(session.intent(Self.increment, fields))
                #expect(response.problem == "bad-request")
                #expect(try await server.send(session.intent(Self.increment, numbered(1))).status == 202)
            }
        }
    }

    @Test(
        "while an intent with a number is not committed, its repetition waits, and the next number runs after it",
        arguments: Depth.allCases)
    func underWay(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.request("GET", "/features/probe/state"))
            server.journal.hold()
            let first = Task { try await server.send(session.intent(Self.increment, numbered(1))) }
            try await server.journal.untilHeld()
            let second = try await server.send(session.intent(Self.increment, numbered(1)))
            #expect(second.problem == "intent-in-progress" && second["retry-after"] == "1")
            let next = Task { try await server.send(session.intent(Self.increment, numbered(2))) }
            server.journal.release()
            #expect(try await first.value.status == 202)
            // Judged when its turn comes, or on arrival after that.
            #expect(try await next.value.status == 202)
            let again = try await server.send(session.intent(Self.increment, numbered(1)))
            #expect(again.status == 202 && again["idempotency-replayed"] == "true")
            #expect(try await count(session, server) == 2)
        }
    }

    @Test("a refusal is answered only after its commit", arguments: Depth.allCases)
    func refusalWaits(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.request("GET", "/features/probe/state"))
            for (number, request) in [
                session.intent("{", numbered(1)),
                session.request("POST", "/features/probe/intents", numbered(2), body: "x"),
            ].enumerated() {
                server.journal.hold()
                let appended = server.journal.appended
                let first = Task { try await server.send(request) }
                while server.journal.waiting == 0 { await Task.yield() }
                #expect(server.journal.appended == appended + 1)
                let second = try await server.send(request)
                #expect(second.problem == "intent-in-progress" && second["retry-after"] == "1")
                server.journal.release()
                #expect(try await first.value.status == (number == 0 ? 400 : 415))
                #expect(try await expects(number + 2, session, server))
            }
        }
    }

    @Test(
        "numbers and receipts survive an eviction of the session and a restart",
        arguments: Absence.allCases, Depth.allCases)
    func outlive(absence: Absence, depth: Depth) async throws {
        let forbidden = #"{"type":"secret"}"#
        try await absence.test(depth) { server in
            let session = try await server.session()
            let ran = try await server.send(session.intent(Self.increment, numbered(1)))
            let refused = try await server.send(session.intent(forbidden, numbered(2)))
            #expect(ran.status == 202 && refused.status == 403)
            return (session, ran, refused)
        } after: { server, before in
            let (session, ran, refused) = before
            #expect(try await expects(3, session, server))
            for (number, body, answer) in [(1, Self.increment, ran), (2, forbidden, refused)] {
                let again = try await server.send(session.intent(body, numbered(number)))
                #expect(again.status == answer.status && again.text == answer.text)
                #expect(again["idempotency-replayed"] == "true")
            }
            #expect(try await server.send(session.intent(Self.increment, numbered(3))).status == 202)
            #expect(try await count(session, server) == 2)
        }
    }
}
