import Networks

/// A request's line and fields.
///
/// A class, since it is passed often and a struct would retain each of its parts.
package final class RequestHead: Sendable {
    /// The case-sensitive method as sent (RFC 9110 section 9.1).
    package let method: String

    /// The percent-encoded path as sent, without the query. Starts with `/`, or is `*`.
    package let path: [UInt8]

    /// The query after the first `?`, as sent; nil if there is none.
    package let query: [UInt8]?

    /// True for HTTP/1.0, whose clients do not support chunks.
    package let isHTTP10: Bool

    /// The fields.
    package let fields: HeaderFields

    /// The address of the peer.
    package let peer: PeerAddress

    /// The server's own address of the connection; unknown unless `Host` is an IP address.
    package let local: PeerAddress

    /// The connection of the request; nil for a request without a socket.
    package let connection: (any RequestConnection)?

    /// The peer's address as text without a port, as in a proxy's allow-list. Created at each call.
    package var remoteAddress: String { peer.description }

    /// A head from its parts.
    package init(
        method: String, path: [UInt8], query: [UInt8]? = nil, isHTTP10: Bool = false,
        fields: HeaderFields = HeaderFields([]), peer: PeerAddress = .unknown, local: PeerAddress = .unknown,
        connection: (any RequestConnection)? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.isHTTP10 = isHTTP10
        self.fields = fields
        self.peer = peer
        self.local = local
        self.connection = connection
    }
}

/// The connection of a request.
package protocol RequestConnection: AnyObject, Sendable {
    /// An object that a request leaves for the connection's next ones.
    var keepsake: (any AnyObject & Sendable)? { get set }

    /// Calls an action once, on any thread, as soon as the client closes its side before the response is sent; at once if it
    /// has. A later action of the same request replaces it.
    func onLeave(_ action: @escaping @Sendable () -> Void)
}
