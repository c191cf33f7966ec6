/// A request whose body has arrived whole.
public struct Request: Sendable {
    /// Its head.
    public var head: RequestHead

    /// Its body, without any transfer coding; empty if it has none.
    public var body: [UInt8]

    /// What `HeadVerdict.accept` carried.
    public var context: (any Sendable)?

    /// A request from its parts.
    public init(head: RequestHead, body: [UInt8] = [], context: (any Sendable)? = nil) {
        self.head = head
        self.body = body
        self.context = context
    }
}
