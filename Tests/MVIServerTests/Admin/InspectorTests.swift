import MVI
import MVITesting
import TestSupport
import Testing
import WireJSON

@testable import MVIServer

@Suite("The inspector")
struct InspectorTests {
    private struct Turns: Decodable {
        struct Recording: Decodable { var turns, bytes: Int }
        struct Turn: Decodable {
            struct Change: Decodable, Equatable { var op, path: String }
            var number: UInt64
            var feature: String
            var kind: String?
            var changes: [Change]?
        }
        var values: String
        var recording: Recording?
        var turns: [Turn]
        var next: UInt64?
    }

    private func record(
        _ session: Credential, _ port: AdminPort, _ body: String = #"{"turns":50}"#
    ) async throws -> TestResponse {
        try await port.send(
            "POST", "/admin/sessions/\(session.id)/recording", [("Content-Type", "application/json")], body: body)
    }

    private func turns(of session: Credential, _ port: AdminPort, _ query: String = "") async throws -> TestResponse {
        try await port.send("GET", "/admin/sessions/\(session.id)/turns\(query)")
    }

    @Test(arguments: Depth.allCases)
    func `a session is recorded from the request on, and its turns are listed`(depth: Depth) async throws {
        try await AdminPort.run(depth, { $0.inspector = .values }) { port in
            let session = try await port.server.session()
            let say = session.intent(#"{"type":"say","text":"first"}"#)
            _ = try await port.server.send(say)
            #expect(try await turns(of: session, port).json(Turns.self).turns.isEmpty)
            #expect(try await record(session, port).status == 200)
            for intent in [#"{"type":"say","text":"<img src=x onerror=alert(1)>"}"#, #"{"type":"increment"}"#] {
                _ = try await port.server.send(session.intent(intent))
            }
            let answer = try await turns(of: session, port)
            #expect(answer.text.contains("<img src=x onerror=alert(1)>"))
            let list = try answer.json(Turns.self)
            #expect(list.values == "values" && list.recording?.turns == 50 && list.next == nil)
            #expect(list.turns.map(\.feature) == ["probe", "probe"] && list.turns.allSatisfy { $0.kind == "intent" })
            #expect(list.turns[0].changes == nil && list.turns[1].changes == [.init(op: "replace", path: "/count")])
            let page = try await turns(of: session, port, "?limit=1").json(Turns.self)
            #expect(page.turns.count == 1 && page.next == page.turns[0].number)
            let rest = try await turns(of: session, port, "?after=\(page.turns[0].number)").json(Turns.self)
            #expect(rest.turns.map(\.number) == [list.turns[1].number])
            // It ends at its time, or at once.
            #expect(try await record(session, port, #"{"for":"0"}"#).status == 200)
            #expect(try await turns(of: session, port).json(Turns.self).recording == nil)
        }
    }

    @Test func `shapes show no value, and no name that may be one`() async throws {
        try await AdminPort.run(
            .memory,
            { settings in
                settings.inspector = .shapes
                settings.recordedTurns = 10
            }
        ) { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(#"{"type":"say","text":"canary"}"#))
            let answer = try await turns(of: session, port)
            #expect(!answer.text.contains("canary") && answer.text.contains(#""type":"say""#))
            #expect(try answer.json(Turns.self).recording?.turns == 10)
        }
        let json =
            #"{"type":"ann@example.org","a b":{"type":"x","n":-1.5e3},"list":[true,null,"q\"uote",{"type":"y"}]}"#
        let shape = String(decoding: ValueShape.of(Array(json.utf8)), as: UTF8.self)
        #expect(
            shape
                == #"{"type":"string","…":{"type":"string","n":"number"},"list":["boolean",null,"string",{"type":"string"}]}"#
        )
        let cased = String(
            decoding: ValueShape.of(Array(#"[{"type":"add","of":{"type":"x"}}]"#.utf8), typeDepth: 2), as: UTF8.self)
        #expect(cased == #"[{"type":"add","of":{"type":"string"}}]"#)
        for (given, wanted) in [
            (#"{"type":["ann"]}"#, #"{"type":["string"]}"#), (#"[{"type":"x"},"ann"]"#, #"[{"type":"x"},"string"]"#),
            (#"{"DE8937":1}"#, #"{"…":"number"}"#),
        ] {
            #expect(String(decoding: ValueShape.of(Array(given.utf8), typeDepth: 2), as: UTF8.self) == wanted)
        }
        let name = ValueShape.intent("ann", session: "s")
        #expect(name != "ann" && name == ValueShape.intent("ann", session: "s"))
        #expect(name != ValueShape.intent("ann", session: "t"))
        // The first 8 bytes of SHA-256 in base 36: a list of names would find it.
        #expect(name != "149wyshk57cj2" && ValueShape.intent("‹bootstrap›", session: "s") == "‹bootstrap›")
    }

    @Test func `digits in a path are shown as an index of an array, not as a key of a dictionary`() throws {
        let json = #"{"carts":{"ann@example.org":[1,{"rooms":{"12":[0]}}]},"pins":{"4711":true,"a/b~":[[0]]}}"#
        let tree = try WireJSON.decode(ValueShape.Tree.self, from: Array(json.utf8))
        for (path, shown) in [
            ("/carts/ann@example.org/0", "/carts/…/0"), ("/carts/ann@example.org/1/rooms/12/0", "/carts/…/1/rooms/…/0"),
            ("/pins/4711", "/pins/…"), ("/pins/1984", "/pins/…"), ("/pins/a~1b~0/0/0", "/pins/…/0/0"), ("", ""),
            ("/carts/ann@example.org/-", "/carts/…/-"), ("/gone/12", "/gone/…"),
        ] {
            #expect(ValueShape.path(path, in: [tree]) == shown)
            #expect(ValueShape.path(path, in: [tree, tree]) == shown)
        }
        #expect(ValueShape.path("/pins/4711", in: []) == "/pins/…")
        #expect(
            ValueShape.path(
                "/a/1",
                in: [
                    try WireJSON.decode(ValueShape.Tree.self, from: Array(#"{"a":{"1":2}}"#.utf8)),
                    try WireJSON.decode(ValueShape.Tree.self, from: Array(#"{"a":[1,2]}"#.utf8)),
                ]) == "/a/…")
    }

    @Test func `shapes name no subject of a turn`() async throws {
        for inspector in Inspector.allCases {
            try await AdminPort.run(
                .memory, authenticator: WordAuthenticator(), { ($0.inspector, $0.recordedTurns) = (inspector, 10) }
            ) { port in
                let session = try await port.server.session(of: "canary")
                _ = try await port.server.send(session.intent(#"{"type":"increment"}"#))
                let answer = try await turns(of: session, port)
                #expect(try !answer.json(Turns.self).turns.isEmpty)
                #expect(answer.text.contains("canary") == (inspector == .values), "\(answer.text)")
            }
        }
    }

    @Test func `the inspector's own token shows subjects with values only`() async throws {
        for inspector in Inspector.allCases {
            try await AdminPort.run(
                .memory, authenticator: WordAuthenticator(), { ($0.inspector, $0.adminToken) = (inspector, nil) }
            ) { port in
                let own = try #require(port.server.assembly.settings.inspectorToken)
                let session = try await port.server.session(of: "canary")
                for isKept in [false, true] {
                    if isKept { _ = try await port.server.send(session.intent(#"{"type":"increment"}"#)) }
                    for target in ["/admin/sessions", "/admin/sessions/\(session.id)"] {
                        let text = try await port.send("GET", target, token: own).text
                        #expect(
                            text.contains("canary") == (inspector == .values && text.contains("identity")), "\(text)")
                        if isKept { #expect(text.contains(#""issuer":"tests""#), "\(text)") }
                    }
                }
            }
        }
    }

    /// Its state nests as deep as states may: each level is an object and an array.
    private struct Nest: Feature {
        struct State: Codable, Equatable, Sendable { var inner: [State] = [] }
        enum Intent: Codable, Sendable { case nest(levels: Int) }
        static let name = "nest"
        static let examples: [Intent] = [.nest(levels: 1)]
        let initialState = State()

        func reduce(_ state: inout State, _ message: Intent) {
            guard case .nest(let levels) = message else { return }
            state = (1..<levels).reduce(into: State()) { state, _ in state = State(inner: [state]) }
        }
    }

    @Test func `a state of the deepest nesting is recorded, shown, and replayed from its export`() async throws {
        try await TestServer.run(
            .memory, content: { _ in ServerContent(features: [ServedFeature(Nest())]) }, { $0.recordedTurns = 10 }
        ) { server in
            let session = try await server.session()
            for (levels, status) in [(63, 202), (64, 202), (65, 500)] {
                let sent = session.intent(#"{"type":"nest","levels":\#(levels)}"#, to: "nest")
                #expect(try await server.send(sent).status == status, "\(levels)")
            }
            // A client's own JSON has the same limit.
            for (levels, status) in [(127, 202), (128, 400)] {
                let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
                let sent = session.intent(#"{"type":"nest","levels":64,"other":\#(nested)}"#, to: "nest")
                #expect(try await server.send(sent).status == status, "\(levels)")
            }
            let export = try #require(try await server.assembly.sessions.export(session.id))
            let shown = TurnList(export.whole.turns, of: session.id, after: 0, limit: 10, .values).turns
            #expect(!shown.isEmpty)
            for turn in shown { #expect(!String(decoding: turn, as: UTF8.self).contains("fault")) }
            var report = ReplayReport(server.assembly.sessions.environment.features)
            report.add(SessionDocument.write(export), "export")
            report.require(["nest"])
            #expect(!report.isFailed, "\(String(decoding: report.document, as: UTF8.self))")
        }
    }

    @Test func `without the setting neither the page nor turns are served; recording is`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(#"{"type":"say","text":"first"}"#))
            for path in ["", "/inspector.js", "/inspector.css"] {
                #expect(try await port.send("GET", "/admin/inspector\(path)").problem == "not-found")
            }
            #expect(try await turns(of: session, port).problem == "not-found")
            #expect(try await record(session, port).status == 200)
        }
    }

    @Test func `the page runs nothing inline, is in no frame or other window, and is served without a token`()
        async throws
    {
        try await AdminPort.run(.memory, { $0.inspector = .shapes }) { port in
            let files = ["", "/inspector.js", "/inspector.css"].map { "/admin/inspector\($0)" }
            for path in files + ["/admin/openapi.yaml", "/problems/busy"] {
                #expect(try await port.send("GET", path, token: nil).status == 200)
            }
            let page = try await port.send("GET", "/admin/inspector", token: nil)
            let policy = try #require(page["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            #expect(try await port.send("GET", "/admin/sessions/x/turns", token: nil).status == 401)
        }
    }

    @Test func `requests for a recording that cannot be are refused`() async throws {
        try await AdminPort.run { port in
            let session = try await port.server.session()
            _ = try await port.server.send(session.intent(#"{"type":"say","text":"first"}"#))
            for body in [
                #"{"turns":0}"#, #"{"bytes":1}"#, #"{"for":"31d"}"#, #"{"for":"soon"}"#, "[", #"{"turns":"x"}"#,
            ] {
                #expect(try await record(session, port, body).status == 400, "\(body)")
            }
            let answer = try await port.send(
                "POST", "/admin/sessions/nobody/recording", [("Content-Type", "application/json")], body: "{}")
            #expect(answer.problem == "admin-session-not-found")
        }
    }

    @Test func `on a loopback address without an admin token, the server makes one for the inspector`() async throws {
        var settings = ServerSettings()
        settings.inspector = .shapes
        settings.makeInspectorToken()
        let token = try #require(settings.inspectorToken)
        guard case .inspector(let own) = AdminGuard.Rule(settings) else {
            Issue.record("\(AdminGuard.Rule(settings))")
            return
        }
        #expect(own.matches(Array(token.utf8)) && !own.matches(Array("0123456789abcdef".utf8)))
        try await AdminPort.run(.memory, { ($0.inspector, $0.adminToken) = (.shapes, nil) }) { port in
            let own = try #require(port.server.assembly.settings.inspectorToken)
            #expect(try await port.send("GET", "/admin/sessions", token: own).status == 200)
            // Nothing but what the page asks for.
            for target in ["/admin/subjects/export?subject=ann", "/admin/sessions/x/features/probe"] {
                #expect(try await port.send("GET", target, token: own).problem == "admin-closed")
            }
            #expect(try await port.send("POST", "/admin/drain", token: own).problem == "admin-closed")
        }
        settings.inspectorToken = nil
        settings.adminHost = "0.0.0.0"
        settings.makeInspectorToken()
        #expect(settings.inspectorToken == nil && AdminGuard.Rule(settings) == .closed)
    }
}
