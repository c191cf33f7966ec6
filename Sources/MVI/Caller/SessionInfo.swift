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
    /// When the session was made.
    public var created: Timestamp { content.created }
    /// Whose it is now; nil as long as nobody has signed in.
    public var subject: Subject? { content.subject.withLock { $0 } }

    /// Somebody signed in.
    package func belongs(to subject: Subject) { content.subject.withLock { $0 = subject } }

    /// That of a store outside a server.
    public static let none = SessionInfo(id: "")
}
