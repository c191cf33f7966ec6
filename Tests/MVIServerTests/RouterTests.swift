import Testing

@testable import MVIServer

@Suite("Routing on the path's bytes")
struct RouterTests {
    private let router = Router.ofTests(
        ["/", "/style.css"].map { PageResource(path: $0, contentType: "text/plain", bytes: []) })

    private func route(_ method: String, _ path: String) -> String {
        switch router.route(method: method, path: Array(path.utf8)) {
        case .found(let endpoint, let parameter, _):
            let text = String(decoding: Array(path.utf8)[parameter], as: UTF8.self)
            return text.isEmpty ? "\(method) \(endpoint.name)" : "\(method) \(endpoint.name) \(text)"
        case .options: return "OPTIONS describeOptions"
        case .unknownPath: return "unknown path"
        case .unknownMethod(let allow): return "only \(allow)"
        }
    }

    @Test(
        "finds existing routes",
        arguments: [
            ("GET", "/", "GET readPage"), ("GET", "/style.css", "GET readFile"),
            ("GET", "/features", "GET listFeatures"),
            ("GET", "/features/counter", "GET describeFeature counter"),
            ("POST", "/features/a:1/intents", "POST sendIntent a:1"), ("HEAD", "/features/a/state", "HEAD readState a"),
            ("DELETE", "/features/a/state", "DELETE disposeStore a"), ("GET", "/events", "GET streamSession"),
            ("GET", "/features/a/events", "GET streamFeature a"), ("OPTIONS", "/events", "OPTIONS describeOptions"),
            ("GET", "/features/a%2Fb/state", "GET readState a%2Fb"),
            ("GET", "/problems/busy", "GET explainProblem busy"), ("GET", "/mvi-client.js", "GET readClient"),
        ])
    func found(method: String, path: String, result: String) {
        #expect(route(method, path) == result)
    }

    @Test(
        "a path is compared byte for byte",
        arguments: [
            "", "//", "/features/", "/Features", "/features//state", "/features/a/b/state", "/features/a/state/",
            "/features%2Fcounter", "/%66eatures", "/features/a%2Fstate/x", "/features/../features/a/state", "/other",
            "/style.css/", "/features/a\0/state/", "/sessions/current/x", "/health", "*", "events", "/{file}",
        ])
    func unknown(path: String) {
        #expect(route("GET", path) == "unknown path")
    }

    @Test(
        "a known path says which methods it has",
        arguments: [
            ("PUT", "/sessions", "only POST, OPTIONS"), ("get", "/events", "only GET, HEAD, OPTIONS"),
            ("GET", "/features/a/intents", "only POST, OPTIONS"),
            ("PATCH", "/features/a/state", "only GET, HEAD, DELETE, OPTIONS"),
            ("POST", "/style.css", "only GET, HEAD, OPTIONS"),
        ])
    func methods(method: String, path: String, result: String) {
        #expect(route(method, path) == result)
    }

    @Test("without a page there are no routes of the page")
    func noPage() {
        let router = Router.ofTests()
        for path in ["/", "/style.css", "/{file}"] {
            guard case .unknownPath = router.route(method: "GET", path: Array(path.utf8)) else {
                Issue.record("\(path) is there")
                continue
            }
        }
    }
}

@Suite("A path with two parameters")
struct PathPatternTests {
    private let pattern = PathPattern("/s/{id}/f/{feature}/i")

    @Test(arguments: [("/s/a/f/b:1/i", "a/f/b:1"), ("/s/f/f/f/i", "f/f/f"), ("/s/a%2Ff/f/b/i", "a%2Ff/f/b")])
    func `matches both parameters and the text between them`(path: String, parameter: String) {
        guard case .parameter(let range) = pattern.match(Array(path.utf8)) else {
            Issue.record("\(path) does not match")
            return
        }
        #expect(String(decoding: Array(path.utf8)[range], as: UTF8.self) == parameter)
    }

    @Test(arguments: [
        "/s/a/f/b", "/s//f/b/i", "/s/a/f//i", "/s/a/b/f/c/i", "/s/a/f/b/c/i", "/s/a/f/i", "/s/f/b/i", "/s/a/g/b/i",
        "/s/a/f/b/i/", "/s/a/fb/i", "",
    ])
    func `does not match other paths`(path: String) { #expect(pattern.match(Array(path.utf8)) == .no) }
}
