/// Finds the endpoint of a request on the path's raw bytes, so that no decoding can make a separator.
struct Router: Sendable {
    private struct Resource: Sendable {
        let pattern: PathPattern
        let endpoints: [(method: String, endpoint: Endpoint)]
        let allow: String
    }

    enum Outcome {
        /// `parameter` is where in the path the parameter is, empty without one.
        case found(Endpoint, parameter: Range<Int>)
        /// `OPTIONS` of a path that there is, or a method that it does not have; `allow` is what `Allow` says.
        case options(allow: String)
        case unknownMethod(allow: String)
        case unknownPath
    }

    /// The paths asked for most come first.
    private let resources: [Resource]

    init(_ endpoints: [Endpoint]) {
        var paths: [String] = []
        for endpoint in endpoints where !paths.contains(endpoint.path) { paths.append(endpoint.path) }
        resources = paths.map { path in
            var found: [(method: String, endpoint: Endpoint)] = []
            for endpoint in endpoints where endpoint.path == path {
                found.append((endpoint.method.rawValue, endpoint))
                if endpoint.method == .get { found.append((Endpoint.Method.head.rawValue, endpoint)) }
            }
            let allowed = Endpoint.Method.allCases.map(\.rawValue).filter { method in
                method == Endpoint.Method.options.rawValue || found.contains { $0.method == method }
            }
            return Resource(
                pattern: PathPattern(path), endpoints: found, allow: allowed.joined(separator: ", "))
        }
    }

    /// All endpoints, those that answer two methods twice.
    var endpoints: [Endpoint] { resources.flatMap { $0.endpoints.map(\.endpoint) } }

    /// Every method that some path has, for `OPTIONS *`.
    static let everyMethod = Endpoint.Method.allCases.map(\.rawValue).joined(separator: ", ")

    func route(method: String, path: [UInt8]) -> Outcome {
        for resource in resources {
            let parameter: Range<Int>
            switch resource.pattern.match(path) {
            case .no: continue
            case .exact: parameter = path.count..<path.count
            case .parameter(let range): parameter = range
            }
            for (name, endpoint) in resource.endpoints where name == method {
                return .found(endpoint, parameter: parameter)
            }
            return method == Endpoint.Method.options.rawValue
                ? .options(allow: resource.allow) : .unknownMethod(allow: resource.allow)
        }
        return .unknownPath
    }
}
