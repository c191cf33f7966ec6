import MVI
import MVITesting
import Schema
import Sessions
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
        let name = ValueShape.intent("ann", session: "s")
        #expect(name != "ann" && name == ValueShape.intent("ann", session: "s"))
        #expect(name != ValueShape.intent("ann", session: "t"))
        // The first 8 bytes of SHA-256 in base 36: a list of names would find it.
        #expect(name != "149wyshk57cj2" && ValueShape.intent("‹bootstrap›", session: "s") == "‹bootstrap›")
    }

    /// Its dictionaries have keys that look like names in code.
    private struct Directory: Feature {
        struct Phone: Codable, Equatable, Sendable { var area = 1 }
        enum Mark: Codable, Equatable, Sendable {
            case none
            case by(name: [String: Int])
        }
        struct State: Codable, Equatable, Sendable {
            var phones: [String: [Phone]] = [:]
            var pins: [Int: Bool]?
            var list: [[Int]] = [[1], [2]]
            var mark = Mark.none
            var code = Secret("x")
        }
        enum Intent: Codable, Sendable {
            case add(name: String)
            case put(phones: [String: Phone], nested: Mark)
        }
        static let name = "directory"
        static let examples: [Intent] = [.add(name: "a")]
        let initialState = State()

        func reduce(_ state: inout State, _ message: Intent) {
            guard case .add(let name) = message else { return }
            state.phones[name] = [Phone()]
            state.mark = .by(name: [name: 1])
        }
    }

    private static func directory() throws -> ValueShape {
        ValueShape(try FeatureDefinition(Directory()))
    }

    @Test func `shapes show members that a type declares, and no keys of dictionaries`() throws {
        let shape = try Self.directory()
        for (type, given, wanted) in [
            (
                shape.state,
                #"{"phones":{"anna":[{"area":49,"anna":1}],"list":[],"":[]},"pins":{"4711":true},"list":[[1],[null]],"mark":{"type":"by","name":{"anna":1}},"code":{"secret":"x"},"anna":"q\"uote"}"#,
                #"{"phones":{"…":[{"area":"number","…":"number"}],"…2":[],"…3":[]},"pins":{"…":"boolean"},"list":[["number"],[null]],"mark":{"type":"string","name":{"…":"number"}},"code":{"secret":"string"},"…":"string"}"#
            ),
            (
                shape.cause, #"{"type":"put","phones":{"area":{"area":1}},"nested":{"type":"none"}}"#,
                #"{"type":"put","phones":{"…":{"area":"number"}},"nested":{"type":"string"}}"#
            ),
            (shape.cause, #"{"type":"anna","name":"anna"}"#, #"{"type":"string","name":"string"}"#),
            (shape.cause, #"["add"]"#, #"["string"]"#),
            (shape.messages, #"[{"type":"add","name":"anna"},1e3]"#, #"[{"type":"add","name":"string"},"number"]"#),
            (.any, #"{"type":"add","area":{"list":[{"area":1}]}}"#, #"{"…":"string","…2":{"…":[{"…":"number"}]}}"#),
        ] {
            let shown = shape.of(Array(given.utf8), type, namesCases: true)
            #expect(String(decoding: shown, as: UTF8.self) == wanted)
        }
        // The types of another version of the state are not known.
        #expect(shape.of(version: 1).state == shape.state && shape.of(version: nil).state == shape.state)
        #expect(shape.of(version: 2).state == .any)
        let other = shape.of(version: 2)
        let old = other.of(Array(#"{"list":1}"#.utf8), other.state)
        #expect(String(decoding: old, as: UTF8.self) == #"{"…":"number"}"#)
    }

    /// Both cases with operands have the same members.
    private indirect enum Term: Codable, Equatable, Sendable {
        case one
        case sum(left: Term, right: Term)
        case product(left: Term, right: Term)
    }

    @Test func `the shape of a deep value of an enum with like cases is made at once`() {
        let forms = ValueForms([Term.self])
        let shape = ValueShape(forms.types, forms.definitions, schemaVersion: 1)
        let term = (0..<100).reduce(#"{"type":"one"}"#) { term, _ in #"{"type":"sum","left":\#(term)}"# }
        let shown = String(decoding: shape.of(Array(term.utf8), shape.cause), as: UTF8.self)
        #expect(shown == term.replacing(/"(sum|one)"/, with: #""string""#))
    }

    @Test func `a path shows members that a type declares and indices of arrays`() throws {
        let shape = try Self.directory()
        for (path, shown) in [
            ("/phones", "/phones"), ("/phones/anna", "/phones/…"), ("/phones/anna/0/area", "/phones/…/0/area"),
            ("/phones/anna/-", "/phones/…/-"), ("/pins/4711", "/pins/…"), ("/list/1/0", "/list/1/0"),
            ("/list/anna", "/list/…"), ("/mark/type", "/mark/type"), ("/mark/name/anna", "/mark/name/…"),
            ("/a~1b~0/0/area", "/…/…/…"), ("", ""), ("/", "/…"),
        ] {
            #expect(shape.path(path, of: shape.state) == shown)
        }
        #expect(ValueShape.unknown.path("/list/1", of: ValueShape.unknown.state) == "/…/…")
    }

    @Test func `recorded turns show no key of a dictionary as a shape`() async throws {
        try await TestServer.run(
            .memory, content: { _ in ServerContent(features: [ServedFeature(Directory())]) },
            {
                ($0.recordedTurns, $0.inspector, $0.adminPort, $0.adminToken) =
                    (10, .shapes, 0, AdminToken(AdminPort.token))
            }
        ) { server in
            let (port, session) = (try AdminPort(server), try await server.session())
            for name in ["anna", "bob"] {
                let intent = session.intent(#"{"type":"add","name":"\#(name)"}"#, to: "directory")
                #expect(try await server.send(intent).status == 202)
            }
            let answer = try await turns(of: session, port)
            #expect(!answer.text.contains("anna") && !answer.text.contains("bob"), "\(answer.text)")
            #expect(answer.text.contains(#""phones":{"…":[{"area":"number"}]"#), "\(answer.text)")
            let changes = try #require(try answer.json(Turns.self).turns.last?.changes)
            #expect(changes.contains(.init(op: "add", path: "/phones/…")), "\(changes)")
        }
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
            let shown = TurnList(export.whole.turns, of: session.id, after: 0, limit: 10, nil).turns
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
