import MVI

/// A journal to which other processes append as well: the nodes of one cluster.
///
/// Who appends finds what others appended by compare-and-append; who only shows a session is told here.
package protocol SharedJournal: Journal {
    /// Has `heard` called when others may have appended, until the journal is closed.
    ///
    /// News are hints: they may be lost, late and doubled, and may be of what this process knows already. Mostly they are
    /// not of what this process appended itself. Called on any thread, under no lock. A later listener takes the place of
    /// the one before.
    func listen(_ heard: @escaping @Sendable (JournalNews) -> Void)

    /// Keeps a new session whose epoch follows from the journal's secret: `contended` if the secret has another generation by
    /// now, since the journal lost what was committed last. The epoch may have been another log's then.
    func create(
        _ session: SessionRecord, credential: StoredCredential?, of generation: [UInt8],
        done: @escaping Done<SessionKey>)

    /// Where sessions are; one that is not kept any more has no mark. Cheaper than loading them.
    func marks(of sessions: [SessionKey], done: @escaping Done<[SessionKey: SessionMark]>)

    /// Which of the sessions are kept that began with these tokens, or were ended.
    func areKnown(_ tokens: [TokenHash], done: @escaping Done<Set<TokenHash>>)

    /// Tells the other processes that appends of this one to a session conflict with theirs again and again. A hint: nothing
    /// is kept.
    func tellContention(of session: SessionKey)

    // MARK: Nodes

    /// Enters a node among the others: before it owns sessions, and again when it was forgotten, under another id.
    func join(_ node: NodeRecord, done: @escaping Done<Void>)

    /// Counts a renewal of a node, and notes whether it drains. Hands over all nodes, this one among them, with the numbers
    /// of their renewals; nil if this one was forgotten.
    ///
    /// A renewal is a commit: an answer shows that the journal can be written, and not only read.
    func renew(_ node: NodeRecord, done: @escaping Done<NodeRenewal?>)

    /// Forgets a node if it has as many renewals as `node` says; with nil, however many it has. Says whether it is gone.
    /// Sessions that it owns have no living owner from now on.
    func forget(_ node: NodeID, renewals: UInt64?, done: @escaping Done<Bool>)

    /// Sessions whose owner is none of the nodes: at most `limit`, in no order.
    func orphans(limit: Int, done: @escaping Done<[OrphanedSession]>)

    /// Notes how many streams of a session a node has open; 0 forgets them.
    ///
    /// - Parameter limit: how many all nodes may have; nil to note it in any case.
    /// - Returns: false, and nothing is noted, if they would be more.
    func noteStreams(
        _ count: Int, of session: SessionKey, on node: NodeID, limit: Int?, done: @escaping Done<Bool>)

    /// Reminders that are due, for one node alone: no node gets the same ones again until a time has passed. Those of
    /// sessions that another living node owns are left to that one.
    ///
    /// - Parameters:
    ///   - now: time since 1970; what is due then or before is handed over, the first at most `limit`.
    ///   - life: how long the claim lasts by the journal's own clock. It also ends when the reminder is forgotten or set.
    /// - Returns: each pair of a session and a due time once, and when the next reminder is due that is not yet, or that
    ///   others have: nil if there is none.
    func claimAlarms(
        dueAt now: Duration, by node: NodeID, for life: Duration, limit: Int,
        done: @escaping Done<(due: [Alarm], next: Duration?)>)

    /// The trouble that it has met since it was opened, for a server's metrics.
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
    /// The journal answers, and does not know yet what is kept of a session: a commit had no answer.
    package static let inDoubt = Self("inDoubt")
}

/// The answer to a node's renewal.
package struct NodeRenewal: Sendable, Hashable {
    /// All nodes.
    package var nodes: [NodeRecord]
    /// The journal's clock while the renewal was made: time since 1970. Nil where the journal has no clock of its own.
    package var time: Duration?

    package init(nodes: [NodeRecord], time: Duration? = nil) { (self.nodes, self.time) = (nodes, time) }
}

/// Where a session is: a session with the same mark is the same to its clients.
package struct SessionMark: Sendable, Hashable {
    /// The session's own: a key may come back after a restore, and name another session.
    package var token: TokenHash
    package var head: SessionHead
    /// How often it was changed who may use it.
    package var accessChanges: UInt64
    /// The log's name; empty where a new one is due, since the journal lost what was committed.
    package var epoch: String

    package init(token: TokenHash, head: SessionHead, accessChanges: UInt64, epoch: String) {
        (self.token, self.head, self.accessChanges, self.epoch) = (token, head, accessChanges, epoch)
    }
}

/// What a journal heard of others.
package enum JournalNews: Sendable {
    /// Sessions have these heads now, or had a moment ago.
    case appended([SessionKey: SessionHead])
    /// Sessions are gone, or others may use them than before.
    case changed([SessionKey])
    /// Sessions that were not kept are now, or were ended: those that began with these tokens.
    case known([TokenHash])
    /// Appends of another process to a session conflict again and again.
    case contended(SessionKey)
    /// A node came, went or began to drain.
    case nodes
    /// News may have been lost: the connection to where they come from is new.
    case interrupted
}
