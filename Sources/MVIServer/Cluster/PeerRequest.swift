/// A request to another node.
public struct PeerRequest: Sendable {
    /// Such as `POST`.
    public var method: String
    /// Path and query, percent-encoded, sent byte for byte.
    public var target: String
    /// The fields, in order; `Host` among them where the client's is to be passed on. Those that say how the message is
    /// framed are the transport's.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]
    /// From the call to the answer's last byte.
    public var timeout: Duration
    /// The maximum number of bytes of the answer's body.
    public var longestAnswer: Int

    public init(
        method: String, target: String, fields: [(name: String, value: String)], body: [UInt8] = [],
        timeout: Duration, longestAnswer: Int
    ) {
        (self.method, self.target, self.fields, self.body) = (method, target, fields, body)
        (self.timeout, self.longestAnswer) = (timeout, longestAnswer)
    }
}
