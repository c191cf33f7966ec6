/// The session that a store belongs to, as its feature may know it.
public struct SessionInfo: Sendable, Hashable {
    /// The id that clients see; empty for a store outside a server.
    public let id: String
    /// When the session was made.
    public let created: Timestamp
    /// Whose it is; nil as long as nobody has signed in.
    public let subject: Subject?

    /// A session of its parts.
    public init(id: String, created: Timestamp = Timestamp(sinceEpoch: .zero), subject: Subject? = nil) {
        (self.id, self.created, self.subject) = (id, created, subject)
    }

    /// That of a store outside a server.
    public static let none = SessionInfo(id: "")
}
