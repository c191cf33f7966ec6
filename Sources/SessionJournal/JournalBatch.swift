import MVI

/// The next turns of a session's log, kept as one unit: all of it or nothing.
///
/// Its turns are those with the numbers from `expecting.number + 1` to `head.number`.
package struct JournalBatch: Sendable {
    package var session: SessionKey
    /// What the log's head must be.
    package var expecting: SessionHead
    /// The log's head from now on.
    package var head: SessionHead
    /// Time since 1970. The session was seen then.
    package var time: Duration
    /// What the turns changed, at most one change for each store.
    package var stores: [StoreChange]
    /// The turns' labels, in order.
    package var labels: [StoredLabel]
    /// The receipts of the turns, in order. If there is one with the same key already, nothing is appended and the
    /// result is `duplicate`.
    package var receipts: [StoredReceipt]
    /// How the turns changed the session's reminders, in order. A store's reminders stay when it is disposed of, unless
    /// the batch forgets them.
    package var reminders: [ReminderChange]
    /// What happened in the turns, as far as that is recorded, in order.
    package var recordings: [RecordedTurn]
    /// How many recorded turns the session keeps: the newest.
    package var recordingLimit: Int
    /// Receipts that are not kept any more.
    package var forgottenReceipts: [ReceiptKey]
    /// Labels before this one are not kept any more; nil if that has not changed.
    package var firstLabel: LabelID?
    /// Labels behind the first that is kept which are not kept any more, in no order; those that are not there are passed
    /// over.
    package var forgottenLabels: [LabelID]
    /// Which labels were lost; nil if that has not changed.
    package var lostLabels: LostLabels?
    /// The log's new name; nil to keep the old one.
    package var epoch: String?
    /// Who owns the session: another owner, or none, is another head. Journals of one process need not look at it.
    package var expectedOwner: SessionOwner?
    /// How often access to the session was changed, as far as its writer knows: another count is another head. Nil where no
    /// other process writes; journals of one process need not look at it.
    package var expectedAccess: UInt64?
    /// What becomes of the owner; nil if it stays.
    package var ownerChange: OwnerChange?

    @inlinable
    package init(
        session: SessionKey, expecting: SessionHead, head: SessionHead, time: Duration, stores: [StoreChange] = [],
        labels: [StoredLabel] = [], receipts: [StoredReceipt] = [], reminders: [ReminderChange] = [],
        recordings: [RecordedTurn] = [], recordingLimit: Int = 0, forgottenReceipts: [ReceiptKey] = [],
        firstLabel: LabelID? = nil, forgottenLabels: [LabelID] = [], lostLabels: LostLabels? = nil,
        epoch: String? = nil, expectedOwner: SessionOwner? = nil, expectedAccess: UInt64? = nil,
        ownerChange: OwnerChange? = nil
    ) {
        self.session = session
        self.expecting = expecting
        self.head = head
        self.time = time
        self.stores = stores
        self.labels = labels
        self.receipts = receipts
        self.reminders = reminders
        self.recordings = recordings
        self.recordingLimit = recordingLimit
        self.forgottenReceipts = forgottenReceipts
        self.firstLabel = firstLabel
        self.forgottenLabels = forgottenLabels
        self.lostLabels = lostLabels
        self.epoch = epoch
        self.expectedOwner = expectedOwner
        self.expectedAccess = expectedAccess
        self.ownerChange = ownerChange
    }
}

/// What a batch changes of one store.
package struct StoreChange: Sendable {
    /// What becomes of the store.
    package enum Kind: Sendable, Hashable {
        /// It starts, in the place of an earlier one of the same feature instance if there is one. It needs a state and
        /// a view state.
        case made
        /// It goes on.
        case changed
        /// It is gone. Its labels stay.
        case disposed
    }

    package var feature: FeatureID
    package var kind: Kind
    /// The number of the batch's last turn that was about it.
    package var number: UInt64
    /// The number of the last turn that changed its view state.
    package var version: UInt64
    /// The number of the turn that made it.
    package var made: UInt64
    /// The schema version of `state`.
    package var schemaVersion: Int
    /// The state after the last turn as JSON; nil if it is still what is kept.
    package var state: [UInt8]?
    /// The view state after the last turn as JSON; nil if it is still what is kept.
    package var view: [UInt8]?
    /// The intent that led to `view`, nil if none did; kept only together with `view`.
    package var viewIntent: String?
    /// Why the state that is kept now is set aside: it cannot be read and the store that is made takes its place, or the
    /// state of a change lacks members of it. Nil if it is not.
    package var setsAside: String?

    @inlinable
    package init(
        feature: FeatureID, kind: Kind, number: UInt64, version: UInt64, made: UInt64, schemaVersion: Int = 1,
        state: [UInt8]? = nil, view: [UInt8]? = nil, viewIntent: String? = nil, setsAside: String? = nil
    ) {
        (self.feature, self.kind, self.number, self.version) = (feature, kind, number, version)
        (self.made, self.schemaVersion, self.state) = (made, schemaVersion, state)
        (self.view, self.viewIntent, self.setsAside) = (view, viewIntent, setsAside)
    }
}

/// How an append ended.
package enum AppendResult: Sendable {
    case committed
    /// The head or the owner is another one: another writer was first. Nothing is kept.
    case conflict
    /// This receipt was there already. Nothing is kept.
    indirect case duplicate(StoredReceipt)
    /// Certainly nothing is kept.
    case failed(StoreError)
    /// It may be kept or not: a sync failed, a connection was lost. `load(_:since:)` tells.
    case unknown(StoreError)
}

extension StoreError.Code {
    /// There are as many sessions as there may be: in memory, or kept.
    package static let tooManySessions = Self("tooManySessions")
}

/// What every engine says in the same words.
extension StoreError {
    package static let journalClosed = StoreError(.closed, "The journal is closed.")
    package static let sessionGone = StoreError(.gone, "The session is gone.")
    package static let tooManyKept = StoreError(
        .tooManySessions, "As many sessions are kept as may be.", retryAfter: .seconds(60))
    package static let sessionExists = StoreError(.exists, "There is a session with this token or id already.")
    package static let tokenIsUsed = StoreError(.exists, "Another session has a credential's token already.")
    package static let sharedExists = StoreError(.exists, "The subject has a shared session already.")
    package static let credentialsChanged = StoreError(
        .contended, "Another writer changed the session's credentials or subject first.")
}

extension JournalBatch {
    /// How many stores a session may have.
    package static let storeLimit = 65_536

    /// Why the batch makes no sense for a session with so many stores; nil if it does. For engines, which ask when the
    /// head is the one expected.
    package func fault(storeCount: Int, hasStore: (FeatureID) -> Bool) -> StoreError? {
        func fault(_ detail: String) -> StoreError { StoreError(.invalid, detail) }
        if head.number < expecting.number { return fault("The head of a log cannot go back.") }
        // At the end: a batch may dispose of stores and make others in their place.
        var finalCount = storeCount
        for change in stores {
            let isThere = hasStore(change.feature)
            guard change.kind == .made else {
                guard isThere else { return fault("There is no store \(change.feature) to go on with.") }
                if change.kind == .disposed { finalCount -= 1 }
                continue
            }
            guard change.state != nil, change.view != nil else {
                return fault("A store that starts needs its state and its view state.")
            }
            if isThere { continue }
            guard change.setsAside == nil else { return fault("There is no store whose state could be set aside.") }
            finalCount += 1
        }
        guard finalCount <= Self.storeLimit else { return fault("A session cannot have more than 65,536 stores.") }
        if receipts.count > 1, Set(receipts.lazy.map(\.key)).count < receipts.count {
            return fault("One batch has two receipts with the same key.")
        }
        return nil
    }
}
