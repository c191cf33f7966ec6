import TestSupport
import EventStream
import MVITesting
import Testing
import WireJSON

@testable import MVIServer

@Suite("Streams over a socket", .timeLimit(.minutes(10)))
struct StreamTests {
    struct Hello: Decodable {
        var session: String
        var resumed: Bool
        var cursor: String
        var features: [String]
    }
    struct State: Decodable {
        var feature: String
        var version: Int
        var intent: String?
        var state: Probe.State
    }
    struct Label: Decodable {
        struct Text: Decodable { var text: String }
        var replay: Bool
        var expiresIn: Int
        var label: Text
    }
    struct Farewell: Decodable {
        var reason: String
        var retry: Int
    }

    private func open(
        _ server: TestServer, _ request: TestRequest
    ) async throws -> (Connection, head: TestResponse) {
        let port = server.port
        return try await offThePool {
            let connection = try Connection(port: port)
            try connection.send(request)
            return (connection, try connection.head())
        }
    }

    @Test("the head has the fields for proxies and browsers")
    func head() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let (_, head) = try await open(server, session.request("GET", "/features/probe/events"))
            #expect(head.status == 200)
            #expect(head["content-type"] == "text/event-stream; charset=utf-8")
            #expect(head["cache-control"] == "no-store, no-transform")
            #expect(head["connection"] == "close")
            #expect(head["x-accel-buffering"] == "no")
            #expect(head["x-content-type-options"] == "nosniff")
            #expect(head["transfer-encoding"] == "chunked")
        }
    }

    @Test("an intent's state and label arrive, with its id")
    func turn() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let (stream, _) = try await open(server, session.request("GET", "/features/probe/events"))
            let hello = try WireJSON.decode(Hello.self, from: try await offThePool { try stream.event("hello").data })
            #expect(hello.session == session.id && !hello.resumed && hello.features == ["probe"])
            let first = try WireJSON.decode(State.self, from: try await offThePool { try stream.event("state").data })
            #expect(first.version == 1 && first.intent == nil)
            _ = try await server.send(session.intent(#"{"type":"add","amount":5}"#, [("Idempotency-Key", "k1")]))
            let state = try WireJSON.decode(State.self, from: try await offThePool { try stream.event("state").data })
            #expect(state.version == 2 && state.intent == "k1" && state.state.count == 5)
            _ = try await server.send(session.intent(#"{"type":"say","text":"two\nlines"}"#))
            let event = try await offThePool { try stream.event("label") }
            let label = try WireJSON.decode(Label.self, from: event.data)
            #expect(label.label.text == "two\nlines" && !label.replay)
            #expect(event.id?.isEmpty == false)
        }
    }

    @Test("a stream goes on after its last id, by field or by query, and replays what came meanwhile")
    func resume() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let cursor = try await offThePool { [port = server.port] in
                let stream = try Connection(port: port)
                try stream.send(session.request("GET", "/events?feature=probe"))
                _ = try stream.head()
                return try stream.event("state").id
            }
            let id = try #require(cursor)
            _ = try await server.send(session.intent(#"{"type":"say","text":"missed"}"#))
            for request in [
                session.request("GET", "/events?feature=probe", [("Last-Event-ID", id)]),
                session.request("GET", "/events?feature=probe&last_event_id=\(id)"),
                session.request("GET", "/events?feature=probe&last_event_id=other", [("Last-Event-ID", id)]),
            ] {
                let (stream, _) = try await open(server, request)
                let hello = try await offThePool { try stream.event("hello") }
                #expect(try WireJSON.decode(Hello.self, from: hello.data).resumed)
                #expect(hello.id == id)
                let label = try await offThePool { try stream.event("label") }
                #expect(try WireJSON.decode(Label.self, from: label.data).replay)
            }
        }
    }

    @Test(
        "an unknown cursor gets a reset in the stream, never a 400",
        arguments: ["garbage", "aaaa.1", "%zz", "%0A", "%00", "a%0D%0Aid:%201", String(repeating: "9", count: 300)])
    func unknownCursor(cursor: String) async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let (stream, head) = try await open(
                server, session.request("GET", "/features/probe/events?last_event_id=\(cursor)"))
            #expect(head.status == 200)
            let hello = try await offThePool { try stream.event() }
            #expect(try WireJSON.decode(Hello.self, from: try #require(hello).data).resumed == false)
            let reset = try await offThePool { try stream.event() }
            #expect(reset?.name == "reset")
            #expect(reset.map { String(decoding: $0.data, as: UTF8.self) }?.contains("unknown-cursor") == true)
        }
    }

    @Test(
        "an unknown query parameter of a stream or a state is refused with its name, and nothing is made",
        arguments: [
            ("GET", "/events?feature[]=probe", "feature[]"), ("GET", "/events?feature%5B%5D=probe", "feature[]"),
            ("GET", "/events?feature=probe&features=probe", "features"), ("GET", "/events?Delta=json-patch", "Delta"),
            ("HEAD", "/events?delta=json-patch&x", ""), ("GET", "/events?=probe", "\"\""),
            ("GET", "/features/probe/events?feature=probe", "feature"),
            ("GET", "/features/probe/events?a%0Ab%E2%80%AE=1", #"a\u{a}b\u{202e}"#),
            ("GET", "/features/probe/state?wait=5", "wait"), ("HEAD", "/features/probe/state?wait=5", ""),
            ("DELETE", "/features/probe/state?force", "force"),
        ] as [(String, String, String)], Depth.allCases)
    func unknownParameter(_ query: (method: String, target: String, name: String), depth: Depth) async throws {
        let (method, target, name) = query
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let response = try await server.send(session.request(method, target))
            #expect(response.status == 400)
            if method != "HEAD" {
                #expect(response.problem == "bad-request")
                #expect(try response.json(TestResponse.Problem.self).detail.contains(name))
            }
            let described = try await server.send(session.request("GET", "/sessions/current"))
            #expect(described.text.contains(#""stores":[]"#))
        }
    }

    @Test("several features share a connection; without names, it shows all current and future ones")
    func multiplexed() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let (named, _) = try await open(
                server, session.request("GET", "/events?feature=probe&feature=item%3A2&feature=probe"))
            let hello = try await offThePool { try named.event("hello") }
            #expect(try WireJSON.decode(Hello.self, from: hello.data).features == ["item:2", "probe"])
            let (all, _) = try await open(server, session.request("GET", "/events"))
            let other = try await offThePool { try all.event("hello") }
            #expect(try WireJSON.decode(Hello.self, from: other.data).features == ["item:2", "probe"])
            _ = try await server.send(session.request("GET", "/features/item:3/state"))
            let joined = try await offThePool {
                while true {
                    let data = try all.event("state").data
                    let text = String(decoding: data, as: UTF8.self)
                    if text.contains("item:3") { return text }
                }
            }
            #expect(joined.contains(#""state":{"id":"3""#))
        }
    }

    @Test("a disposed store is reported with end")
    func end() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let (stream, _) = try await open(server, session.request("GET", "/features/probe/events"))
            _ = try await offThePool { try stream.event("state") }
            _ = try await server.send(session.request("DELETE", "/features/probe/state"))
            let end = try await offThePool { try stream.event("end") }
            #expect(String(decoding: end.data, as: UTF8.self) == #"{"feature":"probe"}"#)
        }
    }

    @Test("a label says for how many seconds it is of use")
    func lifeOfLabels() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"say","text":"hello"}"#))
            // The life of labels is 5 minutes, unless their feature says otherwise.
            for (passed, left) in [(Duration.zero, 300), (.milliseconds(99_500), 201), (.milliseconds(500), 200)] {
                server.time.advance(by: passed)
                let (stream, _) = try await open(
                    server, session.request("GET", "/features/probe/events?last_event_id=earliest"))
                let data = try await offThePool { try stream.event("label").data }
                #expect(try WireJSON.decode(Label.self, from: data).expiresIn == left)
            }
        }
    }

    @Test("one stream too many ends the oldest, for a minute")
    func superseded() async throws {
        try await TestServer.run(.socket, { $0.maxStreamsPerSession = 1 }) { server in
            let session = try await server.session()
            let (first, _) = try await open(server, session.request("GET", "/events"))
            _ = try await offThePool { try first.event("hello") }
            let (second, _) = try await open(server, session.request("GET", "/events"))
            _ = try await offThePool { try second.event("hello") }
            let farewell = try WireJSON.decode(
                Farewell.self, from: try await offThePool { try first.event("goaway").data })
            #expect(farewell.reason == "superseded")
            #expect(farewell.retry == 60_000)
            #expect(try await offThePool { try first.event() == nil && first.isAtEnd() })
        }
    }

    @Test("a stream that is asked to end gets the labels up to then, while others are published")
    func toldWhileLabelsCome() async throws {
        try await TestServer.run(.socket, { $0.maxStreamsPerSession = 1 }) { server in
            let session = try await server.session()
            let (first, _) = try await open(server, session.request("GET", "/events?feature=probe"))
            _ = try await offThePool { try first.event("state") }
            _ = try await server.send(session.intent(#"{"type":"say","text":"before"}"#))
            let (second, _) = try await open(server, session.request("GET", "/events?feature=probe"))
            _ = try await offThePool { try second.event("hello") }
            for number in 1...50 {
                _ = try await server.send(session.intent(#"{"type":"say","text":"\#(number)"}"#))
            }
            let said = try await offThePool {
                var said: [String] = []
                while let event = try first.event(), event.name != "goaway" {
                    guard event.name == "label" else { continue }
                    said.append(try WireJSON.decode(Label.self, from: event.data).label.text)
                }
                return said
            }
            #expect(said == ["before"])
            #expect(try await offThePool { try first.event() == nil && first.isAtEnd() })
        }
    }

    @Test("the end of its session ends a stream")
    func sessionEnds() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let (stream, _) = try await open(server, session.request("GET", "/events"))
            _ = try await offThePool { try stream.event("hello") }
            #expect(try await server.send(session.request("DELETE", "/sessions/current")).status == 204)
            let farewell = try await offThePool { try stream.event("goaway") }
            #expect(try WireJSON.decode(Farewell.self, from: farewell.data).reason == "ended")
            #expect(try await offThePool { try stream.event() == nil })
        }
    }

    @Test("a stream that cannot be opened now is 200, goaway without hello, and the end")
    func refusedForNow() async throws {
        try await TestServer.run(.socket, { $0.maxStreams = 1 }) { server in
            let session = try await server.session()
            try server.holdStream(of: session)
            let busy = try await server.send(session.request("GET", "/events"))
            #expect(busy.status == 200)
            #expect(busy["content-type"] == "text/event-stream; charset=utf-8")
            #expect(busy.text.hasPrefix("retry: ") && busy.text.contains("event: goaway"))
            #expect(busy.text.contains(#""reason":"busy""#) && !busy.text.contains("hello"))
            let problem = try await server.send(session.request("GET", "/events", [("Prefer", "problem")]))
            #expect(problem["preference-applied"] == "problem")
            #expect(problem["retry-after"] == "10")
            server.sessions.drain()
            let draining = try await server.send(session.request("GET", "/events"))
            #expect(draining.status == 200 && draining.text.contains(#""reason":"drain""#))
        }
    }

    @Test("a disconnected client's place becomes free")
    func leaves() async throws {
        try await TestServer.run(.socket, { $0.maxStreams = 1 }) { server in
            let session = try await server.session()
            for _ in 0..<5 {
                try await offThePool { [port = server.port] in
                    let stream = try Connection(port: port)
                    try stream.send(session.request("GET", "/events"))
                    _ = try stream.head()
                    _ = try stream.event("hello")
                }
                while server.sessions.environment.openStreams > 0 { await Task.yield() }
            }
        }
    }

    @Test("on HTTP/1.0 the same bytes come without chunks")
    func http10() async throws {
        try await TestServer.run(.socket) { server in
            let session = try await server.session()
            let text = try await offThePool { [port = server.port] in
                let stream = try Connection(port: port)
                try stream.send(
                    "GET /features/probe/events HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer \(session.secret)\r\n\r\n"
                )
                let head = try stream.head()
                return (head, try stream.text(through: "event: state"))
            }
            #expect(text.0["transfer-encoding"] == nil)
            #expect(text.1.hasPrefix(": ok\nretry: "))
        }
    }
}
