import MVI
import SessionJournal

/// The subject of a request. Requests that share a key are done in the order of their arrival.
enum ChainKey: Hashable, Sendable {
    case session(SessionKey)
    case token(TokenHash)
    /// A session's public id.
    case id(String)
    /// The shared session of a subject.
    case shared(SubjectBytes)
    /// A node's record.
    case node(NodeID)
    /// The number of open streams of a session.
    case streams(SessionKey)
    case alarms
}
