import MVI
import MVITesting
import Sessions
import TestSupport
import Testing

@testable import MVIServer

@Suite("Requests whose client loses its access before they act", .timeLimit(.minutes(10)))
struct GateTests {
    /// The way in which a client loses its access during its request.
    enum Loss: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case replaced, signedOut, expired, excluded

        var testDescription: String { rawValue }

        /// The problem that the request gets.
        var problem: String {
            switch self {
            case .replaced, .signedOut: "session-ended"
            case .expired: "identity-expired"
            case .excluded: "forbidden"
            }
        }
    }

    /// A request by method and path, and the losses that do not affect it.
    struct Call: Sendable, CustomTestStringConvertible {
        let method: String
        let target: String
        var body = ""
        var fields: [(name: String, value: String)] = []
        /// The losses that do not affect it.
        var spared: [Loss] = []

        var testDescription: String { "\(method) \(target)" }

        static let all = [
            Call(method: "POST", target: "/features/probe/intents", body: #"{"type":"add","amount":1000}"#),
            Call(
                method: "POST", target: "/features/probe/intents", body: #"{"type":"add","amount":1000}"#,
                fields: [("Prefer", "wait=1")]),
            Call(
                method: "POST", target: "/features/probe/intents", body: "{}",
                fields: [("Intent-Seq", "1"), ("Intent-Epoch", "e")]),
            Call(method: "GET", target: "/features/probe/state"),
            Call(
                method: "GET", target: "/features/probe/state", fields: [("If-None-Match", "*"), ("Prefer", "wait=1")]),
            Call(method: "DELETE", target: "/features/probe/state"),
            Call(method: "GET", target: "/features/probe/events", fields: [("Prefer", "problem")]),
            Call(method: "GET", target: "/events?feature=probe", fields: [("Prefer", "problem")]),
            Call(method: "GET", target: "/sessions/current", spared: [.excluded]),
            // A client whose identity has expired may still sign out.
            Call(method: "DELETE", target: "/sessions/current", spared: [.excluded, .expired]),
            Call(method: "DELETE", target: "/sessions/current/identity", spared: [.excluded, .expired]),
        ]
    }

    /// A client that loses its access, and another client of the session that keeps it.
    private struct Parties {
        let loser: Credential
        /// Takes the access away. Returns the other client.
        let takeAway: @Sendable () async throws -> Credential
    }

    private func run(
        _ loss: Loss, _ test: (TestServer, Parties) async throws -> Void
    ) async throws {
        let content: (Gate) throws -> ServerContent = { gate in
            let ruled = loss == .excluded
            let premium: @Sendable (Principal) -> Bool = { $0.claim("tier") == "premium" }
            return ServerContent(features: [
                ruled ? Probe(gate: gate).requires(premium) : ServedFeature(Probe(gate: gate)),
                ruled ? Booking(gate: gate).requires(premium) : ServedFeature(Booking(gate: gate)),
            ])
        }
        try await TestServer.run(.socket, authenticator: WordAuthenticator(), content: content) { server in
            let parties: Parties
            switch loss {
            case .replaced:
                let planted = try await server.session()
                parties = Parties(loser: planted) {
                    struct Made: Decodable { var token: String }
                    let token = try await server.signIn(planted, "anna premium").json(Made.self).token
                    return Credential(id: planted.id, field: ("Authorization", "Bearer \(token)"), secret: token)
                }
            case .signedOut:
                let phone = try await server.session(of: "anna premium", shared: true)
                let tablet = try await server.session(of: "anna premium", shared: true)
                parties = Parties(loser: phone) {
                    let answer = try await server.send(phone.request("DELETE", "/sessions/current"))
                    #expect(answer.status == 204)
                    return tablet
                }
            case .expired:
                let phone = try await server.session(of: "anna premium 60", shared: true)
                let tablet = try await server.session(of: "anna premium", shared: true)
                parties = Parties(loser: phone) {
                    server.time.advance(by: .seconds(61))
                    return tablet
                }
            case .excluded:
                let phone = try await server.session(of: "anna premium", shared: true)
                let tablet = try await server.session(of: "anna premium", shared: true)
                parties = Parties(loser: phone) {
                    let answer = try await server.signIn(phone, "anna basic")
                    #expect(answer.status == 200)
                    return tablet
                }
            }
            try await test(server, parties)
        }
    }

    private func count(_ server: TestServer, _ client: Credential) async throws -> Int {
        try await server.send(client.request("GET", "/features/probe/state")).json(Probe.State.self).count
    }

    /// Returns true if the server refuses the client.
    private func hasLost(_ server: TestServer, _ client: Credential) throws -> Bool {
        let token = try #require(SessionToken(client.secret))
        guard case .live(let session, let credential)? = server.sessions.lookup(token) else { return true }
        let probe = FeatureID(name: "probe", key: nil)
        return session.refusal(of: SessionClient(credential), probe, .send) != nil
    }

    @Test("between head and body: nothing is done, read or ended", arguments: Loss.allCases, Call.all)
    func lateBody(loss: Loss, call: Call) async throws {
        guard !call.spared.contains(loss) else { return }
        try await run(loss) { server, parties in
            #expect(try await server.send(parties.loser.intent(#"{"type":"add","amount":7}"#)).status == 202)
            let port = server.port
            var head = "\(call.method) \(call.target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            for (name, value) in [parties.loser.field] + call.fields { head += "\(name): \(value)\r\n" }
            if !call.body.isEmpty { head += "Content-Type: application/json\r\n" }
            head += "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
            let connection = try await offThePool { [head] in
                let connection = try Connection(port: port)
                try connection.send(head)
                // The head was checked, and the body is awaited.
                #expect(try connection.head().status == 100)
                return connection
            }
            let other = try await parties.takeAway()
            let late = try await offThePool {
                let size = String(call.body.utf8.count, radix: 16)
                try connection.send(call.body.isEmpty ? "0\r\n\r\n" : "\(size)\r\n\(call.body)\r\n0\r\n\r\n")
                return try connection.response(to: call.method)
            }
            if call.target.contains("events"), loss == .replaced || loss == .signedOut {
                // An EventSource stops forever.
                #expect(late.status == 204)
            } else {
                #expect(late.problem == loss.problem)
            }
            #expect(!late.text.contains(#""count""#))
            #expect(try await count(server, other) == 7)
        }
    }

    @Test("in an asynchronous check: the intent does not run", arguments: Loss.allCases)
    func inCheck(loss: Loss) async throws {
        try await run(loss) { server, parties in
            async let booked = server.send(
                parties.loser.intent(#"{"type":"book"}"#, [("Prefer", "return=representation")], to: "booking"))
            await server.gate.waiters()
            let other = try await parties.takeAway()
            server.gate.open()
            #expect(try await booked.problem == loss.problem)
            let state = try await server.send(other.request("GET", "/features/booking/state"))
            #expect(try state.json(Booking.State.self).seats == 0)
        }
    }

    @Test(
        "while an append hangs, earlier intents are answered without a state, and waiting ones do not run",
        arguments: Loss.allCases)
    func inQueue(loss: Loss) async throws {
        try await run(loss) { server, parties in
            let loser = parties.loser
            #expect(try await server.send(loser.intent(#"{"type":"add","amount":7}"#)).status == 202)
            server.journal.hold()
            let prefer = ("Prefer", "return=representation")
            async let first = server.send(loser.intent(#"{"type":"add","amount":10}"#, [prefer]))
            try await server.journal.untilHeld()
            let queue = try server.live(loser).queue
            async let second = server.send(loser.intent(#"{"type":"add","amount":1000}"#, [prefer]))
            while queue.length < 1 { await Task.yield() }
            async let disposal = server.send(loser.request("DELETE", "/features/probe/state"))
            while queue.length < 2 { await Task.yield() }
            // Reads make a store, in the queue.
            async let read = server.send(loser.request("GET", "/features/booking/state"))
            while queue.length < 3 { await Task.yield() }
            async let other = parties.takeAway()
            while try !hasLost(server, loser) { await Task.yield() }
            server.journal.release()
            let answer = try await first
            #expect(answer.status == 202 && !answer.text.contains(#""count""#) && answer.text.contains(#""intent""#))
            // An intent whose turn comes before the commit of the sign-in has to be repeated.
            let refusals = loss == .replaced ? [loss.problem, "journal-unavailable"] : [loss.problem]
            #expect(refusals.contains(try await second.problem ?? ""))
            #expect(refusals.contains(try await disposal.problem ?? ""))
            #expect(refusals.contains(try await read.problem ?? ""))
            let winner = try await other
            #expect(try await count(server, winner) == 17)
            struct Described: Decodable { var stores: [String] }
            let described = try await server.send(winner.request("GET", "/sessions/current")).json(Described.self)
            #expect(!described.stores.contains("booking"))
        }
    }

    @Test("a wait for the work of an intent ends at once, and says that the intent ran", arguments: Loss.allCases)
    func inWait(loss: Loss) async throws {
        // Expiry is detected after the wait, and a rule when the answer is requested again.
        guard loss == .replaced || loss == .signedOut else { return }
        try await run(loss) { server, parties in
            async let loading = server.send(parties.loser.intent(#"{"type":"load"}"#, [("Prefer", "wait=10")]))
            while server.sessions.environment.openWaits == 0 { await Task.yield() }
            _ = try await parties.takeAway()
            let answer = try await loading
            #expect(answer.status == 202 && !answer.text.contains(#""count""#))
        }
    }
}
