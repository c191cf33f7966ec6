import Locking
import Logging
import MVI
import MVITesting
import Testing

@testable import MVIServer

@Suite("Example keys of a keyed feature", .timeLimit(.minutes(10)))
struct ExampleKeyTests {
    private struct Summary: Decodable {
        var id: String
        var exampleKeys: [String]?
        var state: Item.State?
    }
    private struct List: Decodable { var features: [Summary] }

    @FeatureBuilder
    private static func items(_ gate: Gate) -> ServerContent {
        Keyed(examples: ["3", "7"]) { try Item(id: $0) }
        Probe(gate: gate)
    }

    @Test("are in the list and the description, with the state of the first", arguments: Depth.allCases)
    func describe(depth: Depth) async throws {
        try await TestServer.run(depth, content: Self.items) { server in
            let list = try await server.send(TestRequest("GET", "/features")).json(List.self)
            #expect(list.features.map(\.exampleKeys) == [["3", "7"], nil])
            let description = try await server.send(TestRequest("GET", "/features/item")).json(Summary.self)
            #expect(description.exampleKeys == ["3", "7"])
            #expect(description.state == Item.State(id: "3"))
            // The state that a client gets.
            let session = try await server.session()
            let state = try await server.send(session.request("GET", "/features/item:3/state")).json(Item.State.self)
            #expect(description.state == state)
        }
    }

    @Test("are missing if the author declares none", arguments: Depth.allCases)
    func none(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let list = try await server.send(TestRequest("GET", "/features")).json(List.self)
            #expect(list.features.map(\.exampleKeys) == [nil, nil])
        }
    }

    /// Makers and rules that depend on more than the key.
    @FeatureBuilder
    private static func guarded(_ kind: Guarded, _ made: Made) -> ServerContent {
        switch kind {
        case .byCaller:
            Keyed(examples: ["3"]) { (key, context) -> Item? in
                made.keys.withLock { $0.append(key) }
                guard context.principal != nil else { return nil }
                return try Item(id: key)
            }
        case .byRefusal:
            Keyed(examples: ["3"]) { (_) -> Item? in throw Refusal(.forbidden, "Come back tomorrow.") }
        case .byRule: Keyed(examples: ["3"]) { try Item(id: $0) }.requires { $0.claim("tier") == "premium" }
        }
    }
    enum Guarded: CaseIterable { case byCaller, byRefusal, byRule }
    private final class Made: Sendable { let keys = Lock<[String]>([]) }

    @Test("are listed without a state if it depends on the caller, a refusal or a rule", arguments: Guarded.allCases)
    func guarded(kind: Guarded) async throws {
        let made = Made()
        try await TestServer.run(.memory, content: { _ in Self.guarded(kind, made) }) { server in
            let description = try await server.send(TestRequest("GET", "/features/item")).json(Summary.self)
            #expect(description.exampleKeys == ["3"])
            #expect(description.state == nil)
        }
        #expect(made.keys.withLock { $0.isEmpty }, "a maker that asks who names the key was called without a caller")
    }

    @Test(
        "that are invalid stop the server at its start, and are named",
        arguments: [
            (["3", "77"], "does not accept its example key '77' (no instance has it)"),
            (["three"], "does not accept its example key 'three' (its maker failed: Unknown())"),
            (["3/4"], "does not accept its example key '3/4' (a key is [A-Za-z0-9._~-]{1,64})"),
            (["3", "4", "3"], "does not accept its example key '3' (it is listed twice)"),
            (["broken"], "the feature 'item' cannot be mapped to JSON"),
        ])
    func wrong(keys: [String], text: String) throws {
        let error = #expect(throws: (any Error).self) {
            try Assembly(
                ServerContent(features: [ServedFeature(Keyed(examples: keys) { try Item(id: $0) })]),
                settings: ServerSettings(), logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        }
        let line = error.map { "\($0)" } ?? ""
        #expect(line.contains("the feature 'item'") && line.contains(text), "\(line)")
        #expect(!line.contains("\n"))
    }

    @Test("are named in the refusal of an unknown or missing key", arguments: Depth.allCases)
    func unknownKey(depth: Depth) async throws {
        try await TestServer.run(depth, content: Self.items) { server in
            let session = try await server.session()
            for request in [
                session.request("GET", "/features/item:77/state"),
                session.intent(#"{"type":"weigh","weight":2}"#, to: "item:77"),
                session.request("GET", "/features/item:77/events"),
                session.request("GET", "/events?feature=probe&feature=item:77"),
                session.request("DELETE", "/features/item:77/state"),
            ] {
                let problem = try await server.send(request).json(TestResponse.Problem.self)
                #expect(problem.detail == #"There is no "item" with the key "77". Keys to try: 3, 7."#)
            }
            let bare = try await server.send(session.request("GET", "/features/item/state"))
            let detail = try bare.json(TestResponse.Problem.self).detail
            #expect(detail == #"The feature "item" needs a key, as in item:3."#)
        }
    }

    @Test("follow the detail of a maker's refusal", arguments: Depth.allCases)
    func refusedKey(depth: Depth) async throws {
        let keyed = Keyed(examples: ["3"]) { (key) -> Item? in
            if key == "9" { throw Refusal(.forbidden, "The box is not yours.") }
            guard key == "3" else { throw Refusal(.notFound, code: "no-box", "There is no such box.") }
            return try Item(id: key)
        }
        let content = ServerContent(features: [ServedFeature(keyed)])
        try await TestServer.run(depth, content: { _ in content }) { server in
            let session = try await server.session()
            for (key, status, detail) in [
                ("4", 404, "There is no such box. Keys to try: 3."), ("9", 403, "The box is not yours."),
            ] {
                let refused = try await server.send(session.request("GET", "/features/item:\(key)/state"))
                #expect(refused.status == status)
                #expect(try refused.json(TestResponse.Problem.self).detail == detail)
            }
        }
    }

    @Test("are not in the refusal if there are none", arguments: Depth.allCases)
    func unknownKeyWithoutExamples(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let session = try await server.session()
            let refused = try await server.send(session.request("GET", "/features/item:77/state"))
            let detail = try refused.json(TestResponse.Problem.self).detail
            #expect(detail == #"There is no "item" with the key "77"."#)
        }
    }

    @Test("are in the OpenAPI document of the features, whose makers are not called")
    func types() throws {
        let made = Made()
        let keyed = Keyed(examples: ["3", "77"]) { (key) -> Item? in
            made.keys.withLock { $0.append(key) }
            return try Item(id: key)
        }
        let text = try FeatureTypes(ServerContent(features: [ServedFeature(keyed)])).openAPI()
        #expect(text.contains(#"examples: { "3": { value: "3" }, "77": { value: "77" } } }"#))
        #expect(text.contains(#"example: ["item:3"]"#))
        #expect(made.keys.withLock { $0.isEmpty })
    }
}
