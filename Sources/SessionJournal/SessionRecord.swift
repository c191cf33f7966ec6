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

/// What a session remembers of stores that are gone.
public struct SessionMarks: Sendable, Hashable {
    /// The highest version that one of them had: a new one goes on above it.
    public var versionFloor: UInt64 = 0
    /// The sequence number of the last of their labels that was dropped while somebody could be owed it.
    public var droppedSequence: UInt64 = 0
    /// Whether one of them published labels.
    public var hasLabels = false
    /// Whether one of their labels was dropped that no stream ever got.
    public var hasUnheard = false

    public init() {}
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
    /// Of its last turn; 0 if there was none.
    public var sequence: UInt64
    /// What it remembers of stores that are gone.
    public var marks: SessionMarks
    /// Its stores, in no order.
    public var stores: [StoreSummary]
    /// Its labels, in the order in which they were published, also those whose time is over.
    public var labels: [StoredLabel]
    /// Its receipts, in the order in which they were made.
    public var receipts: [StoredReceipt]
    /// The last number that was used of each client's own epoch (`Intent-Epoch`), also where its receipt is gone.
    public var lastNumbers: [String: UInt64]

    public init(
        key: SessionKey, record: SessionRecord, sequence: UInt64, marks: SessionMarks, stores: [StoreSummary],
        labels: [StoredLabel], receipts: [StoredReceipt], lastNumbers: [String: UInt64]
    ) {
        self.key = key
        self.record = record
        self.sequence = sequence
        self.marks = marks
        self.stores = stores
        self.labels = labels
        self.receipts = receipts
        self.lastNumbers = lastNumbers
    }
}
