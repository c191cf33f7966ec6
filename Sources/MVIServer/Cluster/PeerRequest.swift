/// A request to another node.
public struct PeerRequest: Sendable {
    /// The method, such as `POST`.
    public var method: String
    /// The path and query, percent-encoded and sent unchanged.
    public var target: String
    /// The fields, in order. They include `Host` if the client's is forwarded. The transport adds the fields for
    /// framing.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]
    /// The time from the call to the answer's last byte.
    public var timeout: Duration
    /// The maximal size of the answer's body.
    public var longestAnswer: Int

    public init(
        method: String, target: String, fields: [(name: String, value: String)], body: [UInt8] = [],
        timeout: Duration, longestAnswer: Int
    ) {
        (self.method, self.target, self.fields, self.body) = (method, target, fields, body)
        (self.timeout, self.longestAnswer) = (timeout, longestAnswer)
    }
}
