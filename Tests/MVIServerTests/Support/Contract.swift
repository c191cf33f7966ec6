import MicroHTTP
import Sessions
import Testing

@testable import MVIServer

/// Holds every answer of the tests against the declared operations: nothing may be answered that is not declared.
enum Contract {
    private static let router = Router.ofTests(TestServer.page)
    /// The fields that an answer must have, by operation and status.
    private static let requiredFields = ((try? OpenAPIDescription.operations.get()) ?? [:]).mapValues(\.requiredFields)
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
        case .found(let endpoint, _, _): check(response, endpoint.name, request.method)
        case .options(let endpoint, _, _):
            check(response, Operation.describeOptions.rawValue, request.method, path: endpoint.path)
        case .unknownPath:
            #expect(response.status == 404 || request.target == "*" || response.status == 400)
        case .unknownMethod:
            #expect(response.status == 405)
            #expect(response["allow"] != nil)
        }
    }

    /// - Parameter path: tells paths apart where the operation is that of many, as `OPTIONS` is.
    private static func check(_ response: TestResponse, _ name: String, _ method: String, path: String? = nil) {
        let route = Declared.table.first {
            // The files of the page are one operation.
            let isThere = path == nil || $0.path == path || !Declared.table.contains { $0.path == path }
            return $0.operation.rawValue == name && $0.method.rawValue == method && isThere
        }
        guard let route else {
            Issue.record("\(method) \(name) is not declared")
            return
        }
        let name = "\(route.method.rawValue) \(route.path)"
        if let problem = response.problem {
            let declared = route.problems + Declared.Everywhere.problems
            #expect(
                declared.contains { $0.name == problem && $0.status == response.status },
                "\(name) answers \(response.status) \(problem), which is not declared")
        } else if response.status < 400 {
            #expect(route.successes.contains(response.status), "\(name) answers \(response.status)")
        }
        let required = requiredFields[name]?["\(response.status)"] ?? []
        for field in required { #expect(response[field] != nil, "\(name) lacks \(field)") }
        let declared = Set((route.responseFields + Declared.Everywhere.responseFields).map { $0.lowercased() })
        for field in response.fields.map({ $0.name.lowercased() }) where !transport.contains(field) {
            #expect(
                declared.contains(field) || (response.problem != nil && field == "content-type"),
                "\(name) sends \(field), which is not declared")
        }
    }

    private static func checkProblem(_ request: TestRequest, _ response: TestResponse) {
        do {
            let problem = try response.json(TestResponse.Problem.self)
            let type = ProblemType.all.first { $0.reference == problem.type }
            #expect(type?.status == response.status && problem.status == response.status)
            #expect(type?.title == problem.title)
            // Nothing of the server's inside: no type, no path of a file, no optional's or error's description.
            for leak in ["MVI", "Swift", ".swift", "Optional(", "Error", "/work", "/usr"] {
                #expect(!problem.detail.contains(leak), "\(problem.detail)")
            }
        } catch {
            Issue.record("a problem that cannot be read: \(response.text)")
        }
    }
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
