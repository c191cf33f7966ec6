/// A file that the server shows beside its features, such as a page and what it loads.
///
/// SwiftPM builds a target's files into the program with `resources: [.embedInCode("Page")]`:
///
/// ```swift
/// PageResource("/", PackageResources.index_html)
/// ```
///
/// Pages are sent with a `Content-Security-Policy` that lets them load scripts and styles of their own server only, and
/// none that stand in the page. That of SVG and other XML allows no script at all.
public struct PageResource: Sendable {
    /// `/` for the page itself, `/style.css` and the like for what it loads.
    public let path: String
    /// Its media type, such as `text/html; charset=utf-8`.
    public let contentType: String
    /// Its bytes, sent as they are.
    public let bytes: [UInt8]

    /// A file whose media type follows from the end of its path: html (also for `/`), css, js, mjs, json, svg, png, jpg,
    /// webp, ico, woff2, txt or wasm, else `application/octet-stream`.
    public init(_ path: String, _ bytes: [UInt8]) {
        self.init(path: path, contentType: Self.contentType(of: path), bytes: bytes)
    }

    /// A file. A path that another route has is refused when the server starts.
    public init(path: String, contentType: String, bytes: [UInt8]) {
        self.path = path
        self.contentType = contentType
        self.bytes = bytes
    }

    private static func contentType(of path: String) -> String {
        let name = path.split(separator: "/").last ?? "index.html"
        switch name.split(separator: ".").last?.lowercased() {
        case "html": return "text/html; charset=utf-8"
        case "css": return "text/css; charset=utf-8"
        case "js", "mjs": return "text/javascript; charset=utf-8"
        case "json": return "application/json"
        case "svg": return "image/svg+xml"
        case "png": return "image/png"
        case "jpg": return "image/jpeg"
        case "webp": return "image/webp"
        case "ico": return "image/x-icon"
        case "woff2": return "font/woff2"
        case "txt": return "text/plain; charset=utf-8"
        case "wasm": return "application/wasm"
        default: return "application/octet-stream"
        }
    }
}

/// The reason for which a page cannot be served.
public struct PageResourceError: Error, CustomStringConvertible, Sendable {
    /// The path that is in the way.
    public let path: String

    /// The fault and its remedy.
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
