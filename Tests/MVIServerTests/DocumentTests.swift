import CResources
import Sessions
import Testing

@testable import MVIServer

@Suite("Documents of the server", .timeLimit(.minutes(10)))
struct DocumentTests {
    struct List: Decodable {
        struct Summary: Decodable {
            struct Links: Decodable { var `self`, state, intents, events: String }
            var id: String
            var summary: String
            var keyed: Bool
            var links: Links
        }
        var features: [Summary]
    }
    struct Description: Decodable {
        struct Typed: Decodable { var type: String }
        var id: String
        var intents: [Typed]
        var labels: [Typed]
        var state: Probe.State?
    }

    @Test("the features are listed in their order, with links", arguments: Depth.allCases)
    func list(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let response = try await server.send(TestRequest("GET", "/features"))
            #expect(response.status == 200)
            let features = try response.json(List.self).features
            #expect(features.map(\.id) == ["probe", "item"])
            #expect(features.map(\.keyed) == [false, true])
            #expect(features[0].summary == "Counts, and fails in every way.")
            #expect(features[0].links.intents == "/features/probe/intents")
            #expect(features[1].links.state == "/features/item:{key}/state")
            #expect(features[1].links.`self` == "/features/item")
        }
    }

    @Test("a feature is described by its examples", arguments: Depth.allCases)
    func describe(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let response = try await server.send(TestRequest("GET", "/features/probe"))
            let description = try response.json(Description.self)
            #expect(description.intents.map(\.type).prefix(3) == ["increment", "add", "say"])
            #expect(description.labels.map(\.type) == ["said"])
            #expect(description.state == Probe.State())
            let keyed = try await server.send(TestRequest("GET", "/features/item"))
            #expect(try keyed.json(Description.self).state == nil)
        }
    }

    @Test(
        "files of the page run only the server's own scripts",
        arguments: [
            ("/icon.svg", "image/svg+xml", "sandbox"), ("/feed.xml", "TEXT/XML; charset=utf-8", "sandbox"),
            ("/more.html", "Text/HTML", "script-src 'self'"),
            ("/old.xhtml", "application/xhtml+xml", "script-src 'self'"),
            ("/app.js", "text/javascript", ""), ("/a.png", "image/png", ""),
        ])
    func pageSecurity(_ path: String, _ type: String, _ rule: String) async throws {
        let page = [PageResource(path: path, contentType: type, bytes: Array("<a/>".utf8))]
        let sessions = SessionTable(environment: SessionEnvironment(features: try FeatureRegistry([])))
        let application = try Application(sessions, ServerSettings(), page: page)
        let response = try await MemoryClient(application: application).exchange(TestRequest("GET", path))
        #expect(response.status == 200)
        let policy = response["content-security-policy"]
        #expect(rule.isEmpty ? policy == nil : policy?.contains(rule) == true)
        #expect(policy?.contains("'unsafe-inline'") != true || policy?.contains("default-src 'none'") == true)
    }

    @Test("other origins cannot load a session's answers, and listed origins can read them")
    func resourcePolicy() async throws {
        let list: @Sendable (inout ServerSettings) -> Void = {
            $0.allowedOrigins = [Origin(setting: "https://app.example")].compactMap { $0 }
        }
        try await TestServer.run(.memory, list) { server in
            let session = try await server.session()
            let origin = (name: "Origin", value: "https://app.example")
            for request in [
                TestRequest("POST", "/sessions", [origin]), session.request("GET", "/sessions/current", [origin]),
                session.request("GET", "/features/probe/state", [origin]), session.request("GET", "/events", [origin]),
                session.intent(#"{"type":"increment"}"#, [origin]),
                session.intent(#"{"type":"increment"}"#, [origin, ("Prefer", "return=minimal")]),
                session.intent(#"{"type":"nothing"}"#, [origin]),
                session.request("DELETE", "/features/probe/state", [origin]),
            ] {
                let response = try await server.send(request)
                #expect(response["cross-origin-resource-policy"] == "same-origin", "\(request.target)")
                #expect(response["access-control-allow-origin"] == "https://app.example", "\(request.target)")
            }
            // The files that pages of other origins may load as a script or an image.
            for target in ["/mvi-client.js", "/style.css", "/openapi.yaml"] {
                #expect(try await server.send(TestRequest("GET", target))["cross-origin-resource-policy"] == nil)
            }
        }
    }

    @Test("openapi.yaml is served byte for byte", arguments: Depth.allCases)
    func openAPI(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let response = try await server.send(TestRequest("GET", "/openapi.yaml"))
            let file = cresources_openapi_yaml()
            #expect(response.body.elementsEqual(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            let tag = try #require(response["etag"])
            let again = try await server.send(TestRequest("GET", "/openapi.yaml", [("If-None-Match", tag)]))
            #expect(again.status == 304)
            #expect(again.body.isEmpty)
        }
    }

    @Test("the JavaScript client is served byte for byte, with revalidation", arguments: Depth.allCases)
    func client(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let response = try await server.send(TestRequest("GET", "/mvi-client.js"))
            let file = cresources_mvi_client_js()
            #expect(response.body.elementsEqual(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            #expect(response["content-type"] == "text/javascript; charset=utf-8")
            #expect(response["cache-control"] == "no-cache")
            let tag = try #require(response["etag"])
            let again = try await server.send(TestRequest("GET", "/mvi-client.js", [("If-None-Match", tag)]))
            #expect(again.status == 304 && again.body.isEmpty)
        }
    }

    @Test("every problem type has a page", arguments: Depth.allCases)
    func problems(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            for type in ProblemType.all {
                let response = try await server.send(TestRequest("GET", type.reference))
                #expect(response.status == 200)
                #expect(response.text.contains(type.title) && response.text.contains(type.remedy))
            }
        }
    }

    @Test("the page is not shown in frames and loads nothing from other servers", arguments: Depth.allCases)
    func page(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            let page = try await server.send(TestRequest("GET", "/"))
            #expect(page.text == "<!doctype html>")
            #expect(page["content-type"] == "text/html; charset=utf-8")
            let policy = try #require(page["content-security-policy"])
            #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            let style = try await server.send(TestRequest("GET", "/style.css"))
            #expect(style.text == "p {}")
            #expect(style["content-security-policy"] == nil)
            let head = try await server.send(TestRequest("HEAD", "/"))
            #expect(head.status == 200 && head.body.isEmpty)
        }
    }

    private struct Readiness: Decodable {
        var status: String
        var stores: [String: Int]
    }

    @Test("health is answered", arguments: Depth.allCases)
    func health(depth: Depth) async throws {
        try await TestServer.run(depth) { server in
            #expect(try await server.send(TestRequest("GET", "/health/live")).text == #"{"status":"live"}"#)
            let session = try await server.session()
            _ = try await server.send(session.intent(#"{"type":"fail"}"#))
            let counts = try await server.send(TestRequest("GET", "/health/ready")).json(Readiness.self)
            #expect(counts.status == "ready" && counts.stores["failures"] == 1)
            #expect(counts.stores["missedObservations"] == 0)
            server.sessions.drain()
            #expect(try await server.send(TestRequest("GET", "/health/live")).status == 200)
            let ready = try await server.send(TestRequest("HEAD", "/health/ready"))
            #expect(ready.status == 503)
            #expect(ready["retry-after"] == "2")
        }
    }
}
