import MicroHTTP
import Sessions
import Testing

@testable import MVIServer

/// Checks every answer of the tests against `openapi.yaml`: each answer has to be declared there.
enum Contract {
    private static let router = Router.ofTests(TestServer.page)
    /// Fields of HTTP itself.
    private static let transport: Set<String> = [
        "date", "content-length", "transfer-encoding", "connection",
    ]

    static func check(_ request: TestRequest, _ response: TestResponse) {
        let path = Array(request.target.prefix { $0 != "?" }.utf8)
        #expect(response.status != 500 || response.problem != nil, "a bare 500")
        #expect(response["x-content-type-options"] == "nosniff")
        #expect(response["cache-control"] != nil)
        if response.problem != nil { checkProblem(request, response) }
        switch router.route(method: request.method, path: path) {
        case .found(let route, _, _), .options(let route, _, _): check(response, request.method, route)
        case .unknownPath:
            #expect(response.status == 404 || request.target == "*" || response.status == 400)
        case .unknownMethod:
            #expect(response.status == 405)
            #expect(response["allow"] != nil)
        }
    }

    private static func check(_ response: TestResponse, _ method: String, _ route: Route) {
        let name = "\(method) \(route.describedPath)"
        let description = OpenAPIDescription.known
        guard let operation = description.operations[name] else {
            Issue.record("openapi.yaml has no \(name)")
            return
        }
        if let problem = response.problem {
            #expect(
                operation.mayAnswer(problem, response.status),
                "openapi.yaml does not say that \(name) answers \(response.status) \(problem)")
        } else if response.status < 400 {
            #expect(operation.successes.contains(response.status), "\(name) answers \(response.status)")
        }
        for field in operation.requiredFields["\(response.status)"] ?? [] {
            #expect(response[field] != nil, "\(name) lacks \(field)")
        }
        let described = operation.responseFields.union(description.everywhere.responseFields).map { $0.lowercased() }
        // The answer to HEAD has the fields of GET.
        let hasContent = operation.givesContent || description.operations["GET \(operation.path)"]?.givesContent == true
        for field in response.fields.map({ $0.name.lowercased() }) where !transport.contains(field) {
            let isOfContent = field == "content-type" && (response.problem != nil || hasContent)
            #expect(
                described.contains(field) || isOfContent,
                "openapi.yaml does not say that \(name) sends \(field)")
        }
    }

    private static func checkProblem(_ request: TestRequest, _ response: TestResponse) {
        do {
            let problem = try response.json(TestResponse.Problem.self)
            let type = ProblemType.all.first { $0.reference == problem.type }
            #expect(type?.status == response.status && problem.status == response.status)
            #expect(type?.title == problem.title)
            // No internals of the server: types, paths of files, descriptions of optionals or errors.
            for leak in ["MVI", "Swift", ".swift", "Optional(", "Error", "/work", "/usr"] {
                #expect(!problem.detail.contains(leak), "\(problem.detail)")
            }
        } catch {
            Issue.record("a problem that cannot be read: \(response.text)")
        }
    }
}

extension Route {
    /// The path in `openapi.yaml`, which has one path for all files of a page.
    var describedPath: String { name == "readFile" ? "/{file}" : path }
}

extension Router {
    /// The router of a server with one feature.
    static func ofTests(_ page: [PageResource] = []) -> Router {
        do {
            let sessions = SessionTable(environment: SessionEnvironment(features: try FeatureRegistry([])))
            return try Application(sessions, ServerSettings(), page: page).router
        } catch {
            preconditionFailure("no router: \(error)")
        }
    }
}
