import MVI

/// The next turns of a session's log, committed as one unit.
///
/// They are the turns from `expecting.number + 1` to `head.number`.
package struct JournalBatch: Sendable {
    /// The head that the log must have.
    package var expecting: SessionHead
    package var session: SessionKey
    /// The log's head after the append.
    package var head: SessionHead
    /// Time since 1970, noted as the session's last use.
    package var time: Duration
    /// The changes of stores, at most one for each store.
    package var stores: [StoreChange]
    /// The turns' labels, in order.
    package var labels: [StoredLabel]
    /// The turns' receipts, in order. If one with the same key is stored already, nothing is appended and the result is
    /// `duplicate`.
    package var receipts: [StoredReceipt]
    /// The changes of the session's reminders, in order. A store's reminders survive its disposal unless the batch
    /// removes them.
    package var reminders: [ReminderChange]
    /// Receipts to delete.
    package var forgottenReceipts: [ReceiptKey]
    /// Deletes labels before this one; nil to delete none.
    package var firstLabel: LabelID?
    /// Labels to delete after the first one that is kept, in no order. Missing ones are skipped.
    package var forgottenLabels: [LabelID]
    /// The new record of lost labels, or nil if it is unchanged.
    package var lostLabels: LostLabels?
    /// The log's new epoch, or nil to keep the old one.
    package var epoch: String?
    /// The session's owner, compared like the head. Journals of one process may ignore it.
    package var expectedOwner: SessionOwner?
    /// The number of changes of access to the session that the writer knows of, compared like the head. Nil if no other
    /// process writes. Journals of one process may ignore it.
    package var expectedAccess: UInt64?
    /// Nil if it has nothing of it.
    package var rare: RareBatch?
    /// The change of the owner, or nil to keep it.
    package var ownerChange: OwnerChange?
}

extension JournalBatch {
    // Over the synthesized initializer: one that sets members of such a large structure copies and destroys all of it.
    package init(
        session: SessionKey, expecting: SessionHead, head: SessionHead, time: Duration, stores: [StoreChange] = [],
        labels: [StoredLabel] = [], receipts: [StoredReceipt] = [], reminders: [ReminderChange] = [],
        forgottenReceipts: [ReceiptKey] = [], firstLabel: LabelID? = nil, forgottenLabels: [LabelID] = [],
        lostLabels: LostLabels? = nil, epoch: String? = nil, expectedOwner: SessionOwner? = nil,
        expectedAccess: UInt64? = nil, rare: RareBatch? = nil, ownerChange: OwnerChange? = nil
    ) {
        self.init(
            expecting: expecting, session: session, head: head, time: time, stores: stores, labels: labels,
            receipts: receipts, reminders: reminders, forgottenReceipts: forgottenReceipts, firstLabel: firstLabel,
            forgottenLabels: forgottenLabels, lostLabels: lostLabels, epoch: epoch, expectedOwner: expectedOwner,
            expectedAccess: expectedAccess, rare: rare, ownerChange: ownerChange)
    }
}

/// The access of a session whose client sent an intent to a space.
package struct ExpectedCaller: Sendable, Hashable {
    /// The token that the session began with.
    package var token: TokenHash
    /// Nil if the writer does not know the session as a stored one.
    package var session: SessionKey?
    /// The number of changes of access to it; 0 for one that is not stored.
    package var access: UInt64

    package init(token: TokenHash, session: SessionKey?, access: UInt64) {
        (self.token, self.session, self.access) = (token, session, access)
    }
}

/// A batch's change of one store.
package struct StoreChange: Sendable {
    /// The kind of change.
    package enum Kind: Sendable, Hashable {
        /// The store is created and replaces an earlier one of the same feature instance. It needs a state and a view
        /// state.
        case made
        /// The store continues.
        case changed
        /// The store is disposed of. Its labels stay.
        case disposed
    }

    package var kind: Kind
    package var feature: FeatureID
    /// The number of the batch's last turn of this store.
    package var number: UInt64
    /// The number of the last turn that changed its view state.
    package var version: UInt64
    /// The number of the turn that created it.
    package var made: UInt64
    /// The schema version of `state`.
    package var schemaVersion: Int
    /// The state after the last turn as JSON, or nil if it is unchanged.
    package var state: [UInt8]?
    /// The view state after the last turn as JSON, or nil if it is unchanged.
    package var view: [UInt8]?
    /// The intent that led to `view`, or nil if there was none. Stored only together with `view`.
    package var viewIntent: String?
    /// The reason for setting the stored state aside: it is unreadable and the new store replaces it, or the new state
    /// lacks members of it. Nil to set nothing aside.
    package var setsAside: String?
}

extension StoreChange {
    // As that of a batch.
    package init(
        feature: FeatureID, kind: Kind, number: UInt64, version: UInt64, made: UInt64, schemaVersion: Int = 1,
        state: [UInt8]? = nil, view: [UInt8]? = nil, viewIntent: String? = nil, setsAside: String? = nil
    ) {
        self.init(
            kind: kind, feature: feature, number: number, version: version, made: made, schemaVersion: schemaVersion,
            state: state, view: view, viewIntent: viewIntent, setsAside: setsAside)
    }
}

/// The result of an append.
package enum AppendResult: Sendable {
    case committed
    /// The head or the owner differs: another writer was first. Nothing is stored.
    case conflict
    /// The access of these expected callers has changed, or their sessions have ended: by their index. Nothing is stored.
    case callersChanged([Int])
    /// These messages were received before: by their index in the batch. Nothing is stored.
    case heardBefore([Int])
    /// This receipt was stored before. Nothing is stored.
    indirect case duplicate(StoredReceipt)
    /// The append failed. Nothing is stored.
    case failed(StoreError)
    /// The outcome is unknown: a sync failed or a connection was lost. `load(_:since:)` tells it.
    case unknown(StoreError)
}

extension StoreError.Code {
    /// The limit of sessions is reached, in memory or in the journal.
    package static let tooManySessions = Self("tooManySessions")
    /// The limit of spaces is reached in the journal.
    package static let tooManySpaces = Self("tooManySpaces")
}

/// Checks that every journal shares.
extension StoreError {
    package static let journalClosed = StoreError(.closed, "The journal is closed.")
    package static let sessionGone = StoreError(.gone, "The session is gone.")
    package static let tooManyKept = StoreError(
        .tooManySessions, "Too many sessions are stored.", retryAfter: .seconds(60))
    package static let tooManySpaces = StoreError(
        .tooManySpaces, "Too many spaces are stored.", retryAfter: .seconds(60))
    package static let sessionExists = StoreError(.exists, "A session with this token, id or name exists already.")
    package static let spaceHasNoCredentials = StoreError(.invalid, "A space has no credentials and no subject.")
    package static let tokenIsUsed = StoreError(.exists, "Another session has a credential's token already.")
    package static let sharedExists = StoreError(.exists, "The subject has a shared session already.")
    package static let subjectIsForgotten = StoreError(
        .unavailable, "The subject's data is being deleted.", retryAfter: .seconds(5))
    package static let credentialsChanged = StoreError(
        .contended, "Another writer changed the session's credentials or subject first.")
}

extension JournalBatch {
    /// The largest number of stores of a session.
    package static let storeLimit = 65_536

    /// Returns the reason why the batch is invalid for a session with this number of stores, or nil. Journals call it
    /// after they have compared the head.
    package func fault(storeCount: Int, hasStore: (FeatureID) -> Bool) -> StoreError? {
        func fault(_ detail: String) -> StoreError { StoreError(.invalid, detail) }
        if head.number < expecting.number { return fault("The head of a log cannot move backwards.") }
        // Counted at the end: a batch may dispose of stores and create others in their place.
        var finalCount = storeCount
        for change in stores {
            let isThere = hasStore(change.feature)
            guard change.kind == .made else {
                guard isThere else { return fault("There is no store \(change.feature) to change.") }
                if change.kind == .disposed { finalCount -= 1 }
                continue
            }
            guard change.state != nil, change.view != nil else {
                return fault("A new store needs a state and a view state.")
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
