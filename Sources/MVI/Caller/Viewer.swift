/// A client that looks at a store, by a stream, a read or the answer to an intent.
public struct Viewer: Sendable {
    /// The signed-in user; nil for an anonymous client.
    public let principal: Principal?
    /// The client as turns of a shared store know it; nil in a store of the client's own session, which is the only one that
    /// sees it.
    public let sender: Sender?

    /// Creates a viewer.
    public init(principal: Principal? = nil, sender: Sender? = nil) {
        (self.principal, self.sender) = (principal, sender)
    }
}

/// The audience of a feature that shows all clients the same.
public struct Everyone: Hashable, Sendable {
    /// Creates the only value.
    @inlinable
    public init() {}
}
