import MVI
import SessionJournal

/// What a request is about: requests with a key in common are done in the order in which they came.
enum ChainKey: Hashable, Sendable {
    case session(SessionKey)
    case token(TokenHash)
    /// A session's public id.
    case id(String)
    /// The shared session of a subject.
    case shared(SubjectBytes)
    /// What a node says of itself, or is said of it.
    case node(NodeID)
    /// How many streams of a session are open.
    case streams(SessionKey)
    case alarms
}
