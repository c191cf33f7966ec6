import MVI

/// A session's number in its journal.
package struct SessionKey: Hashable, Sendable {
    package let number: Int64

    /// A key that a journal assigned.
    package init(_ number: Int64) { self.number = number }
}

/// The end of a session's log, on which compare-and-append relies.
///
/// New with each append. The number alone is not enough: after a failover two branches of a log can have the same one.
package struct SessionHead: Hashable, Sendable {
    /// The number of the log's last turn; 0 if there was none.
    package var number: UInt64
    /// 64 random bits.
    package var nonce: UInt64

    package init(number: UInt64, nonce: UInt64) {
        self.number = number
        self.nonce = nonce
    }

    /// The head of a session without turns.
    package static let empty = SessionHead(number: 0, nonce: 0)

    /// The number of heads that a journal remembers of a session, including the newest.
    package static let remembered = 16
}

/// The kind of a client's credential: a token that the client sends itself, or a cookie that the browser sends.
package enum SessionCredential: String, Sendable {
    case bearer, cookie
}

/// A session apart from its stores.
package struct SessionRecord: Sendable, Hashable {
    /// The public id.
    package var id: String
    package var tokenHash: TokenHash
    /// The epoch of its log.
    package var epoch: String
    package var credential: SessionCredential
    /// True if all devices of its subject share this session.
    package var isShared: Bool
    /// The creation time, since 1970.
    package var created: Duration
    /// The last noted use, as time since 1970.
    package var lastSeen: Duration
    /// The values that the client with the session's own token has set. `Journal.find` may leave them out.
    package var settings: ClientSettings?
    private var owner: Owner?

    /// The signed-in subject, or nil for an anonymous session and for a space.
    package var subject: Subject? {
        get { if case .subject(let subject)? = owner { subject } else { nil } }
        set { if newValue != nil || space == nil { owner = newValue.map { .subject($0) } } }
    }

    /// The name of a space, or nil for a session of clients.
    package var space: SpaceName? {
        get { if case .space(let space)? = owner { space } else { nil } }
        set { if newValue != nil || subject == nil { owner = newValue.map { .space($0) } } }
    }

    /// The number of existing sessions, without spaces, up to which this one can be stored, of `limit` in all. A
    /// sixteenth is reserved for sessions with a subject.
    package func limit(ofAll limit: Int) -> Int { subject == nil ? limit - limit / 16 : limit }

    /// Stores a subject or a name outside the record: most sessions have none, and a journal in memory has a record for
    /// each.
    private indirect enum Owner: Sendable, Hashable {
        case subject(Subject)
        case space(SpaceName)
    }

    package init(
        id: String, tokenHash: TokenHash, epoch: String, credential: SessionCredential, created: Duration,
        lastSeen: Duration, subject: Subject? = nil, isShared: Bool = false, space: SpaceName? = nil,
        settings: ClientSettings? = nil
    ) {
        self.settings = settings
        precondition(subject == nil || space == nil, "a space has no subject")
        (self.id, self.tokenHash, self.epoch, self.credential) = (id, tokenHash, epoch, credential)
        (self.isShared, self.created, self.lastSeen) = (isShared, created, lastSeen)
        owner = subject.map { .subject($0) } ?? space.map { .space($0) }
    }

    /// A new space. Its credential is of no meaning.
    package init(space: SpaceName, id: String, epoch: String, created: Duration) {
        self.init(
            id: id, tokenHash: TokenHash(space: space), epoch: epoch, credential: .bearer, created: created,
            lastSeen: created, space: space)
    }
}

/// Values of a session that are noted from time to time.
package struct SessionTouch: Sendable {
    package var session: SessionKey
    /// The last use, as time since 1970.
    package var lastSeen: Duration
    /// Labels that were written to a stream's socket meanwhile.
    package var written: [LabelID]
    /// The tokens of used credentials, with the time of their last use.
    package var credentials: [(token: TokenHash, lastSeen: Duration)]
    /// Used stores, with the time of their last use.
    package var stores: [(feature: FeatureID, lastSeen: Duration)]
    /// Reminders that could not fire, with a new `notBefore`. Those that were set anew meanwhile are skipped.
    package var reminders: [StoredReminder]

    package init(
        session: SessionKey, lastSeen: Duration, written: [LabelID],
        credentials: [(token: TokenHash, lastSeen: Duration)] = [],
        stores: [(feature: FeatureID, lastSeen: Duration)] = [], reminders: [StoredReminder] = []
    ) {
        (self.session, self.lastSeen, self.written) = (session, lastSeen, written)
        (self.credentials, self.stores, self.reminders) = (credentials, stores, reminders)
    }
}

/// The result of looking up a token.
package enum SessionLoad: Sendable {
    case found(StoredSession)
    /// A session with unreadable rows, and the reason. It can be removed.
    case damaged(SessionKey, String)
    /// A session that was deleted or expired not long ago.
    case ended
    case unknown
}

/// A stored session, or its parts that are newer than a head: see `Journal.load(_:since:)`.
package struct StoredSession: Sendable {
    package var key: SessionKey
    /// `lastSeen` is the newest time of its touches and appends.
    package var record: SessionRecord
    /// The log's newest heads, at most `SessionHead.remembered`, newest last; `empty` for a log without turns. Only the
    /// newest if older ones were not requested.
    package var recentHeads: [SessionHead]
    /// All stores, in no order.
    package var stores: [StoreSummary]
    /// The stores with newer numbers, with their states; empty unless loaded since a head.
    package var changed: [StoredStore]
    /// In the order of publication, including expired ones.
    package var labels: [StoredLabel]
    /// The record of labels that are no longer stored.
    package var lostLabels: LostLabels
    /// In the order of their turns.
    package var receipts: [StoredReceipt]
    /// All credentials, including revoked ones, ordered by number. They do not depend on a head.
    package var credentials: [StoredCredential]
    /// All reminders, ordered by due time. They do not depend on a head.
    package var reminders: [StoredReminder]
    /// The owner, or nil if any node may run the session's turns.
    package var owner: SessionOwner?
    /// See `SessionMark`.
    package var accessChanges: UInt64 = 0

    package init(
        key: SessionKey, record: SessionRecord, recentHeads: [SessionHead], stores: [StoreSummary],
        changed: [StoredStore] = [], labels: [StoredLabel], lostLabels: LostLabels, receipts: [StoredReceipt],
        credentials: [StoredCredential] = [], reminders: [StoredReminder] = [], owner: SessionOwner? = nil,
        accessChanges: UInt64 = 0
    ) {
        (self.owner, self.accessChanges) = (owner, accessChanges)
        (self.key, self.record, self.recentHeads) = (key, record, recentHeads)
        (self.stores, self.changed) = (stores, changed)
        (self.labels, self.lostLabels, self.receipts) = (labels, lostLabels, receipts)
        (self.credentials, self.reminders) = (credentials, reminders)
    }

    /// The log's head.
    package var head: SessionHead { recentHeads.last ?? .empty }

    package var mark: SessionMark {
        SessionMark(token: record.tokenHash, head: head, accessChanges: accessChanges, epoch: record.epoch)
    }
}

/// Everything stored about a session, for people and tests.
package struct SessionExport: Sendable {
    package var session: StoredSession
    package var stores: [StoredStore]
    /// The recorded turns, oldest first.
    package var turns: [RecordedTurn]
    package var setAside: [SetAsideState]
    /// The visits of a space, for another journal; empty in the answer of `Journal.export`.
    package var visits: [Visit]
    /// The senders of received messages, likewise.
    package var senders: [StoredSender]

    package init(
        session: StoredSession, stores: [StoredStore], turns: [RecordedTurn], setAside: [SetAsideState],
        visits: [Visit] = [], senders: [StoredSender] = []
    ) {
        (self.session, self.stores, self.turns, self.setAside) = (session, stores, turns, setAside)
        (self.visits, self.senders) = (visits, senders)
    }
}
