import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("Sessions on the admin port", .timeLimit(.minutes(5)))
struct AdminSessionTests {
    private static let increment = #"{"type":"increment"}"#

    private struct List: Decodable {
        struct Entry: Decodable {
            struct Identity: Decodable { var issuer, subject: String }
            struct Memory: Decodable { var stores, streams: Int }
            var id: String
            var identity: Identity?
            var stores, bytes: Int
            var memory: Memory?
        }
        var sessions: [Entry]
        var next: String?
    }

    private struct Shown: Decodable {
        struct Store: Decodable {
            var feature: String
            var version, schemaVersion, bytes: Int
            var loaded: Bool
            var runningWork: Int
        }
        struct Stream: Decodable {
            var opened: String
            var features: [String]?
            var events, waitingStates, waitingLabels: Int
            var ending: Bool
        }
        struct Memory: Decodable {
            var waitingJobs, waitingRequests, runningWork: Int
            var streams: [Stream]
        }
        struct Reminder: Decodable { var feature, id, due: String }
        var id, created, lastUsed: String
        var expiresAt: String?
        var kept: Bool
        var cursor: String
        var stores: [Store]
        var labels, receipts: Int
        var memory: Memory?
    }

    private struct State: Decodable {
        var feature: String
        var version: Int
        var state, view: Probe.State
    }

    private func list(_ port: AdminPort, _ target: String = "/admin/sessions") async throws -> List {
        let answer = try await port.send("GET", target)
        try #require(answer.status == 200)
        return try answer.json(List.self)
    }

    private func show(_ port: AdminPort, _ id: String) async throws -> Shown {
        let answer = try await port.send("GET", "/admin/sessions/\(id)")
        try #require(answer.status == 200)
        return try answer.json(Shown.self)
    }

    private func state(_ port: AdminPort, _ id: String) async throws -> Probe.State {
        try await port.send("GET", "/admin/sessions/\(id)/features/probe").json(State.self).view
    }

    // MARK: Lists

    @Test(arguments: Depth.allCases)
    func `sessions are listed newest first, a page at a time`(depth: Depth) async throws {
        try await AdminPort.run(depth) { port in
            var ids: [String] = []
            for _ in 0..<5 {
                let session = try await port.server.session()
                _ = try await port.server.send(session.intent(Self.increment))
                ids.append(session.id)
            }
            // The session is empty, so it is only in its token.
            _ = try await port.server.session()
            let all = try await list(port)
            #expect(all.sessions.map(\.id) == ids.reversed() && all.next == nil)
            #expect(all.sessions.allSatisfy { $0.stores == 1 && $0.bytes > 0 && $0.memory?.stores == 1 })
            var (found, next): ([String], String?) = ([], "/admin/sessions?limit=2")
            while let target = next {
                let page = try await list(port, target)
                #expect(page.sessions.count <= 2)
                found += page.sessions.map(\.id)
                next = page.next
            }
            #expect(found == ids.reversed())
        }
    }

    @Test func `a shared store's space is shown with its name`() throws {
        let space = try #require(SpaceName("board:9"))
        let overview = SessionOverview(
            key: SessionKey(1), id: "s", created: .zero, lastSeen: .zero, stores: 1, bytes: 2, space: space)
        let text = #"{"id":"s","space":"board:9","created":"1970-01-01T00:00:00Z","#
        #expect(String(decoding: SessionAnswer.overview(overview, memory: nil), as: UTF8.self).hasPrefix(text))
    }

    @Test func `the sessions of a subject are found, also by an issuer that needs escapes`() async throws {
        struct Word: Authenticator {
            func authenticate(_ proof: IdentityProof) async throws -> Principal {
                Principal(issuer: "https://i.example/?a=b&c", subject: proof.identity ?? "")
            }
        }
        try await AdminPort.run(authenticator: Word()) { port in
            for subject in ["ann", "bob", "ann", "a&n=n +ü"] {
                let body = #"{"identity":"\#(subject)"}"#
                let made = try await port.server.send(
                    TestRequest("POST", "/sessions", [("Content-Type", "application/json")], body: body))
                try #require(made.status == 201)
            }
            let issuer = "issuer=https%3A%2F%2Fi.example%2F%3Fa%3Db%26c"
            let first = try await list(port, "/admin/sessions?subject=ann&\(issuer)&limit=1")
            #expect(first.sessions.map(\.identity?.subject) == ["ann"])
            let second = try await list(port, try #require(first.next))
            #expect(second.sessions.count == 1 && second.sessions[0].id != first.sessions[0].id)
            try await #expect(list(port, try #require(second.next)).sessions.isEmpty)
            let strange = try await list(port, "/admin/sessions?subject=a%26n%3Dn+%2B%C3%BC&\(issuer)&limit=1")
            #expect(strange.sessions.map(\.identity?.subject) == ["a&n=n +ü"])
            try await #expect(list(port, try #require(strange.next)).sessions.isEmpty)
            #expect(try await port.send("GET", "/admin/sessions?subject=ann").problem == "bad-request")
        }
    }

    @Test(arguments: [
        "limit=0", "limit=1001", "limit=many", "before=-1", "issuer=x", "subject=a&subject=b", "subject=%zz", "subject",
    ])
    func `an invalid query is refused`(query: String) async throws {
        try await AdminPort.run { port in
            try await #expect(port.send("GET", "/admin/sessions?\(query)").problem == "bad-request")
        }
    }

    // MARK: One session

    @Test(arguments: Depth.allCases)
    func `a session is shown with its stores, streams and work, without its values`(depth: Depth) async throws {
        try await AdminPort.run(depth) { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(#"{"type":"say","text":"private words"}"#))
            _ = try await port.server.send(session.intent(Self.increment, [("Idempotency-Key", #""k""#)]))
            let load = Task { try await port.server.send(session.intent(#"{"type":"load"}"#, [("Prefer", "wait=9")])) }
            await port.server.gate.waiters()
            let shown = try await show(port, session.id)
            #expect(shown.id == session.id && shown.kept && shown.labels == 1 && shown.receipts == 1)
            #expect(shown.stores.map(\.feature) == ["probe"] && shown.stores[0].loaded && shown.stores[0].bytes > 0)
            #expect(shown.stores[0].runningWork == 1 && shown.memory?.runningWork == 1)
            #expect(shown.memory?.waitingRequests == 1 && shown.memory?.waitingJobs == 0)
            #expect(shown.expiresAt != nil)
            let text = try await port.send("GET", "/admin/sessions/\(session.id)").text
            #expect(!text.contains("private words") && !text.contains(session.secret))
            port.server.gate.open()
            _ = try await load.value
        }
    }

    @Test func `a stream is shown with its age, its events and its waiting states and labels`() async throws {
        try await AdminPort.run(.socket) { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            let stream = try await offThePool {
                let stream = try Connection(port: port.server.port)
                try stream.send(session.request("GET", "/events?feature=probe"))
                _ = try stream.head()
                _ = try stream.event("state")
                return stream
            }
            port.server.time.advance(by: .seconds(60))
            let shown = try await show(port, session.id)
            let shownStream = try #require(shown.memory?.streams.first)
            // `hello` and one state.
            #expect(shownStream.events == 2 && shownStream.features == ["probe"] && !shownStream.ending)
            #expect(shownStream.waitingStates == 0 && shownStream.waitingLabels == 0)
            #expect(shownStream.opened < shown.lastUsed)
            try await #expect(list(port).sessions.first?.memory?.streams == 1)
            try await #expect(port.send("DELETE", "/admin/sessions/\(session.id)").status == 204)
            let farewell = try await offThePool { try stream.event("goaway") }
            #expect(String(decoding: farewell.data, as: UTF8.self).contains(#""reason":"ended""#))
        }
    }

    @Test func `reading a session does not count as use`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            let before = try await show(port, session.id)
            port.server.time.advance(by: .seconds(600))
            let after = try await show(port, session.id)
            _ = try await state(port, session.id)
            #expect(after.lastUsed == before.lastUsed && after.expiresAt == before.expiresAt)
            try port.server.leaveMemory()
            let gone = try await show(port, session.id)
            #expect(gone.memory == nil && !gone.stores[0].loaded && gone.cursor == before.cursor)
            try await #expect(state(port, session.id).count == 1)
            #expect(port.server.sessions.count == 0)
            try await #expect(list(port).sessions.first?.memory == nil)
        }
    }

    @Test func `an empty session is known to the server that has it in memory`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            try await #expect(port.send("GET", "/admin/sessions/\(session.id)").problem == "admin-session-not-found")
            _ = try await port.server.send(session.request("GET", "/sessions/current"))
            let shown = try await show(port, session.id)
            #expect(!shown.kept && shown.stores.isEmpty && shown.memory != nil)
            try await #expect(port.send("DELETE", "/admin/sessions/\(session.id)").status == 204)
            let ended = try await port.server.send(session.request("GET", "/sessions/current"))
            #expect(ended.problem == "session-ended")
        }
    }

    @Test(arguments: ["GET", "DELETE"], ["unknown", "%zz", "a%2Fb"])
    func `an id that no session has finds none`(method: String, id: String) async throws {
        try await AdminPort.run { port in
            try await #expect(port.send(method, "/admin/sessions/\(id)").problem == "admin-session-not-found")
        }
    }

    @Test func `a missing store gets 404`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            for feature in ["item:1", "other", "No", "probe:1"] {
                let answer = try await port.send("GET", "/admin/sessions/\(session.id)/features/\(feature)")
                #expect(answer.problem == "feature-not-found", "\(feature)")
            }
            let other = try await port.send("GET", "/admin/sessions/unknown/features/probe")
            #expect(other.problem == "admin-session-not-found")
        }
    }

    // MARK: Acting

    @Test(arguments: Depth.allCases)
    func `a session is ended, in memory or not`(depth: Depth) async throws {
        try await AdminPort.run(depth) { port in
            for leaves in [false, true] {
                let session = try await port.server.session()
                _ = try await port.server.send(session.intent(Self.increment))
                if leaves { try port.server.leaveMemory() }
                try await #expect(port.send("DELETE", "/admin/sessions/\(session.id)").status == 204)
                let answer = try await port.server.send(session.request("GET", "/sessions/current"))
                #expect(answer.problem == "session-ended")
                let again = try await port.send("DELETE", "/admin/sessions/\(session.id)")
                #expect(again.problem == "admin-session-not-found")
            }
        }
    }

    @Test(arguments: Depth.allCases)
    func `an intent is sent to a session, in memory or not, once for a key`(depth: Depth) async throws {
        try await AdminPort.run(depth) { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            try port.server.leaveMemory()
            let (add, key) = (#"{"type":"add","amount":5}"#, ("Idempotency-Key", #""a""#))
            let first = try await port.intent(add, of: session.id, [key])
            #expect(first.status == 202)
            let accepted = try first.json(IntentTests.Accepted.self)
            #expect(accepted.session == session.id && accepted.feature == "probe")
            let again = try await port.intent(add, of: session.id, [key])
            #expect(again.status == 202 && again["idempotency-replayed"] == "true")
            let state = try await port.server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 6)
            try await #expect(self.state(port, session.id).count == 6)
        }
    }

    @Test func `an intent makes a store only on request`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            let weigh = #"{"type":"weigh","weight":3}"#
            try await #expect(port.intent(weigh, to: "item:2", of: session.id).problem == "feature-not-found")
            try await #expect(port.intent(weigh, to: "item:2", of: session.id, query: "?make=true").status == 202)
            try await #expect(show(port, session.id).stores.map(\.feature) == ["item:2", "probe"])
        }
    }

    @Test(arguments: [
        ("{", "invalid-json"), (#"{"type":"unknown"}"#, "invalid-intent"), (#"{"type":"add"}"#, "invalid-intent"),
        (#"{"type":"secret"}"#, "forbidden"), (#"{"type":"nonsense"}"#, "intent-refused"),
        (#"{"type":"hurry"}"#, "intent-limited"), (#"{"type":"fail"}"#, "intent-failed"),
        (#"{"type":"poison"}"#, "state-unavailable"), (#"{"type":"grow","bytes":2000000}"#, "state-too-large"),
    ])
    func `an intent is refused like a client's`(body: String, problem: String) async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            try await #expect(port.intent(body, of: session.id).problem == problem)
            try await #expect(state(port, session.id).count == 1)
        }
    }

    @Test func `an intent's head is checked like a client's`() async throws {
        try await AdminPort.run { port in
            let target = "/admin/sessions/x/features/probe/intents"
            try await #expect(port.send("POST", target, body: Self.increment).problem == "unsupported-media-type")
            try await #expect(port.intent(Self.increment, to: "none", of: "x").problem == "feature-not-found")
            try await #expect(port.intent(Self.increment, of: "x").problem == "admin-session-not-found")
            try await #expect(port.intent(Self.increment, of: "x", [("Idempotency-Key", "")]).problem == "bad-request")
        }
    }

    @Test(arguments: Depth.allCases)
    func `a drain ends streams, keeps the server running, and may be repeated`(depth: Depth) async throws {
        try await AdminPort.run(depth) { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            for _ in 0..<2 {
                let answer = try await port.send("POST", "/admin/drain")
                #expect(answer.status == 202 && answer.text.contains(#""status":"draining""#))
            }
            try await #expect(port.send("GET", "/health/ready").problem == "draining")
            try await #expect(port.server.send(TestRequest("POST", "/sessions")).problem == "draining")
            try await #expect(port.server.send(session.intent(Self.increment)).status == 202)
            try await #expect(port.send("GET", "/health/live").status == 200)
        }
    }

    @Test func `an unreadable journal does not count as a missing session`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(Self.increment))
            await port.server.journal.close()
            for target in ["/admin/sessions", "/admin/sessions/\(session.id)"] {
                try await #expect(port.send("GET", target).problem == "journal-unavailable")
            }
            #expect(
                try await port.send("DELETE", "/admin/sessions/\(session.id)").problem == "journal-unavailable")
        }
    }
}
