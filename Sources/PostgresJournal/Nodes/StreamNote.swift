import SessionJournal

/// How many streams of a session a node has, and how many all nodes may have.
struct StreamNote: Sendable {
    let session: SessionKey
    let node: NodeID
    let count: Int
    /// Nil: any number.
    let limit: Int?
}
