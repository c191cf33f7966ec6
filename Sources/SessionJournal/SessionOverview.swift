import MVI

/// A session in a list.
package struct SessionOverview: Sendable, Hashable {
    /// Its number: what a list goes on after.
    package let key: SessionKey
    /// Its public id.
    package let id: String
    /// Time since 1970.
    package let created: Duration
    /// When it was last used, as far as that was noted: time since 1970.
    package let lastSeen: Duration
    package let stores: Int
    /// How many bytes the stores' states and view states have.
    package let bytes: Int
    /// Who has signed in to it; nil as long as it is anonymous.
    package let subject: Subject?
    /// Whether it is the one session that all devices of its subject share.
    package let isShared: Bool

    package init(
        key: SessionKey, id: String, created: Duration, lastSeen: Duration, stores: Int, bytes: Int,
        subject: Subject? = nil, isShared: Bool = false
    ) {
        (self.key, self.id, self.created, self.lastSeen) = (key, id, created, lastSeen)
        (self.stores, self.bytes, self.subject, self.isShared) = (stores, bytes, subject, isShared)
    }
}
