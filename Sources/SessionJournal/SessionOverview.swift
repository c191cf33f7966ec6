import MVI

/// A session in a list.
public struct SessionOverview: Sendable, Hashable {
    /// Its number: what a list goes on after.
    public let key: SessionKey
    /// Its public id.
    public let id: String
    /// Time since 1970.
    public let created: Duration
    /// When it was last used, as far as that was noted: time since 1970.
    public let lastSeen: Duration
    public let stores: Int
    /// How many bytes the stores' states and view states have.
    public let bytes: Int
    /// Who has signed in to it; nil as long as it is anonymous.
    public let subject: Subject?
    /// Whether it is the one session that all devices of its subject share.
    public let isShared: Bool

    public init(
        key: SessionKey, id: String, created: Duration, lastSeen: Duration, stores: Int, bytes: Int,
        subject: Subject? = nil, isShared: Bool = false
    ) {
        (self.key, self.id, self.created, self.lastSeen) = (key, id, created, lastSeen)
        (self.stores, self.bytes, self.subject, self.isShared) = (stores, bytes, subject, isShared)
    }
}
