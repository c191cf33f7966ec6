import SessionJournal

/// The number of a session's streams on a node, and the limit for all nodes.
struct StreamNote: Sendable {
    let session: SessionKey
    let node: NodeID
    let count: Int
    /// Nil for no limit.
    let limit: Int?
}
