import MVITesting
import TestSupport
import Testing

@testable import MVIServer

@Suite("States", .timeLimit(.minutes(10)))
struct StateTests {
    private static let path = "/features/probe/state"

    @Test("GET makes the store and answers the state with its tag", arguments: Depth.allCases)
    func read(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let response = try await server.send(session.request("GET", Self.path))
            #expect(response.status == 200)
            #expect(try response.json(Probe.State.self) == Probe.State())
            #expect(response["cache-control"] == "private, no-cache")
            #expect(response["vary"] == "Authorization, Cookie, Origin")
            let tag = try #require(response["etag"])
            #expect(tag.hasPrefix("\"") && tag.hasSuffix(".1\""))
        }
    }

    @Test("If-None-Match gets 304, weak or in a list or *", arguments: Depth.allCases)
    func notModified(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let tag = try #require(try await server.send(session.request("GET", Self.path))["etag"])
            for value in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                for method in ["GET", "HEAD"] {
                    let response = try await server.send(
                        session.request(method, Self.path, [("If-None-Match", value)]))
                    #expect(response.status == 304)
                    #expect(response["etag"] == tag)
                    #expect(response.body.isEmpty)
                }
            }
            for value in ["\"x\"", "not a tag"] {
                #expect(
                    try await server.send(session.request("GET", Self.path, [("If-None-Match", value)])).status == 200)
            }
        }
    }

    @Test("wait answers with the state of a new store when the store is disposed of", arguments: Depth.allCases)
    func disposedMeanwhile(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let tag = try #require(try await server.send(session.request("GET", Self.path))["etag"])
            let poll = session.request("GET", Self.path, [("If-None-Match", tag), ("Prefer", "wait=5")])
            let waiting = Task { try await server.send(poll) }
            await server.clock.sleepers(atLeast: 1)
            #expect(try await server.send(session.request("DELETE", Self.path)).status == 204)
            let response = try await waiting.value
            #expect(response.status == 200)
            #expect(response["etag"].map { $0 != tag } == true)
        }
    }

    @Test(
        "a wait whose client has left frees its place, and Retry-After says when one is free",
        arguments: [true, false])
    func leftWait(isLongPoll: Bool) async throws {
        try await TestServer.run(.socket, { ($0.maxWaitsPerSession, $0.maxWait) = (1, .seconds(9)) }) { server in
            let session = try await server.session()
            let tag = try #require(try await server.send(session.request("GET", Self.path))["etag"])
            var poll = session.request("GET", Self.path, [("Prefer", "wait=9")])
            if isLongPoll {
                poll = poll.with("If-None-Match", tag)
            } else {
                // Work that runs until the gate opens.
                #expect(try await server.send(session.intent(#"{"type":"load"}"#)).status == 202)
            }
            let request = poll
            var left: Connection? = try await offThePool { [port = server.port] in
                let connection = try Connection(port: port)
                try connection.send(request)
                return connection
            }
            while server.sessions.environment.openWaits == 0 { await Task.yield() }
            server.time.advance(by: .seconds(3))
            let refused = try await server.send(poll)
            #expect(refused.problem == "too-many-waits")
            #expect(refused["retry-after"] == "6")
            #expect(left != nil)
            left = nil
            while server.sessions.environment.openWaits > 0 { await Task.yield() }
            let next = Task {
                // A place of the server is free a moment before that of the session.
                while true {
                    let response = try await server.send(request)
                    if response.status != 429 { return response }
                }
            }
            await server.clock.sleepers(atLeast: 1)
            server.clock.advance(by: .seconds(9))
            #expect(try await next.value.status == (isLongPoll ? 304 : 200))
            server.gate.open()
        }
    }

    @Test("wait answers when the state has changed", arguments: Depth.allCases)
    func longPoll(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let tag = try #require(try await server.send(session.request("GET", Self.path))["etag"])
            let poll = session.request("GET", Self.path, [("If-None-Match", tag), ("Prefer", "wait=5")])
            let waiting = Task { try await server.send(poll) }
            await server.clock.sleepers(atLeast: 1)
            _ = try await server.send(session.intent(#"{"type":"increment"}"#))
            let response = try await waiting.value
            #expect(response.status == 200)
            #expect(response["preference-applied"] == "wait=5")
            #expect(try response.json(Probe.State.self).count == 1)
            // It has changed already, so there is no wait.
            #expect(try await server.send(poll).status == 200)
        }
    }

    @Test("wait answers 304 when nothing changed", arguments: Depth.allCases)
    func longPollTimesOut(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let tag = try #require(try await server.send(session.request("GET", Self.path))["etag"])
            let waiting = Task {
                try await server.send(
                    session.request("GET", Self.path, [("If-None-Match", tag), ("Prefer", "wait=60")]))
            }
            await server.clock.sleepers(atLeast: 1)
            server.clock.advance(by: .seconds(10))
            let response = try await waiting.value
            #expect(response.status == 304)
            #expect(response["preference-applied"] == "wait=10")
        }
    }

    @Test("wait without a tag answers when the store's work has ended, or after its time", arguments: Depth.allCases)
    func plainReader(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let read = session.request("GET", Self.path, [("Prefer", "wait=5")])
            #expect(try await server.send(read).json(Probe.State.self).isLoading == false)
            _ = try await server.send(session.intent(#"{"type":"load"}"#))
            for ends in [false, true] {
                let waiting = Task { try await server.send(read) }
                await server.clock.sleepers(atLeast: 1)
                if ends { server.gate.open() } else { server.clock.advance(by: .seconds(5)) }
                let response = try await waiting.value
                #expect(response.status == 200 && response["preference-applied"] == "wait=5")
                #expect(try response.json(Probe.State.self).isLoading == !ends)
            }
        }
    }

    @Test("a stop answers waiting requests", arguments: Depth.allCases)
    func drain(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let tag = try #require(try await server.send(session.request("GET", Self.path))["etag"])
            let poll = session.request("GET", Self.path, [("If-None-Match", tag), ("Prefer", "wait=5")])
            let waiting = Task { try await server.send(poll) }
            await server.clock.sleepers(atLeast: 1)
            server.sessions.drain()
            #expect(try await waiting.value.status == 304)
            // No request waits any more.
            #expect(try await server.send(poll).status == 304)
        }
    }

    @Test("an invalid intent makes no store", arguments: Depth.allCases)
    func noIntent(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            for (body, status) in [("{", 400), (#"{"type":"explode"}"#, 422)] {
                for fields in [
                    [], [(name: "Idempotency-Key", value: "k")], [("Intent-Seq", "1"), ("Intent-Epoch", body)],
                ] {
                    #expect(try await server.send(session.intent(body, fields)).status == status)
                }
            }
            #expect(try server.live(session).storeIDs.isEmpty)
        }
    }

    @Test("HEAD makes no store", arguments: Depth.allCases)
    func head(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            for target in [Self.path, "/features/probe/events", "/events?feature=item:1"] {
                let response = try await server.send(session.request("HEAD", target))
                #expect(response.status == 200)
                #expect(response["etag"] == nil)
                #expect(response.body.isEmpty)
            }
            #expect(try await server.send(session.request("HEAD", "/features/item:11/state")).status == 404)
            #expect(try await server.send(session.request("HEAD", "/events?feature=item:11")).status == 404)
            #expect(try server.live(session).storeIDs.isEmpty)
            #expect(server.sessions.environment.openStreams == 0)
            let tag = try await server.send(session.request("GET", Self.path))["etag"]
            #expect(try await server.send(session.request("HEAD", Self.path))["etag"] == tag)
        }
    }

    @Test("DELETE of an unknown key is 404; without a store it is 204", arguments: Depth.allCases)
    func disposeByKey(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let unknown = try await server.send(session.request("DELETE", "/features/item:77/state"))
            #expect(unknown.problem == "feature-not-found")
            // The second one has a state that is not JSON: it cannot be shown, and there is nothing to dispose.
            for key in ["5", "broken"] {
                #expect(try await server.send(session.request("DELETE", "/features/item:\(key)/state")).status == 204)
            }
        }
    }

    @Test("DELETE disposes the store; the next one continues the versions", arguments: Depth.allCases)
    func dispose(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"add","amount":5}"#))
            let first = try await server.send(session.request("DELETE", Self.path))
            #expect(first.status == 204)
            #expect(first.body.isEmpty)
            // A repetition gets the same answer.
            #expect(try await server.send(session.request("DELETE", Self.path)).status == 204)
            let state = try await server.send(session.request("GET", Self.path))
            #expect(try state.json(Probe.State.self).count == 0)
            // Made, changed, disposed and made again.
            #expect(state["etag"]?.hasSuffix(".4\"") == true)
        }
    }
}
