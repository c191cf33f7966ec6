/// Finds the route of a request on the path's raw bytes, so that no decoding can make a separator.
struct Router: Sendable {
    private struct Resource: Sendable {
        let pattern: PathPattern
        let operations: [(method: Method, operation: Operation)]
        let allow: String
    }

    enum Outcome {
        /// `parameter` is where in the path the parameter is, empty without one; `allow` is what `Allow` says.
        case found(Operation, Method, parameter: Range<Int>, allow: String)
        case unknownPath
        /// The path is known, the method is none of its own.
        case unknownMethod(allow: String)
    }

    /// The paths asked for most come first.
    private let resources: [Resource]

    /// - Parameter files: the paths of the page's files, `/` among them: `/{file}` stands for each of the others, and
    ///   a server without a page has none of these routes.
    init(_ routes: [Route] = Route.table, files: [String] = []) {
        let routes = routes.flatMap { route in
            switch route.operation {
            case .readPage, .readFile, .describeOptions:
                route.path == "/{file}"
                    ? files.filter { $0 != "/" }.map { route.moved(to: $0) }
                    : route.path == "/" && !files.contains("/") ? [] : [route]
            default: [route]
            }
        }
        var order: [String] = []
        var byPath: [String: [Route]] = [:]
        for route in routes {
            if byPath[route.path] == nil { order.append(route.path) }
            byPath[route.path, default: []].append(route)
        }
        let hottest = "/features/{id}/intents"
        resources = (order.filter { $0 == hottest } + order.filter { $0 != hottest }).map { path in
            let routes = byPath[path] ?? []
            return Resource(
                pattern: PathPattern(path), operations: routes.map { ($0.method, $0.operation) },
                allow: Method.allCases.filter { method in routes.contains { $0.method == method } }
                    .map(\.rawValue).joined(separator: ", "))
        }
    }

    /// Every method that some path has, for `OPTIONS *`.
    static let everyMethod = Method.allCases.map(\.rawValue).joined(separator: ", ")

    func route(method: String, path: [UInt8]) -> Outcome {
        for resource in resources {
            let parameter: Range<Int>
            switch resource.pattern.match(path) {
            case .no: continue
            case .exact: parameter = path.count..<path.count
            case .parameter(let range): parameter = range
            }
            guard let found = resource.operations.first(where: { $0.method.rawValue == method }) else {
                return .unknownMethod(allow: resource.allow)
            }
            return .found(found.operation, found.method, parameter: parameter, allow: resource.allow)
        }
        return .unknownPath
    }
}
