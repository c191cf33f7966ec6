import CResources
import Testing

@testable import MVIServer

@Suite("What the server says of itself", .timeLimit(.minutes(10)))
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

    @Test("the JavaScript client is served byte for byte, to be asked for again", arguments: Depth.allCases)
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

    @Test("the page is shown in no frame and loads nothing from elsewhere", arguments: Depth.allCases)
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
