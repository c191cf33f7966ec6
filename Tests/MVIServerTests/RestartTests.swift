import MVITesting
import Sessions
import Testing
import WireJSON

@testable import MVIServer

@Suite("A session is unchanged after an absence", .timeLimit(.minutes(10)))
struct RestartTests {
    private static let state = "/features/probe/state"
    private static let increment = #"{"type":"increment"}"#

    struct Described: Decodable, Equatable {
        var id: String
        var stores: [String]
        var streams: Int
    }

    @Test("its token and its cookie are valid", arguments: Absence.allCases, Depth.allCases)
    func credentials(absence: Absence, depth: Depth) async throws {
        try await absence.test(depth) { server in
            let sessions = [try await server.session(), try await server.cookieSession()]
            var described: [Described] = []
            for session in sessions {
                _ = try await server.send(session.request("GET", "/features/item:2/state"))
                _ = try await server.send(session.intent(Self.increment))
                let response = try await server.send(session.request("GET", "/sessions/current"))
                described.append(try response.json(Described.self))
            }
            return (sessions, described)
        } after: { server, before in
            for (session, described) in zip(before.0, before.1) {
                let response = try await server.send(session.request("GET", "/sessions/current"))
                #expect(response.status == 200)
                #expect(try response.json(Described.self) == described)
            }
            // The time of the last Set-Cookie is not stored, so it is sent once more.
            let cookie = before.0[1]
            let made = try await server.send(
                cookie.request("POST", "/sessions", [RefusalCase.json], body: #"{"credential":"cookie"}"#))
            #expect(made.status == 200)
            #expect(try made.json(SessionTests.Made.self).id == cookie.id)
        }
    }

    @Test("a cookie is set again once when its session comes back", arguments: Absence.allCases)
    func cookie(absence: Absence) async throws {
        try await absence.test(.memory) { server in
            let session = try await server.cookieSession()
            _ = try await server.send(session.intent(Self.increment))
            return session
        } after: { server, session in
            let request = session.request("GET", Self.state)
            let first = try await server.send(request)
            #expect(first["set-cookie"]?.contains(session.secret) == true)
            #expect(try await server.send(request)["set-cookie"] == nil)
        }
    }

    @Test("states and tags are the same, and versions continue", arguments: Absence.allCases, Depth.allCases)
    func states(absence: Absence, depth: Depth) async throws {
        try await absence.test(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"add","amount":5}"#))
            return (session, try await server.send(session.request("GET", Self.state)))
        } after: { server, before in
            let (session, state) = before
            let tag = try #require(state["etag"])
            let known = try await server.send(session.request("GET", Self.state, [("If-None-Match", tag)]))
            #expect(known.status == 304 && known["etag"] == tag)
            #expect(try await server.send(session.request("GET", Self.state)).text == state.text)
            let matched = try await server.send(session.intent(Self.increment, [("If-Match", tag)]))
            #expect(matched.status == 202)
            #expect(try await server.send(session.intent(Self.increment, [("If-Match", tag)])).status == 412)
            let next = try await server.send(session.request("GET", Self.state))
            #expect(try next.json(Probe.State.self).count == 6)
            #expect(try matched.json(IntentTests.Accepted.self).version == 3)
        }
    }

    @Test("If-Match is checked against the stored state", arguments: Absence.allCases, Depth.allCases)
    func precondition(absence: Absence, depth: Depth) async throws {
        try await absence.test(depth) { server in
            let session = try await server.session()
            let old = try await server.send(session.request("GET", Self.state))["etag"]
            _ = try await server.send(session.intent(Self.increment))
            return (session, try #require(old))
        } after: { server, before in
            let (session, old) = before
            // Also before the intent is decoded, without loading a store.
            for body in [#"{"type":"explode"}"#, Self.increment] {
                let refused = try await server.send(session.intent(body, [("If-Match", old)]))
                #expect(refused.status == 412)
            }
        }
    }

    @Test("a repeated key is answered from its receipt", arguments: Absence.allCases, Depth.allCases)
    func receipts(absence: Absence, depth: Depth) async throws {
        let key = [(name: "Idempotency-Key", value: "\"k\"")]
        try await absence.test(depth) { server in
            let session = try await server.session()
            return (session, try await server.send(session.intent(Self.increment, key)))
        } after: { server, before in
            let (session, first) = before
            let again = try await server.send(session.intent(Self.increment, key))
            #expect(again.status == 202 && again.text == first.text)
            #expect(again["idempotency-replayed"] == "true")
            let reused = try await server.send(session.intent(#"{"type":"load"}"#, key))
            #expect(reused.problem == "idempotency-key-reused")
            #expect(try await server.send(session.request("GET", Self.state)).json(Probe.State.self).count == 1)
        }
    }

    @Test("a disposed store stays disposed, and its versions are not used again", arguments: Absence.allCases)
    func disposed(absence: Absence) async throws {
        try await absence.test(.memory) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            _ = try await server.send(session.request("DELETE", Self.state))
            return session
        } after: { server, session in
            let response = try await server.send(session.request("GET", Self.state))
            #expect(try response.json(Probe.State.self).count == 0)
            // Made, incremented, disposed of, made again.
            #expect(response["etag"]?.hasSuffix(".4\"") == true)
        }
    }

    @Test(
        "a stream resumes after its last id: it gets labels published meanwhile, and no earlier ones",
        arguments: Absence.allCases, Depth.allCases)
    func resume(absence: Absence, depth: Depth) async throws {
        try await absence.test(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"say","text":"seen"}"#))
            let stream = try await server.send(session.request("GET", "/features/probe/events"))
            #expect(stream.text.contains(#""text":"seen""#))
            let id = try #require(lastID(stream.text))
            _ = try await server.send(session.intent(#"{"type":"say","text":"away"}"#))
            _ = try await server.send(session.intent(Self.increment))
            return (session, id)
        } after: { server, before in
            let (session, id) = before
            for (target, fields) in [
                ("/features/probe/events", [("Last-Event-ID", id)]), ("/events?last_event_id=\(id)", []),
            ] {
                let stream = try await server.send(session.request("GET", target, fields))
                #expect(stream.text.contains(#""resumed":true,"cursor":"\#(id)""#))
                #expect(stream.text.contains(#""features":["probe"]"#))
                #expect(stream.text.contains(#""count":1"#))
                #expect(stream.text.contains(#""text":"away""#) && !stream.text.contains(#""text":"seen""#))
                #expect(!stream.text.contains("event: reset"))
            }
            // New ones have higher ids.
            _ = try await server.send(session.intent(#"{"type":"say","text":"new"}"#))
            let stream = try await server.send(
                session.request("GET", "/features/probe/events", [("Last-Event-ID", id)]))
            #expect(stream.text.contains(#""text":"away""#) && stream.text.contains(#""text":"new""#))
            let last = try #require(lastID(stream.text))
            #expect(try #require(sequence(last)) > #require(sequence(id)))
        }
    }

    @Test("a stream of a session that was not in memory shows all its stores", arguments: Absence.allCases)
    func allStores(absence: Absence) async throws {
        try await absence.test(.memory) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            _ = try await server.send(session.request("GET", "/features/item:4/state"))
            return session
        } after: { server, session in
            let stream = try await server.send(session.request("GET", "/events"))
            #expect(stream.text.contains(#""features":["item:4","probe"]"#))
            #expect(stream.text.contains(#""count":1"#) && stream.text.contains(#""id":"4""#))
        }
    }

    private func lastID(_ text: String) -> String? {
        text.split(separator: "\n").last { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
    }

    private func sequence(_ cursor: String) -> UInt64? { cursor.split(separator: ".").last.flatMap { UInt64($0) } }

    @Test("HEAD answers like GET, makes no store and takes no place", arguments: Absence.allCases, Depth.allCases)
    func head(absence: Absence, depth: Depth) async throws {
        try await absence.test(depth) { server in
            let session = try await server.session()
            let state = try await server.send(session.request("GET", Self.state))
            return (session, try #require(state["etag"]))
        } after: { server, before in
            let (session, tag) = before
            #expect(try await server.send(session.request("HEAD", "/sessions/current")).status == 200)
            #expect(try await server.send(session.request("HEAD", Self.state))["etag"] == tag)
            let known = try await server.send(session.request("HEAD", Self.state, [("If-None-Match", tag)]))
            #expect(known.status == 304)
            for target in ["/features/item:1/state", "/features/item:1/events", "/events"] {
                #expect(try await server.send(session.request("HEAD", target)).status == 200)
            }
            #expect(try server.live(session).storeIDs.map(\.text) == ["probe"])
            #expect(server.sessions.environment.openStreams == 0)
        }
    }

    @Test("HEAD of a session that cannot be looked up is 503, of a stream as well", arguments: Depth.allCases)
    func headUnavailable(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.request("GET", Self.state))
            try server.leaveMemory()
            server.journal.failLoads(.unavailable)
            for target in ["/sessions/current", Self.state, "/features/probe/events", "/events"] {
                let response = try await server.send(session.request("HEAD", target))
                #expect(response.status == 503 && response["retry-after"] == "2")
            }
        }
    }

    @Test("a stream whose session cannot be looked up is postponed, not refused", arguments: Depth.allCases)
    func streamPutOff(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            try server.leaveMemory()
            server.journal.failLoads(.unavailable)
            for target in ["/features/probe/events", "/events"] {
                let response = try await server.send(session.request("GET", target))
                #expect(response.status == 200)
                #expect(response["content-type"] == "text/event-stream; charset=utf-8")
                #expect(response.text.contains(#""reason":"busy""#) && !response.text.contains("hello"))
            }
        }
    }

    @Test(
        "a deleted session stays deleted, for its streams for good", arguments: [Absence.restart, .crash],
        Depth.allCases)
    func deleted(absence: Absence, depth: Depth) async throws {
        try await absence.test(depth) { server in
            let session = try await server.cookieSession()
            _ = try await server.send(session.intent(Self.increment))
            #expect(try await server.send(session.request("DELETE", "/sessions/current")).status == 204)
            return session
        } after: { server, session in
            for target in ["/events", "/features/probe/events"] {
                for method in ["GET", "HEAD"] {
                    let stream = try await server.send(session.request(method, target))
                    #expect(stream.status == 204)
                }
            }
            let ended = try await server.send(session.request("GET", Self.state))
            #expect(ended.problem == "session-ended")
            #expect(try await server.send(session.intent(Self.increment)).problem == "session-ended")
            // The lifetime of its token's proof, and the time that ended sessions are remembered.
            server.time.advance(by: .seconds(24 * 3600 + 601))
            #expect(try await server.send(session.request("GET", Self.state)).problem == "session-not-found")
        }
    }

    @Test("a session that expired meanwhile has ended", arguments: Depth.allCases)
    func expired(depth: Depth) async throws {
        let world = World()
        let session = try await TestServer.run(depth, in: world) { try await $0.session() }
        world.time.advance(by: .seconds(24 * 3600))
        try await TestServer.run(depth, in: world) { server in
            let ended = try await server.send(session.request("GET", Self.state))
            #expect(ended.problem == "session-ended")
            #expect(try await server.send(session.request("GET", "/events")).status == 204)
            let unknown = TestRequest("GET", Self.state, [("Authorization", RefusalCase.unknownToken)])
            #expect(try await server.send(unknown).problem == "session-not-found")
        }
    }
}
