import MVI

/// The next turns of a session's log, kept as one unit: all of it or nothing.
///
/// Its turns are those with the numbers from `expecting.number + 1` to `head.number`.
public struct JournalBatch: Sendable {
    /// Whose log it is.
    public var session: SessionKey
    /// What the log's head must be.
    public var expecting: SessionHead
    /// The log's head from now on.
    public var head: SessionHead
    /// Time since 1970. The session was seen then.
    public var time: Duration
    /// What the turns changed, at most one change for each store.
    public var stores: [StoreChange]
    /// The turns' labels, in order.
    public var labels: [StoredLabel]
    /// The receipts of the turns, in order. If there is one with the same key already, nothing is appended and the
    /// result is `duplicate`.
    public var receipts: [StoredReceipt]
    /// What happened in the turns, as far as that is recorded, in order.
    public var recordings: [RecordedTurn]
    /// How many recorded turns the session keeps: the newest.
    public var recordingLimit: Int
    /// Receipts that are not kept any more.
    public var forgottenReceipts: [ReceiptKey]
    /// Labels before this one are not kept any more; nil if that has not changed.
    public var firstLabel: LabelID?
    /// Which labels were lost; nil if that has not changed.
    public var lostLabels: LostLabels?
    /// The log's new name; nil to keep the old one.
    public var epoch: String?

    public init(
        session: SessionKey, expecting: SessionHead, head: SessionHead, time: Duration, stores: [StoreChange] = [],
        labels: [StoredLabel] = [], receipts: [StoredReceipt] = [], recordings: [RecordedTurn] = [],
        recordingLimit: Int = 0, forgottenReceipts: [ReceiptKey] = [], firstLabel: LabelID? = nil,
        lostLabels: LostLabels? = nil, epoch: String? = nil
    ) {
        self.session = session
        self.expecting = expecting
        self.head = head
        self.time = time
        self.stores = stores
        self.labels = labels
        self.receipts = receipts
        self.recordings = recordings
        self.recordingLimit = recordingLimit
        self.forgottenReceipts = forgottenReceipts
        self.firstLabel = firstLabel
        self.lostLabels = lostLabels
        self.epoch = epoch
    }
}

/// What a batch changes of one store.
public struct StoreChange: Sendable {
    /// What becomes of the store.
    public enum Kind: Sendable, Hashable {
        /// It starts, in the place of an earlier one of the same feature instance if there is one. It needs a state and
        /// a view state.
        case made
        /// It goes on.
        case changed
        /// It is gone. Its labels stay.
        case disposed
    }

    /// The feature instance.
    public var feature: FeatureID
    /// What becomes of it.
    public var kind: Kind
    /// The number of the batch's last turn that was about it.
    public var number: UInt64
    /// The number of the last turn that changed its view state.
    public var version: UInt64
    /// The number of the turn that made it.
    public var made: UInt64
    /// The schema version of `state`.
    public var schemaVersion: Int
    /// The state after the last turn as JSON; nil if it is still what is kept.
    public var state: [UInt8]?
    /// The view state after the last turn as JSON; nil if it is still what is kept.
    public var view: [UInt8]?
    /// The intent that led to `view`, nil if none did; kept only together with `view`.
    public var viewIntent: String?
    /// Why the state that is kept now cannot be read: it is set aside, and the store that is made takes its place.
    public var setsAside: String?

    public init(
        feature: FeatureID, kind: Kind, number: UInt64, version: UInt64, made: UInt64, schemaVersion: Int = 1,
        state: [UInt8]? = nil, view: [UInt8]? = nil, viewIntent: String? = nil, setsAside: String? = nil
    ) {
        self.feature = feature
        self.kind = kind
        self.number = number
        self.version = version
        self.made = made
        self.schemaVersion = schemaVersion
        self.state = state
        self.view = view
        self.viewIntent = viewIntent
        self.setsAside = setsAside
    }
}

/// How an append ended.
public enum AppendResult: Sendable {
    /// It is permanent.
    case committed
    /// The head is another one: another writer was first. Nothing is kept.
    case conflict
    /// This receipt was there already. Nothing is kept.
    indirect case duplicate(StoredReceipt)
    /// Certainly nothing is kept.
    case failed(StoreError)
    /// It may be kept or not: a sync failed, a connection was lost. `load(_:since:)` tells.
    case unknown(StoreError)
}
