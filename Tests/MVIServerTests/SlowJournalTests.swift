import TestSupport
import MicroHTTP
import Testing

@testable import MVIServer

@Suite("A session that has to be loaded from a slow journal", .timeLimit(.minutes(10)))
struct SlowJournalTests {
    private static let increment = #"{"type":"increment"}"#

    @Test("its requests wait, and other sessions' do not", arguments: Depth.allCases)
    func waits(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            try server.leaveMemory()
            let other = try await server.session()
            _ = try server.live(other)
            server.journal.holdLoads()
            let state = Task { try await server.send(session.request("GET", "/features/probe/state")) }
            try await server.journal.untilLoadHeld()
            let intent = Task {
                try await server.send(session.intent(Self.increment, [("Prefer", "return=representation")]))
            }
            let stream = Task { try await server.send(session.request("GET", "/events")) }
            for _ in 1...3 {
                #expect(try await server.send(other.intent(Self.increment)).status == 202)
                #expect(try await server.isServing())
            }
            #expect(server.sessions.count == 1)
            server.journal.releaseLoads()
            #expect([1, 2].contains(try await state.value.json(Probe.State.self).count))
            #expect(try await intent.value.json(Probe.State.self).count == 2)
            #expect(try await stream.value.text.contains(#""session":"\#(session.id)""#))
            #expect(server.sessions.count == 2)
        }
    }

    @Test("its store is loaded once for all requests", arguments: Depth.allCases)
    func store(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            try await server.passivateStores(of: session)
            server.journal.holdLoads()
            let first = Task { try await server.send(session.intent(Self.increment)) }
            try await server.journal.untilLoadHeld()
            let second = Task { try await server.send(session.intent(Self.increment)) }
            #expect(try await server.send(session.request("GET", "/sessions/current")).status == 200)
            // A session is one queue: its other stores wait as well.
            let other = Task { try await server.send(session.request("GET", "/features/item:1/state")) }
            server.journal.releaseLoads()
            #expect(try await other.value.status == 200)
            let statuses = [try await first.value.status, try await second.value.status]
            #expect(statuses == [202, 202])
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 3)
        }
    }

    @Test("a body may arrive after its session was loaded, or before", arguments: [true, false])
    func body(isLater: Bool) async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            try server.leaveMemory()
            server.journal.holdLoads()
            let connection = try Connection(port: server.port)
            try connection.send(
                "POST /features/probe/intents HTTP/1.1\r\nHost: localhost\r\n"
                    + "Authorization: Bearer \(session.secret)\r\nContent-Type: application/json\r\nContent-Length: \(Self.increment.utf8.count)\r\n\r\n"
                    + Self.increment.prefix(5))
            try await server.journal.untilLoadHeld()
            if isLater { server.journal.releaseLoads() }
            try connection.send(String(Self.increment.dropFirst(5)))
            if !isLater {
                // The request is complete when its connection is suspended.
                while server.assembly.http.statistics.waitingExchanges == 0 { await Task.yield() }
                server.journal.releaseLoads()
            }
            let response = try await offThePool { try connection.response(to: "POST") }
            #expect(response.status == 202)
            #expect(try response.json(IntentTests.Accepted.self).version == 3)
        }
    }

    @Test("its refusals are the same as for a session in memory", arguments: Depth.allCases)
    func refusals(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.cookieSession()
            for (request, problem) in [
                (session.request("GET", "/features/nobody/state"), "feature-not-found"),
                (session.intent("{"), "invalid-json"),
                (session.request("POST", "/features/probe/intents", body: "x"), "unsupported-media-type"),
                (session.request("GET", "/features/probe/state", [("Sec-Fetch-Site", "cross-site")]), "cross-site"),
                (session.request("GET", "/events", [("Accept", "application/json")]), "not-acceptable"),
                (TestRequest("GET", "/events", [("Authorization", RefusalCase.unknownToken)]), "session-not-found"),
            ] {
                try server.leaveMemory()
                server.journal.holdLoads()
                let answer = Task { try await server.send(request) }
                while server.journal.waitingLoads == 0 { await Task.yield() }
                server.journal.releaseLoads()
                #expect(try await answer.value.problem == problem)
            }
        }
    }

    @Test("open requests are answered when the server stops", arguments: Depth.allCases)
    func stop(depth: Depth) async throws {
        let world = World()
        let (session, answer) = try await TestServer.run(depth, in: world) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(Self.increment))
            try server.leaveMemory()
            server.journal.holdLoads()
            let answer = Task { try await server.send(session.intent(Self.increment)) }
            try await server.journal.untilLoadHeld()
            return (session, answer)
        }
        #expect(try await answer.value.status == 202)
        try await TestServer.run(depth, in: world) { server in
            let state = try await server.send(session.request("GET", "/features/probe/state"))
            #expect(try state.json(Probe.State.self).count == 2)
        }
    }
}
