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
