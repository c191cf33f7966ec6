import MVITesting
import Testing

@testable import MVIServer

@Suite("Intents", .timeLimit(.minutes(10)))
struct IntentTests {
    struct Accepted: Decodable {
        var intent: String
        var session: String
        var feature: String
        var version: Int
    }

    @Test("202 names the intent, the session, the feature and the version", arguments: Depth.allCases)
    func accepted(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let response = try await server.send(session.intent(#"{"type":"add","amount":5}"#))
            #expect(response.status == 202)
            #expect(response["content-type"] == "application/json")
            #expect(response["cache-control"] == "no-store")
            #expect(response["vary"] == "Authorization, Cookie, Origin, Prefer")
            let accepted = try response.json(Accepted.self)
            #expect(accepted.session == session.id)
            #expect(accepted.feature == "probe")
            #expect(accepted.version == 2)
            #expect(!accepted.intent.isEmpty)
        }
    }

    @Test("return=representation answers the state with its tag", arguments: Depth.allCases)
    func representation(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let response = try await server.send(
                session.intent(#"{"type":"add","amount":5}"#, [("Prefer", "return=representation")]))
            #expect(response.status == 200)
            #expect(response["preference-applied"] == "return=representation")
            #expect(try response.json(Probe.State.self).count == 5)
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(state["etag"] == response["etag"])
            #expect(state.text == response.text)
        }
    }

    @Test("return=minimal answers nothing", arguments: Depth.allCases)
    func minimal(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let response = try await server.send(
                session.intent(#"{"type":"nothing"}"#, [("Prefer", "return=minimal")]))
            #expect(response.status == 204)
            #expect(response.body.isEmpty)
            #expect(response["preference-applied"] == "return=minimal")
        }
    }

    @Test("wait answers 200 after the intent's work", arguments: Depth.allCases)
    func settled(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let waiting = Task {
                try await server.send(session.intent(#"{"type":"load"}"#, [("Prefer", "wait=5")]))
            }
            await server.clock.sleepers(atLeast: 1)
            server.gate.open()
            let response = try await waiting.value
            #expect(response.status == 200)
            #expect(response["preference-applied"] == "wait=5")
            #expect(try response.json(Probe.State.self).count == 100)
        }
    }

    @Test("wait answers 202 at the timeout", arguments: Depth.allCases)
    func timeOver(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let waiting = Task {
                try await server.send(
                    session.intent(#"{"type":"load"}"#, [("Prefer", "wait=3, return=minimal")]))
            }
            await server.clock.sleepers(atLeast: 1)
            server.clock.advance(by: .seconds(3))
            let response = try await waiting.value
            #expect(response.status == 202)
            #expect(response["preference-applied"] == "wait=3")
            #expect(try response.json(Accepted.self).version == 2)
        }
    }

    @Test("above the limit of waits the answer is 202 at once", arguments: Depth.allCases)
    func noPlaceToWait(depth: Depth) async throws {
        try await TestServer.run(depth, { $0.maxWaits = 1 }) { server in
            let first = try await server.session()
            let second = try await server.session()
            let waiting = Task {
                try await server.send(first.intent(#"{"type":"load"}"#, [("Prefer", "wait=5")]))
            }
            await server.clock.sleepers(atLeast: 1)
            let response = try await server.send(second.intent(#"{"type":"load"}"#, [("Prefer", "wait=5")]))
            #expect(response.status == 202)
            #expect(response["preference-applied"] == nil)
            server.gate.open()
            #expect(try await waiting.value.status == 200)
        }
    }

    @Test("a repeated key is answered from its receipt, by the retry's own Prefer", arguments: Depth.allCases)
    func replay(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let first = try await server.send(
                session.intent(#"{"type":"add","amount":5}"#, [("Idempotency-Key", "\"k-1\"")]))
            #expect(first.status == 202)
            #expect(first["idempotency-replayed"] == nil)
            #expect(try first.json(Accepted.self).intent == "k-1")
            let again = try await server.send(
                session.intent(#"{"type":"add","amount":5}"#, [("Idempotency-Key", "k-1")]))
            #expect(again.status == 202)
            #expect(again["idempotency-replayed"] == "true")
            #expect(again.text == first.text)
            let state = try await server.send(
                session.intent(
                    #"{"type":"add","amount":5}"#,
                    [("Idempotency-Key", "k-1"), ("Prefer", "return=representation")]))
            #expect(state.status == 200)
            #expect(try state.json(Probe.State.self).count == 5)
        }
    }

    @Test("a refused intent leaves no receipt: its key is free", arguments: Depth.allCases)
    func refusalFreesKey(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            for body in [#"{"type":"add"}"#, #"{"type":"secret"}"#, #"{"type":"fail"}"#] {
                let refused = try await server.send(session.intent(body, [("Idempotency-Key", "k")]))
                #expect(refused.problem != nil)
            }
            let response = try await server.send(
                session.intent(#"{"type":"add","amount":5}"#, [("Idempotency-Key", "k")]))
            #expect(response.status == 202)
            #expect(response["idempotency-replayed"] == nil)
        }
    }

    @Test("If-Match runs the intent on one of the states that it names", arguments: Depth.allCases)
    func precondition(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let tag = try #require(
                try await server.send(session.request("GET", "/features/probe/state"))["etag"])
            let intent = #"{"type":"increment"}"#
            #expect(try await server.send(session.intent(intent, [("If-Match", "\"x.1\", \(tag)")])).status == 202)
            #expect(try await server.send(session.intent(intent, [("If-Match", tag)])).status == 412)
            #expect(try await server.send(session.intent(intent, [("If-Match", "*")])).status == 202)
        }
    }

    @Test("a failed intent is undone", arguments: Depth.allCases)
    func undone(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let before = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try await server.send(session.intent(#"{"type":"fail"}"#)).status == 500)
            let after = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(after["etag"] == before["etag"])
            #expect(try await server.send(session.intent(#"{"type":"increment"}"#)).status == 202)
        }
    }

    @Test("422 names the place and, for an unknown type, the intents that there are", arguments: Depth.allCases)
    func namesThePlace(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let mistyped = try await server.send(session.intent(#"{"type":"add","amount":"five"}"#))
            let problem = try mistyped.json(TestResponse.Problem.self)
            #expect(problem.errors?.map(\.pointer) == ["/amount"])
            #expect(problem.instance == "/features/probe/intents")
            let unknown = try await server.send(session.intent(#"{"type":"explode"}"#))
            let detail = try unknown.json(TestResponse.Problem.self).detail
            #expect(detail.contains("increment, add, say, load"))
        }
    }

    @Test("429 of an interceptor has a Retry-After in whole seconds", arguments: Depth.allCases)
    func retryAfter(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let response = try await server.send(try await server.session().intent(#"{"type":"hurry"}"#))
            #expect(response["retry-after"] == "3")
        }
    }

    @Test("an intent with a key names the instance that it goes to", arguments: Depth.allCases)
    func keyed(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            for id in ["item:7", "item%3A7"] {
                let response = try await server.send(session.intent(#"{"type":"weigh","weight":2.5}"#, to: id))
                #expect(try response.json(Accepted.self).feature == "item:7")
            }
            let state = try await server.send(session.request("GET", "/features/item:7/state"))
            #expect(state.text == #"{"id":"7","weight":2.5}"#)
        }
    }
}
