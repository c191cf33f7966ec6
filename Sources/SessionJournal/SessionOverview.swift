import MVI

/// A session in a list.
package struct SessionOverview: Sendable, Hashable {
    /// The session's number, with which the next page is requested.
    package let key: SessionKey
    /// The public id.
    package let id: String
    /// The creation time, since 1970.
    package let created: Duration
    /// The last noted use, as time since 1970.
    package let lastSeen: Duration
    package let stores: Int
    /// The size of the stores' states and view states in bytes.
    package let bytes: Int
    /// The signed-in subject, or nil for an anonymous session.
    package let subject: Subject?
    /// True if all devices of its subject share this session.
    package let isShared: Bool
    /// The name of a space.
    package let space: SpaceName?

    package init(
        key: SessionKey, id: String, created: Duration, lastSeen: Duration, stores: Int, bytes: Int,
        subject: Subject? = nil, isShared: Bool = false, space: SpaceName? = nil
    ) {
        (self.key, self.id, self.created, self.lastSeen) = (key, id, created, lastSeen)
        (self.stores, self.bytes, self.subject, self.isShared) = (stores, bytes, subject, isShared)
        self.space = space
    }
}
