import Locking
import MVI
import MVITesting
import MicroHTTP
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("A session whose turns another node runs", .timeLimit(.minutes(2)))
struct NodePairTests {
    private static let increment = #"{"type":"increment"}"#

    private func count(_ server: TestServer, _ session: Credential) async throws -> Int {
        let state = try await server.send(session.request("GET", "/features/probe/state"))
        return try state.json(Probe.State.self).count
    }

    @Test("an intent runs there, and its client sees no difference", arguments: Depth.allCases)
    func intent(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            let plain = try await pair.near.send(session.intent(Self.increment))
            #expect(plain.status == 202)
            #expect(try plain.json(IntentTests.Accepted.self).version == 4)
            let state = try await pair.near.send(
                session.intent(Self.increment, [("Prefer", "return=representation"), ("If-Match", "*")]))
            #expect(state.status == 200 && state["preference-applied"] == "return=representation")
            #expect(try state.json(Probe.State.self).count == 3)
            #expect(state["etag"] != nil)
            #expect(try await count(pair.far, session) == 3)
            #expect(pair.recorder.sent.count == 2)
        }
    }

    @Test("a refusal comes back byte for byte, with its fields", arguments: Depth.allCases)
    func refusals(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            for (body, fields) in [
                (#"{"type":"fail"}"#, []), (#"{"type":"poison"}"#, []), (#"{"type":"hurry"}"#, []),
                (#"{"type":"grow","bytes":2000000}"#, []),
                (Self.increment, [("If-Match", #""nothing""#)]),
                (Self.increment, [("Intent-Seq", "9"), ("Intent-Epoch", "e")]),
            ] as [(String, [(name: String, value: String)])] {
                func answer(_ server: TestServer) async throws -> TestResponse {
                    try await server.send(session.intent(body, fields))
                }
                let (near, far) = (try await answer(pair.near), try await answer(pair.far))
                #expect(near.status == far.status && near.status >= 400)
                // The name of the failing intent is new each time.
                if !far.text.contains("failed while it handled the intent") { #expect(near.text == far.text) }
                func shown(_ response: TestResponse) -> Set<String> {
                    let ofTheConnection: Set = ["date", "connection", "content-length"]
                    return Set(
                        response.fields.map { "\($0.name.lowercased()): \($0.value)" }.filter {
                            !ofTheConnection.contains(String($0.prefix { $0 != ":" }))
                        })
                }
                #expect(shown(near) == shown(far))
            }
        }
    }

    @Test("a refusal by the head consumes a number at the owner", arguments: Depth.allCases)
    func numbers(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            func numbered(_ number: Int, _ type: String) -> TestRequest {
                session.request(
                    "POST", "/features/probe/intents",
                    [("Content-Type", type), ("Intent-Seq", "\(number)"), ("Intent-Epoch", "e")], body: Self.increment)
            }
            #expect(try await pair.near.send(numbered(1, "text/plain")).problem == "unsupported-media-type")
            let again = try await pair.near.send(numbered(1, "text/plain"))
            #expect(again.problem == "unsupported-media-type" && again["idempotency-replayed"] == "true")
            // Otherwise it regards the first number as unused.
            try await pair.catchUp(session)
            #expect(try await pair.near.send(numbered(2, "application/json")).status == 202)
            #expect(try await count(pair.far, session) == 2)
        }
    }

    @Test("a repetition with the same key runs once, whichever node takes it", arguments: Depth.allCases)
    func keys(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            let request = session.intent(Self.increment, [("Idempotency-Key", #""k""#)])
            let first = try await pair.near.send(request)
            let second = try await pair.far.send(request)
            #expect(first.status == 202 && second["idempotency-replayed"] == "true" && first.text == second.text)
            #expect(try await count(pair.far, session) == 2)
        }
    }

    @Test("a request with another session's MVI-Session is refused by both nodes", arguments: Depth.allCases)
    func otherSession(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            func asked(_ id: String) -> [TestRequest] {
                let fields = [("MVI-Session", id), ("Intent-Seq", "1"), ("Intent-Epoch", "e")]
                return [
                    session.intent(Self.increment, fields), session.request("GET", "/features/item:1/state", fields),
                    session.request("GET", "/features/item:2/events", fields),
                    session.request("DELETE", "/features/item:1/state", fields),
                ]
            }
            for request in asked("another") {
                for server in [pair.near, pair.far] {
                    #expect(try await server.send(request).problem == "other-session")
                }
            }
            #expect(pair.recorder.sent.isEmpty)
            for request in asked(session.id) {
                #expect([200, 202, 204].contains(try await pair.near.send(request).status))
            }
            // The owner checks it as well.
            #expect(pair.recorder.sent.count >= 3)
            for sent in pair.recorder.sent { #expect(sent.fields.contains { $0 == ("mvi-session", session.id) }) }
            #expect(try await count(pair.far, session) == 2)
        }
    }

    @Test("the client's wait continues at the owner", arguments: Depth.allCases)
    func wait(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            let answer = Task {
                try await pair.near.send(session.intent(#"{"type":"load"}"#, [("Prefer", "wait=9")]))
            }
            await pair.far.gate.waiters()
            #expect(pair.recorder.sent.last?.timeout == .seconds(17))
            pair.far.gate.open()
            let response = try await answer.value
            #expect(response.status == 200 && response["preference-applied"] == "wait=9")
            #expect(try response.json(Probe.State.self).count == 101)
        }
    }

    @Test("a disposal runs at the owner", arguments: Depth.allCases)
    func disposal(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            #expect(try await pair.near.send(session.request("DELETE", "/features/probe/state")).status == 204)
            #expect(pair.recorder.sent.map(\.method) == ["DELETE"])
            #expect(try await count(pair.far, session) == 0)
        }
    }

    @Test("a missing store is made at the owner, and its state is answered here", arguments: Depth.allCases)
    func state(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            let state = try await pair.near.send(session.request("GET", "/features/item:1/state"))
            #expect(state.status == 200)
            let tag = try #require(state["etag"])
            #expect(try await pair.far.send(session.request("GET", "/features/item:1/state"))["etag"] == tag)
            let known = session.request("GET", "/features/item:1/state", [("If-None-Match", tag)])
            #expect(try await pair.near.send(known).status == 304)
            let head = try await pair.near.send(session.request("HEAD", "/features/item:2/state"))
            #expect(head.status == 200)
            #expect(pair.recorder.sent.map(\.target) == ["/features/item:1/state"])
        }
    }

    @Test("a stream's stores are made at the owner, and the stream stays here", arguments: Depth.allCases)
    func stream(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            let stream = try await pair.near.send(
                session.request("GET", "/events?feature=probe&feature=item:1&feature=item:2"))
            #expect(stream.status == 200 && stream["content-type"] == "text/event-stream; charset=utf-8")
            #expect(stream.text.contains(#""features":["item:1","item:2","probe"]"#))
            let made = Set(pair.recorder.sent.map(\.target))
            #expect(made == ["/features/item:1/state", "/features/item:2/state"])
            #expect(try pair.near.live(session).hasStore(FeatureID(name: "item", key: "2")))
        }
    }

    @Test("a stream shows the stores for which the session has room, and names the others", arguments: Depth.allCases)
    func refusedStream(depth: Depth) async throws {
        let limit: (inout ServerSettings) -> Void = { $0.maxStoresPerSession = 3 }
        try await NodePair.run(depth, near: limit, far: limit) { pair in
            let session = try await pair.session()
            _ = try await pair.near.send(session.request("GET", "/features/item:1/state"))
            let stream = try await pair.near.send(session.request("GET", "/events?feature=item:1&feature=item:2"))
            #expect(stream.text.contains(#""features":["item:1"]"#))
            #expect(stream.text.contains(#"data: {"feature":"item:2","reason":"too-many-stores"}"#))
        }
    }

    @Test("the cookie, the origin and the browser's fields are checked at the owner as here", arguments: Depth.allCases)
    func browser(depth: Depth) async throws {
        let allow: (inout ServerSettings) -> Void = {
            $0.allowedOrigins = [Origin(setting: "https://app.example")].compactMap { $0 }
        }
        try await NodePair.run(depth, near: allow, far: allow) { pair in
            let session = try await pair.session(byCookie: true)
            let same = try await pair.near.send(
                session.intent(Self.increment, [("Origin", "http://localhost"), ("Host", "localhost")]))
            #expect(same.status == 202 && same["access-control-allow-origin"] == nil)
            let other = try await pair.near.send(session.intent(Self.increment, [("Origin", "https://app.example")]))
            #expect(other.status == 202)
            // Once, because browsers refuse repeated fields.
            #expect(other.fields.count { $0.name.lowercased() == "access-control-allow-origin" } == 1)
            #expect(other.fields.count { $0.name.lowercased() == "vary" } == 1)
        }
    }

    @Test("requests that were counted here are not counted at the owner", arguments: Depth.allCases)
    func rates(depth: Depth) async throws {
        try await NodePair.run(depth, far: { $0.intentRate = 1 }) { pair in
            let session = try await pair.session()
            for _ in 0..<10 { #expect(try await pair.near.send(session.intent(Self.increment)).status == 202) }
            for _ in 0..<3 { #expect(try await pair.far.send(session.intent(Self.increment)).status == 202) }
            #expect(try await pair.far.send(session.intent(Self.increment)).problem == "too-many-requests")
            #expect(try await pair.near.send(session.intent(Self.increment)).status == 202)
        }
        try await NodePair.run(depth, near: { $0.intentRate = 1 }) { pair in
            let session = try await pair.session()
            for _ in 0..<5 { #expect(try await pair.near.send(session.intent(Self.increment)).status == 202) }
            #expect(try await pair.near.send(session.intent(Self.increment)).problem == "too-many-requests")
            #expect(pair.recorder.sent.count == 5)
        }
    }

    @Test("if a node gets its own requests at the owner's address, it answers 503", arguments: Depth.allCases)
    func loop(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            pair.recorder.redirect(to: pair.near.address)
            let answer = try await pair.sendOverTime(session.intent(Self.increment))
            #expect(answer.problem == "owner-unreachable" && answer["retry-after"] == "2")
            #expect(pair.recorder.sent.count > 1)
            #expect(try await count(pair.far, session) == 1)
        }
    }

    @Test("if a session moves here meanwhile, its request is served here", arguments: Depth.allCases)
    func takenOver(depth: Depth) async throws {
        let far = Lock<SessionTable?>(nil)
        // The owner leaves before it is asked.
        try await NodePair.run(
            depth,
            change: { request in
                far.withLock { $0.take() }?.leaveNodes {}
                return request
            },
            { pair in
                let session = try await pair.session()
                far.withLock { $0 = pair.far.sessions }
                let answer = try await pair.sendOverTime(session.intent(Self.increment))
                #expect(answer.status == 202)
                #expect(try await count(pair.near, session) == 2)
            })
    }

    @Test("a node that lost its lease and joined again is reached by its new id", arguments: Depth.allCases)
    func rejoined(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let first = try await pair.session()
            let id = try pair.far.record().id
            try #require(pair.far.shared).cutOff(true)
            pair.pass(20)
            #expect(pair.far.sessions.environment.lease?.id == nil)
            try #require(pair.far.shared).cutOff(false)
            pair.pass(4)
            #expect(try pair.far.record().id != id)
            // The other node has taken the session over, and knows the new one's owner.
            #expect(try await pair.near.send(first.intent(Self.increment)).status == 202)
            #expect(pair.recorder.sent.isEmpty)
            let second = try await pair.session()
            #expect(try await pair.near.send(second.intent(Self.increment)).status == 202)
            #expect(pair.recorder.sent.count == 1)
            #expect(try await count(pair.far, second) == 2)
        }
    }

    // MARK: Who may

    @Test("a body that was changed on its path is refused", arguments: Depth.allCases)
    func changedBody(depth: Depth) async throws {
        try await NodePair.run(
            depth,
            change: { request in
                var request = request
                request.body[request.body.count - 2] = UInt8(ascii: " ")
                return request
            },
            { pair in
                let session = try await pair.session()
                #expect(try await pair.near.send(session.intent(Self.increment)).problem == "bad-request")
                #expect(try await count(pair.far, session) == 1)
            })
    }

    @Test("a request without a valid proof counts as a client's, and is never forwarded", arguments: Depth.allCases)
    func unproven(depth: Depth) async throws {
        try await NodePair.run(
            depth,
            change: { request in
                var request = request
                request.fields.append(("if-match", "*"))
                return request
            },
            { pair in
                let session = try await pair.session()
                #expect(try await pair.near.send(session.intent(Self.increment)).status == 202)
                // Nor does this node forward a request with a stamp.
                let answer = try await pair.near.send(
                    session.intent(Self.increment, [(NodeStamp.shownField, "1 2 unknown 3 4")]))
                #expect(answer.problem == "owner-unreachable")
                #expect(pair.recorder.sent.count == 1)
            })
    }

    @Test("a replay after a minute counts as a client's request", arguments: Depth.allCases)
    func replay(depth: Depth) async throws {
        let sent = Lock<PeerRequest?>(nil)
        try await NodePair.run(
            depth, far: { $0.intentRate = 1 },
            change: { request in
                sent.withLock { $0 = request }
                return request
            },
            { pair in
                let session = try await pair.session()
                _ = try await pair.near.send(session.intent(Self.increment))
                let old = try #require(sent.withLock { $0 })
                func again() async throws -> TestResponse {
                    var request = TestRequest(old.method, old.target, old.fields)
                    request.body = old.body
                    return try await pair.far.send(request)
                }
                for _ in 0..<10 { #expect(try await again().status == 202) }
                pair.pass(61)
                // It is counted now.
                for _ in 0..<5 { #expect(try await again().status == 202) }
                #expect(try await again().problem == "too-many-requests")
            })
    }

    @Test(arguments: Depth.allCases)
    func `a replay to another node is refused`(depth: Depth) async throws {
        try await NodePair.run(depth) { pair in
            let session = try await pair.session()
            #expect(try await pair.near.send(session.intent(Self.increment)).status == 202)
            let sent = try #require(pair.recorder.sent.first)
            var request = TestRequest(sent.method, sent.target, sent.fields)
            request.body = sent.body
            // Only nodes get this answer, so it is not in the contract.
            let answer = try await pair.near.client.exchange(request)
            #expect(answer.problem == "misdirected" && pair.recorder.sent.count == 1)
            #expect(try await count(pair.far, session) == 2)
        }
    }

    @Test(
        "a node accepts slightly larger heads from nodes than from clients", arguments: Depth.allCases)
    func longHead(depth: Depth) async throws {
        let limit: (inout ServerSettings) -> Void = { $0.headLimit = 1_024 }
        try await NodePair.run(depth, near: limit, far: limit) { pair in
            let session = try await pair.session()
            let key = String(repeating: "k", count: 250)
            let long = session.intent(
                Self.increment, [("Idempotency-Key", "\"\(key)\""), ("Cookie", String(repeating: "c", count: 400))])
            #expect(try await pair.near.send(long).status == 202)
        }
    }
}
