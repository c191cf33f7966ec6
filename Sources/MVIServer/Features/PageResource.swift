/// A file that the server shows beside its features, such as a page and what it loads.
public struct PageResource: Sendable {
    /// `/` for the page itself, `/style.css` and the like for what it loads.
    public let path: String
    /// Its media type, such as `text/html; charset=utf-8`.
    public let contentType: String
    /// Its bytes, sent as they are.
    public let bytes: [UInt8]

    /// A file. A path that another route has is refused when the server starts.
    public init(path: String, contentType: String, bytes: [UInt8]) {
        self.path = path
        self.contentType = contentType
        self.bytes = bytes
    }
}

/// Why a page cannot be served.
public struct PageResourceError: Error, CustomStringConvertible, Sendable {
    /// The path that is in the way.
    public let path: String

    /// What is wrong with it.
    public var description: String {
        "the page's file '\(path)' cannot be served: its path must begin with '/' and be none of the server's own, "
            + "nor twice in the list"
    }

    /// - Parameter own: the server's own paths.
    static func check(_ page: [PageResource], _ own: Router) throws {
        var seen: Set<String> = []
        for file in page {
            guard file.path.hasPrefix("/"), seen.insert(file.path).inserted else {
                throw PageResourceError(path: file.path)
            }
            guard case .unknownPath = own.route(method: "GET", path: Array(file.path.utf8)) else {
                throw PageResourceError(path: file.path)
            }
        }
    }
}
