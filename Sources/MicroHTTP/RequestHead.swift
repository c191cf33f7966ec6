/// A request's line and fields.
public struct RequestHead: Sendable {
    /// The method as sent; its case matters (RFC 9110 section 9.1).
    public var method: String

    /// The path as sent, percent-encoding kept, without the query. Starts with `/`, or is `*`.
    public var path: [UInt8]

    /// What follows the first `?`, as sent; nil if there is none.
    public var query: [UInt8]?

    /// Whether the request is HTTP/1.0, whose client understands no chunks.
    public var isHTTP10: Bool

    /// The fields.
    public var fields: HeaderFields

    /// Where the request came from.
    public var peer: PeerAddress

    /// The peer's address as text, without port, as a proxy's allow-list would write it. Made anew at each call.
    public var remoteAddress: String { peer.description }

    /// A head from its parts.
    public init(
        method: String, path: [UInt8], query: [UInt8]? = nil, isHTTP10: Bool = false,
        fields: HeaderFields = HeaderFields([]), peer: PeerAddress = .unknown
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.isHTTP10 = isHTTP10
        self.fields = fields
        self.peer = peer
    }
}
