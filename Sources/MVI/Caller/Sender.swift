/// The client that sent an intent to a store that many clients share.
///
/// Each session is a sender of its own: two anonymous clients are two, and so is a user with two sessions, whose ``subject``
/// is the same.
public struct Sender: Hashable, Codable, Sendable {
    /// The client's name in this space, the same for all stores of the space. It tells nothing about the client elsewhere, so
    /// a state may have it.
    public let id: String
    /// The id of the client's session: an address for code on the server, not for views.
    public let session: String
    /// The signed-in user; nil for an anonymous client.
    public let subject: Subject?

    /// Creates a sender.
    public init(id: String, session: String, subject: Subject? = nil) {
        (self.id, self.session, self.subject) = (id, session, subject)
    }
}
