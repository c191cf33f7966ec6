import MVI

/// A journal that other processes append to as well: the nodes of a cluster.
///
/// A writer notices other appends by compare-and-append; a node that only shows a session receives news of them.
package protocol SharedJournal: Journal {
    /// Calls `heard` when other processes may have appended, until the journal is closed.
    ///
    /// News are hints: they may be lost, late, repeated or already known. Usually they exclude this process's own
    /// appends. `heard` is called on any thread, without a lock. A later listener replaces the previous one.
    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void)

    /// Stores a new session whose epoch derives from the journal's secret. Fails with `contended` if the secret's
    /// generation has changed because the journal lost its last commits: the epoch may have named another log.
    func create(
        _ session: SessionRecord, credential: StoredCredential?, of generation: [UInt8],
        done: @escaping Done<SessionKey>)

    /// Returns the marks of stored sessions; the others have none. Cheaper than loading them.
    func marks(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionMark]>)

    /// Returns those of the tokens that are the own token of a stored session or have ended.
    func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>)

    /// Tells the other processes that this process's appends to a session repeatedly conflict with theirs. A hint that
    /// is not stored.
    func tellContention(of session: SessionKey)

    // MARK: Nodes

    /// Registers a node before it owns sessions, and again under another id if it was removed. Reports the nodes that
    /// joined before under the same address: of two nodes exactly one finds the other.
    func join(_ node: NodeRecord, done: @escaping Done<[NodeRecord]>)

    /// Counts a node's renewal and notes if it drains. Reports all nodes, including this one, with the numbers of their
    /// renewals; nil if this node was removed.
    ///
    /// A renewal is a commit, so a response shows that the journal is writable and not only readable.
    func renew(_ node: NodeRecord, done: @escaping Done<NodeRenewal?>)

    /// Removes a node if it has this number of renewals; with nil, in any case. Reports true if the node is gone.
    /// Sessions that it owns then have no living owner.
    func forget(_ node: NodeID, renewals: UInt64?, done: @escaping Done<Bool>)

    /// Returns at most `limit` sessions whose owner is none of the nodes, in no order.
    func orphans(limit: Int, done: @escaping Done<[OrphanedSession]>)

    /// Notes the number of a session's streams that a node has open; 0 removes the note.
    ///
    /// - Parameter limit: The largest number on all nodes; nil to note it in any case.
    /// - Returns: False if the limit would be exceeded; then nothing is noted.
    func noteStreams(
        _ count: Int, of session: SessionKey, on node: NodeID, limit: Int?, done: @escaping Done<Bool>)

    /// Claims due reminders for one node: no other node receives them until the claim ends. Excludes those of sessions
    /// that another living node owns.
    ///
    /// - Parameters:
    ///   - now: Time since 1970. At most `limit` reminders with an attempt by then are returned, the earliest first.
    ///   - life: The duration of the claim by the journal's clock. Removing or setting the reminder also ends it.
    /// - Returns: Each pair of a session and a time once, and the time of the next reminder that is not yet due or that
    ///   others claimed; nil if there is none.
    func claimAlarms(
        dueAt now: Duration, by node: NodeID, for life: Duration, limit: Int,
        done: @escaping Done<(due: [Alarm], next: Duration?)>)

    /// Counts of its problems since it was opened, for a server's metrics.
    var figures: JournalFigures { get }
}

extension SharedJournal {
    package func create(
        _ session: SessionRecord, credential: StoredCredential?, of generation: [UInt8],
        done: @escaping Done<SessionKey>
    ) {
        create(session, credential: credential, done: done)
    }

    package var figures: JournalFigures { JournalFigures() }
}

extension StoreError.Code {
    /// A commit had no response, so the journal does not know yet what is stored of a session.
    package static let inDoubt = Self("inDoubt")
}

/// The result of a node's renewal.
package struct NodeRenewal: Sendable, Hashable {
    /// All nodes.
    package var nodes: [NodeRecord]
    /// The journal's clock at the renewal, as time since 1970. Nil if the journal has no clock of its own.
    package var time: Duration?

    package init(nodes: [NodeRecord], time: Duration? = nil) { (self.nodes, self.time) = (nodes, time) }
}

/// A session's position: clients see no difference between two states with the same mark.
package struct SessionMark: Sendable, Hashable {
    /// The session's own. After a restore, a key may be used again for another session.
    package var token: TokenHash
    package var head: SessionHead
    /// The number of changes of access to the session.
    package var accessChanges: UInt64
    /// The log's epoch; empty if a new one is due because the journal lost commits.
    package var epoch: String

    package init(token: TokenHash, head: SessionHead, accessChanges: UInt64, epoch: String) {
        (self.token, self.head, self.accessChanges, self.epoch) = (token, head, accessChanges, epoch)
    }
}

/// News from other processes.
package enum JournalNews: Sendable {
    /// Sessions have these heads, or had them a moment ago.
    case appended([SessionKey: SessionHead])
    /// Sessions are gone, or access to them was changed.
    case changed([SessionKey])
    /// Sessions that began with these tokens are stored now, or have ended.
    case known([TokenHash])
    /// Another process's appends to a session conflict repeatedly.
    case contended(SessionKey)
    /// A node joined, left or began to drain.
    case nodes
    /// The connection for news is new, so some may have been lost.
    case interrupted
}
