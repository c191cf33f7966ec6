/// Finds the endpoint of a request on the path's raw bytes, so that no decoding can make a separator.
struct Router: Sendable {
    private struct Resource: Sendable {
        let pattern: PathPattern
        let endpoints: [(method: String, endpoint: Route, number: UInt8)]
        let allow: String
    }

    enum Outcome {
        /// `parameter` is where in the path the parameter is, empty without one; `number` is that of `routes`.
        case found(Route, parameter: Range<Int>, number: UInt8)
        /// `OPTIONS` of a path that there is: one of its endpoints, and what `Allow` says.
        case options(Route, parameter: Range<Int>, allow: String)
        /// A method that the path does not have.
        case unknownMethod(allow: String)
        case unknownPath

        /// True if it is answered under any name.
        var takesAnyHost: Bool {
            if case .found(let endpoint, _, _) = self { endpoint.takesAnyHost } else { false }
        }
    }

    /// The paths asked for most come first.
    private let resources: [Resource]

    /// All routes; the first has the number 1. Those beyond 254 share a number.
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

    /// All endpoints, those that answer two methods twice.
    var endpoints: [Route] { resources.flatMap { $0.endpoints.map(\.endpoint) } }

    /// Every method that some path has, for `OPTIONS *`.
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

/// A route's path, taken apart once, to be compared with the bytes of a request's.
package struct PathPattern: Sendable {
    /// The path before the parameter, slashes included; the whole path without one.
    private let head: [UInt8]
    /// The path between two parameters; nil with fewer.
    private let middle: [UInt8]?
    /// The path behind the last parameter; nil without one.
    private let tail: [UInt8]?

    /// - Parameter template: has two parameters at most.
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
        /// The range of the parameter in the path, percent-encoded; of two from the first one's start to the second
        /// one's end.
        case parameter(Range<Int>)
    }

    /// Compares byte for byte: an encoded letter is not the letter, `%2F` never separates, a trailing slash counts.
    package func match(_ path: [UInt8]) -> Match {
        guard let tail else { return path == head ? .exact : .no }
        guard path.count > head.count + tail.count else { return .no }
        let parameter = head.count..<(path.count - tail.count)
        // The end first, by which most routes differ.
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
