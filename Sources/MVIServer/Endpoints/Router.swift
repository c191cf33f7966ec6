/// Finds a request's endpoint by the path's raw bytes: decoding cannot create separators.
struct Router: Sendable {
    private struct Resource: Sendable {
        let pattern: PathPattern
        let endpoints: [(method: String, endpoint: Route, number: UInt8)]
        let allow: String
    }

    enum Outcome {
        /// The endpoint. `parameter` is the range of the parameter in the path, empty without one; `number` is the
        /// route's number.
        case found(Route, parameter: Range<Int>, number: UInt8)
        /// `OPTIONS` of a known path: one of its endpoints, and the value of `Allow`.
        case options(Route, parameter: Range<Int>, allow: String)
        /// A method that the path does not have.
        case unknownMethod(allow: String)
        case unknownPath

        /// True if the outcome accepts any `Host`.
        var takesAnyHost: Bool {
            if case .found(let endpoint, _, _) = self { endpoint.takesAnyHost } else { false }
        }
    }

    /// The resources, the most frequent first.
    private let resources: [Resource]

    /// All routes, numbered from 1. Routes above 254 share a number.
    let routes: [Route]

    init(_ endpoints: [Route]) {
        routes = endpoints
        var paths: [String] = []
        for endpoint in endpoints where !paths.contains(endpoint.path) { paths.append(endpoint.path) }
        resources = paths.map { path in
            var found: [(method: String, endpoint: Route, number: UInt8)] = []
            for (index, endpoint) in endpoints.enumerated() where endpoint.path == path {
                let number = UInt8(clamping: index + 1)
                found.append((endpoint.method.rawValue, endpoint, number))
                if endpoint.method == .get { found.append((Route.Method.head.rawValue, endpoint, number)) }
            }
            let allowed = Route.Method.allCases.map(\.rawValue).filter { method in
                method == Route.Method.options.rawValue || found.contains { $0.method == method }
            }
            return Resource(
                pattern: PathPattern(path), endpoints: found, allow: allowed.joined(separator: ", "))
        }
    }

    /// All endpoints. One with two methods is listed twice.
    var endpoints: [Route] { resources.flatMap { $0.endpoints.map(\.endpoint) } }

    /// All methods of all paths, for `OPTIONS *`.
    static let everyMethod = Route.Method.allCases.map(\.rawValue).joined(separator: ", ")

    func route(method: String, path: [UInt8]) -> Outcome {
        for resource in resources {
            let parameter: Range<Int>
            switch resource.pattern.match(path) {
            case .no: continue
            case .exact: parameter = path.count..<path.count
            case .parameter(let range): parameter = range
            }
            for (name, endpoint, number) in resource.endpoints where name == method {
                return .found(endpoint, parameter: parameter, number: number)
            }
            return method == Route.Method.options.rawValue
                ? .options(resource.endpoints[0].endpoint, parameter: parameter, allow: resource.allow)
                : .unknownMethod(allow: resource.allow)
        }
        return .unknownPath
    }
}

/// A parsed path of a route, for comparison with a request's bytes.
package struct PathPattern: Sendable {
    /// The text before the parameter with its slashes, or the whole path without a parameter.
    private let head: [UInt8]
    /// The text between two parameters; nil with fewer.
    private let middle: [UInt8]?
    /// The text after the last parameter; nil without one.
    private let tail: [UInt8]?

    /// - Parameter template: a path with at most two parameters.
    package init(_ template: String) {
        let bytes = Array(template.utf8)
        guard
            let open = bytes.firstIndex(of: UInt8(ascii: "{")), let close = bytes.firstIndex(of: UInt8(ascii: "}")),
            let lastOpen = bytes.lastIndex(of: UInt8(ascii: "{")), let end = bytes.lastIndex(of: UInt8(ascii: "}"))
        else {
            (head, middle, tail) = (bytes, nil, nil)
            return
        }
        head = Array(bytes[..<open])
        middle = lastOpen > close ? Array(bytes[(close + 1)..<lastOpen]) : nil
        tail = Array(bytes[(end + 1)...])
    }

    package enum Match: Equatable {
        case no
        case exact
        /// The range of the parameter in the path, still percent-encoded. With two parameters: from the start of the
        /// first to the end of the second.
        case parameter(Range<Int>)
    }

    /// Compares bytes: encoded letters differ from letters, `%2F` does not separate, and a trailing slash matters.
    package func match(_ path: [UInt8]) -> Match {
        guard let tail else { return path == head ? .exact : .no }
        guard path.count > head.count + tail.count else { return .no }
        let parameter = head.count..<(path.count - tail.count)
        // The end first, in which most routes differ.
        for index in tail.indices where path[parameter.upperBound + index] != tail[index] { return .no }
        for index in head.indices where path[index] != head[index] { return .no }
        var first = parameter
        if let middle {
            // The first parameter has no slash, and the middle begins with one.
            guard let slash = path[parameter].firstIndex(of: UInt8(ascii: "/")), slash > parameter.lowerBound,
                path[slash..<parameter.upperBound].starts(with: middle), slash + middle.count < parameter.upperBound
            else { return .no }
            first = (slash + middle.count)..<parameter.upperBound
        }
        for index in first where path[index] == UInt8(ascii: "/") { return .no }
        return .parameter(parameter)
    }
}
