/// A session's number in its journal.
public struct SessionKey: Hashable, Sendable {
    /// The number.
    public let number: Int64

    /// A key that a journal gave.
    public init(_ number: Int64) { self.number = number }
}

/// How a session's client proves whose it is.
public enum SessionCredential: String, Sendable {
    /// With a token that it sends itself.
    case bearer
    /// With a cookie that its browser sends.
    case cookie
}

/// What a session is, apart from its stores.
public struct SessionRecord: Sendable, Hashable {
    /// The public id.
    public var id: String
    /// The hash of its secret.
    public var tokenHash: TokenHash
    /// Names its log.
    public var epoch: String
    /// How its client proves whose it is.
    public var credential: SessionCredential
    /// Time since 1970.
    public var created: Duration
    /// When it was last used, as far as that was noted: time since 1970.
    public var lastSeen: Duration

    public init(
        id: String, tokenHash: TokenHash, epoch: String, credential: SessionCredential, created: Duration,
        lastSeen: Duration
    ) {
        self.id = id
        self.tokenHash = tokenHash
        self.epoch = epoch
        self.credential = credential
        self.created = created
        self.lastSeen = lastSeen
    }
}

/// What is noted of a session from time to time.
public struct SessionTouch: Sendable {
    /// Whose it is.
    public var session: SessionKey
    /// When it was last used: time since 1970.
    public var lastSeen: Duration
    /// Labels that some stream's socket took meanwhile.
    public var written: [LabelID]

    public init(session: SessionKey, lastSeen: Duration, written: [LabelID]) {
        self.session = session
        self.lastSeen = lastSeen
        self.written = written
    }
}

/// What a token names.
public enum SessionLoad: Sendable {
    /// A session.
    case found(StoredSession)
    /// A session that was deleted or has expired not long ago.
    case ended
    /// Nothing.
    case unknown
}

/// A session as it is kept.
public struct StoredSession: Sendable {
    /// Its number.
    public var key: SessionKey
    /// What it is. `lastSeen` is the newest of what was noted and of its appends.
    public var record: SessionRecord
    /// The end of its log.
    public var head: SessionHead
    /// Its stores, in no order.
    public var stores: [StoreSummary]
    /// Its labels, in the order in which they were published, also those whose time is over.
    public var labels: [StoredLabel]
    /// What it remembers of labels that are not kept any more.
    public var lostLabels: LostLabels
    /// Its receipts, in the order of their turns.
    public var receipts: [StoredReceipt]

    public init(
        key: SessionKey, record: SessionRecord, head: SessionHead, stores: [StoreSummary], labels: [StoredLabel],
        lostLabels: LostLabels, receipts: [StoredReceipt]
    ) {
        self.key = key
        self.record = record
        self.head = head
        self.stores = stores
        self.labels = labels
        self.lostLabels = lostLabels
        self.receipts = receipts
    }
}

/// What was appended to a session's log after some head.
public struct SessionNews: Sendable {
    /// The newest heads, at most `SessionHead.remembered`, the newest last: the log's head. One entry, the empty head,
    /// for a log without turns.
    public var recentHeads: [SessionHead]
    /// The log's name.
    public var epoch: String
    /// All stores, in no order.
    public var stores: [StoreSummary]
    /// Those of them with a newer number, with their states.
    public var changed: [StoredStore]
    /// The labels of newer turns that are still kept, in order.
    public var labels: [StoredLabel]
    /// What the session remembers of labels that are not kept any more.
    public var lostLabels: LostLabels
    /// The receipts of newer turns that are still kept, in order.
    public var receipts: [StoredReceipt]

    public init(
        recentHeads: [SessionHead], epoch: String, stores: [StoreSummary], changed: [StoredStore],
        labels: [StoredLabel], lostLabels: LostLabels, receipts: [StoredReceipt]
    ) {
        self.recentHeads = recentHeads
        self.epoch = epoch
        self.stores = stores
        self.changed = changed
        self.labels = labels
        self.lostLabels = lostLabels
        self.receipts = receipts
    }

    /// The log's head.
    public var head: SessionHead { recentHeads.last ?? .empty }
}
