/// A file for browsers, such as a page and its scripts.
///
/// SwiftPM embeds a target's files into the program with `resources: [.embedInCode("Page")]`:
///
/// ```swift
/// PageResource("/", PackageResources.index_html)
/// ```
///
/// Pages get a `Content-Security-Policy` that allows scripts and styles from their own server and blocks inline
/// scripts. That of SVG and other XML allows no scripts.
public struct PageResource: Sendable {
    /// The path: `/` for the page, `/style.css` etc. for its files.
    public let path: String
    /// The media type, such as `text/html; charset=utf-8`.
    public let contentType: String
    /// The bytes, sent unchanged.
    public let bytes: [UInt8]

    /// Creates a file whose media type follows from the extension: html (also for `/`), css, js, mjs, json, svg, png,
    /// jpg, webp, ico, woff2, txt or wasm, else `application/octet-stream`.
    public init(_ path: String, _ bytes: [UInt8]) {
        self.init(path: path, contentType: Self.contentType(of: path), bytes: bytes)
    }

    /// Creates a file. The path of another route is an error at the start.
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

/// An error about a file that cannot be served.
public struct PageResourceError: Error, CustomStringConvertible, Sendable {
    /// The conflicting path.
    public let path: String

    /// The cause.
    public var description: String {
        "the page's file '\(path)' cannot be served: its path must begin with '/', be unique, and not be one of the "
            + "server's own"
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
