/// What is to be kept of a session as one unit: turns of one store, receipts, or both.
public struct JournalAppend: Sendable {
    /// Whose it is.
    public var session: SessionKey
    /// Time since 1970. The session was seen then.
    public var time: Duration
    /// Turns of a store and the head that they lead to; nil if only receipts are to be kept.
    public var store: StoreAppend?
    /// Receipts of requests; one with a number makes that the last of its epoch. If there is one with the same key already, nothing is appended and the result is
    /// `duplicate`.
    public var receipts: [StoredReceipt]
    /// Receipts that are not kept any more.
    public var forgottenReceipts: [ReceiptKey]
    /// Clients' own epochs of which the last number is not kept any more.
    public var forgottenEpochs: [String]
    /// Labels before this one are not kept any more; nil if that has not changed.
    public var firstLabel: LabelID?
    /// What is known of stores that are gone; nil if that has not changed.
    public var marks: SessionMarks?

    public init(
        session: SessionKey, time: Duration, store: StoreAppend? = nil, receipts: [StoredReceipt] = [],
        forgottenReceipts: [ReceiptKey] = [], forgottenEpochs: [String] = [], firstLabel: LabelID? = nil,
        marks: SessionMarks? = nil
    ) {
        self.session = session
        self.time = time
        self.store = store
        self.receipts = receipts
        self.forgottenReceipts = forgottenReceipts
        self.forgottenEpochs = forgottenEpochs
        self.firstLabel = firstLabel
        self.marks = marks
    }
}

/// Turns of one store.
public struct StoreAppend: Sendable {
    /// The feature instance.
    public var feature: FeatureID
    /// What the store's token must be; nil if the store must not be there yet.
    public var expecting: StoreToken?
    /// Its token from now on.
    public var token: StoreToken
    /// The schema version of `state`.
    public var schemaVersion: Int
    /// The state after the last turn as JSON; nil if it is still what is kept.
    public var state: [UInt8]?
    /// The view state after the last turn as JSON; nil if it is still what is kept.
    public var view: [UInt8]?
    /// The intent that led to `view`, nil if none did; kept only together with `view`.
    public var viewIntent: String?
    /// What is known of its labels.
    public var marks: StoreMarks
    /// The turns in order, at least one. Each gets a sequence number, one after the other.
    public var turns: [TurnAppend]
    /// Why the state that is kept now cannot be read: it is set aside, and this store starts new in its place.
    public var setsAside: String?

    public init(
        feature: FeatureID, expecting: StoreToken?, token: StoreToken, schemaVersion: Int, state: [UInt8]?,
        view: [UInt8]?, viewIntent: String?, marks: StoreMarks, turns: [TurnAppend], setsAside: String? = nil
    ) {
        self.feature = feature
        self.expecting = expecting
        self.token = token
        self.schemaVersion = schemaVersion
        self.state = state
        self.view = view
        self.viewIntent = viewIntent
        self.marks = marks
        self.turns = turns
        self.setsAside = setsAside
    }
}

/// One turn.
public struct TurnAppend: Sendable {
    /// Its labels, in order.
    public var labels: [LabelAppend]
    /// What happened in it as a JSON object; nil if that is not recorded. At most `recordingLimit` of a session are
    /// kept, the newest.
    public var recording: [UInt8]?
    /// How many recorded turns a session keeps.
    public var recordingLimit: Int

    public init(labels: [LabelAppend], recording: [UInt8]? = nil, recordingLimit: Int = 0) {
        self.labels = labels
        self.recording = recording
        self.recordingLimit = recordingLimit
    }
}

/// A label of a turn.
public struct LabelAppend: Sendable {
    /// The store's version after the turn.
    public var version: UInt64
    /// The intent that led to it; nil if none did.
    public var intent: String?
    /// The label as JSON.
    public var json: [UInt8]
    /// When it is no longer to be delivered: time since 1970.
    public var expiry: Duration

    public init(version: UInt64, intent: String?, json: [UInt8], expiry: Duration) {
        self.version = version
        self.intent = intent
        self.json = json
        self.expiry = expiry
    }
}

/// How an append ended.
public enum AppendResult: Sendable {
    /// It is permanent. The first turn got this sequence number, the others those that follow; without turns it is the
    /// session's last.
    case committed(sequence: UInt64)
    /// Another writer was first, or the store is gone or there already; nothing is kept.
    case conflict
    /// This receipt was there already; nothing is kept.
    case duplicate(StoredReceipt)
    /// Certainly nothing is kept.
    case failed(JournalFailure)
    /// It may be kept or not: a sync failed, a connection was lost. Loading the store tells.
    case unknown(JournalFailure)
}
