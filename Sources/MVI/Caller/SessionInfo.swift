import Locking

/// The session of a store, as its feature sees it.
public struct SessionInfo: Sendable {
    private struct Content {
        let id: String
        let created: Timestamp
        var subject: Subject?
    }

    // One reference, since each store of a session has a copy.
    private let content: Lock<Content>

    /// Creates a session.
    public init(id: String, created: Timestamp = Timestamp(sinceEpoch: .zero), subject: Subject? = nil) {
        content = Lock(Content(id: id, created: created, subject: subject))
    }

    /// The session's id as clients see it; empty for a store outside a server.
    public var id: String { content.withLock { $0.id } }
    /// The creation time of the session.
    public var created: Timestamp { content.withLock { $0.created } }
    /// The subject that the session belongs to; nil while it is anonymous.
    public var subject: Subject? { content.withLock { $0.subject } }

    /// Sets the subject after a sign-in.
    package func belongs(to subject: Subject) { content.withLock { $0.subject = subject } }

    /// The session of a store outside a server.
    public static let none = SessionInfo(id: "")
}

/// The values, besides the key, that the maker of a keyed feature receives.
public struct InstanceContext: Sendable {
    /// The session that requests the key.
    public let session: SessionInfo
    /// The first caller that uses the key; nil for an anonymous caller and for a store restored from the journal.
    public let principal: Principal?

    /// Creates a context.
    @inlinable
    public init(session: SessionInfo, principal: Principal?) {
        (self.session, self.principal) = (session, principal)
    }
}

/// A kind of use of a store that access rules are evaluated for.
public enum Access: String, Sendable, Hashable, CaseIterable {
    /// Reading the state, waiting for it, streams, and reads by turns of other stores.
    case read
    /// Sending an intent, including sends by turns of other stores and by steps of launched work.
    case send
    /// Disposing of the store.
    case dispose
}
