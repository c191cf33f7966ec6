import Locking

/// The session that a store belongs to, as its feature may know it.
public struct SessionInfo: Sendable {
    private final class Content: Sendable {
        let id: String
        let created: Timestamp
        let subject: Lock<Subject?>

        init(_ id: String, _ created: Timestamp, _ subject: Subject?) {
            (self.id, self.created, self.subject) = (id, created, Lock(subject))
        }
    }

    // One reference: every store of a session has it.
    private let content: Content

    /// A session of its parts.
    public init(id: String, created: Timestamp = Timestamp(sinceEpoch: .zero), subject: Subject? = nil) {
        content = Content(id, created, subject)
    }

    /// The id that clients see; empty for a store outside a server.
    public var id: String { content.id }
    /// The time at which the session was created.
    public var created: Timestamp { content.created }
    /// The current owner; nil for an anonymous session.
    public var subject: Subject? { content.subject.withLock { $0 } }

    /// Somebody signed in.
    package func belongs(to subject: Subject) { content.subject.withLock { $0 = subject } }

    /// That of a store outside a server.
    public static let none = SessionInfo(id: "")
}

/// The context in which a keyed feature is made.
public struct InstanceContext: Sendable {
    /// The session that names the key.
    public let session: SessionInfo
    /// The caller who first names the key; nil if anonymous, and for a restored store.
    public let principal: Principal?

    /// A context of its parts.
    @inlinable
    public init(session: SessionInfo, principal: Principal?) {
        (self.session, self.principal) = (session, principal)
    }
}

/// A kind of use of a feature's store that an access rule is asked about.
public enum Access: String, Sendable, Hashable, CaseIterable {
    /// Reading the state, waiting for it, a stream, and a read by another store's turn.
    case read
    /// Sending an intent, also by another store's turn or by a step of launched work.
    case send
    /// Disposing of the store.
    case dispose
}
