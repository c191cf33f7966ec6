import MVI

/// A session's number in its journal.
package struct SessionKey: Hashable, Sendable {
    package let number: Int64

    /// A key that a journal gave.
    package init(_ number: Int64) { self.number = number }
}

/// The end of a session's log: what compare-and-append compares.
///
/// New with each append. The number alone would not do: after a failover two branches of a log can reach the same one.
package struct SessionHead: Hashable, Sendable {
    /// Of the log's last turn; 0 if there was none.
    package var number: UInt64
    /// 64 random bits.
    package var nonce: UInt64

    package init(number: UInt64, nonce: UInt64) {
        self.number = number
        self.nonce = nonce
    }

    /// That of a session without any turn.
    package static let empty = SessionHead(number: 0, nonce: 0)

    /// How many of a session's last heads a journal remembers, the newest included.
    package static let remembered = 16
}

/// How a session's client proves whose it is: with a token that it sends itself, or a cookie that its browser sends.
package enum SessionCredential: String, Sendable {
    case bearer, cookie
}

/// What a session is, apart from its stores.
package struct SessionRecord: Sendable, Hashable {
    /// The public id.
    package var id: String
    package var tokenHash: TokenHash
    /// Names its log.
    package var epoch: String
    package var credential: SessionCredential
    /// Whether it is the one session that all devices of its subject share.
    package var isShared: Bool
    /// Time since 1970.
    package var created: Duration
    /// When it was last used, as far as that was noted: time since 1970.
    package var lastSeen: Duration
    private var owner: Owner?

    /// Who has signed in to it; nil as long as it is anonymous.
    package var subject: Subject? {
        get { if case .subject(let subject)? = owner { subject } else { nil } }
        set { owner = newValue.map { .subject($0) } }
    }

    /// How many sessions may be there already for this one to be kept, where so many may be in all: a sixteenth is for those
    /// with a subject.
    package func limit(ofAll limit: Int) -> Int { subject == nil ? limit - limit / 16 : limit }

    /// Keeps a subject outside the record: most sessions have none, and a journal in memory has a record for each.
    private indirect enum Owner: Sendable, Hashable { case subject(Subject) }

    package init(
        id: String, tokenHash: TokenHash, epoch: String, credential: SessionCredential, created: Duration,
        lastSeen: Duration, subject: Subject? = nil, isShared: Bool = false
    ) {
        (self.id, self.tokenHash, self.epoch, self.credential) = (id, tokenHash, epoch, credential)
        (self.isShared, self.created, self.lastSeen) = (isShared, created, lastSeen)
        self.subject = subject
    }
}

/// What is noted of a session from time to time.
package struct SessionTouch: Sendable {
    package var session: SessionKey
    /// When it was last used: time since 1970.
    package var lastSeen: Duration
    /// Labels that some stream's socket took meanwhile.
    package var written: [LabelID]

    package init(session: SessionKey, lastSeen: Duration, written: [LabelID]) {
        (self.session, self.lastSeen, self.written) = (session, lastSeen, written)
    }
}

/// What a token names.
package enum SessionLoad: Sendable {
    case found(StoredSession)
    /// A session of which rows cannot be read as what they must be, and why: it can be removed.
    case damaged(SessionKey, String)
    /// A session that was deleted or has expired not long ago.
    case ended
    case unknown
}

/// A session as it is kept, or what of it is newer than some head: see `Journal.load(_:since:)`.
package struct StoredSession: Sendable {
    package var key: SessionKey
    /// `lastSeen` is the newest of what was noted and of its appends.
    package var record: SessionRecord
    /// The log's newest heads, at most `SessionHead.remembered`, the newest last; `empty` for a log without turns. Where
    /// nothing is asked of older ones, only the newest.
    package var recentHeads: [SessionHead]
    /// All stores, in no order.
    package var stores: [StoreSummary]
    /// Those of them with a newer number, with their states; none where the session was not loaded since a head.
    package var changed: [StoredStore]
    /// In the order in which they were published, also those whose time is over.
    package var labels: [StoredLabel]
    /// What the session remembers of labels that are not kept any more.
    package var lostLabels: LostLabels
    /// In the order of their turns.
    package var receipts: [StoredReceipt]
    /// All that the session has, also the revoked ones, in the order of their numbers. They do not depend on a head.
    package var credentials: [StoredCredential]
    /// All that the session has, in the order of their due times. They do not depend on a head.
    package var reminders: [StoredReminder]
    /// Who runs its turns; nil if any node may.
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

/// Everything that is kept of a session, for people and tests to look at.
package struct SessionExport: Sendable {
    package var session: StoredSession
    package var stores: [StoredStore]
    /// The turns that were recorded, oldest first.
    package var turns: [RecordedTurn]
    package var setAside: [SetAsideState]

    package init(session: StoredSession, stores: [StoredStore], turns: [RecordedTurn], setAside: [SetAsideState]) {
        (self.session, self.stores, self.turns, self.setAside) = (session, stores, turns, setAside)
    }
}
