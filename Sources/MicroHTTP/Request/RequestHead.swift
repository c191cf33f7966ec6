import Networks

/// A request's line and fields.
///
/// A class, since it goes through many hands, and a structure would have each of its parts counted at each.
package final class RequestHead: Sendable {
    /// The method as sent; its case matters (RFC 9110 section 9.1).
    package let method: String

    /// The path as sent, percent-encoding kept, without the query. Starts with `/`, or is `*`.
    package let path: [UInt8]

    /// What follows the first `?`, as sent; nil if there is none.
    package let query: [UInt8]?

    /// Whether the request is HTTP/1.0, whose client understands no chunks.
    package let isHTTP10: Bool

    /// The fields.
    package let fields: HeaderFields

    /// Where the request came from.
    package let peer: PeerAddress

    /// The server's own address at which the request came; unknown unless its `Host` is an IP address.
    package let local: PeerAddress

    /// The peer's address as text, without port, as a proxy's allow-list would write it. Made anew at each call.
    package var remoteAddress: String { peer.description }

    /// A head from its parts.
    package init(
        method: String, path: [UInt8], query: [UInt8]? = nil, isHTTP10: Bool = false,
        fields: HeaderFields = HeaderFields([]), peer: PeerAddress = .unknown, local: PeerAddress = .unknown
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.isHTTP10 = isHTTP10
        self.fields = fields
        self.peer = peer
        self.local = local
    }
}
