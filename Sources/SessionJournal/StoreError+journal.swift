import MVI

/// What every engine says in the same words.
extension StoreError {
    package static let journalClosed = StoreError(.closed, "The journal is closed.")
    package static let sessionGone = StoreError(.gone, "The session is gone.")
    package static let sessionExists = StoreError(.exists, "There is a session with this token or id already.")
}

extension JournalBatch {
    /// How many stores a session may have.
    package static let storeLimit = 65_536

    /// Why the batch makes no sense for a session with so many stores; nil if it does. For engines, which ask when the
    /// head is the one expected.
    package func fault(storeCount: Int, hasStore: (FeatureID) -> Bool) -> StoreError? {
        if head.number < expecting.number { return StoreError(.invalid, "The head of a log cannot go back.") }
        var storeCount = storeCount
        for change in stores {
            let isThere = hasStore(change.feature)
            switch change.kind {
            case .made:
                guard change.state != nil, change.view != nil else {
                    return StoreError(.invalid, "A store that starts needs its state and its view state.")
                }
                if isThere { continue }
                guard change.setsAside == nil else {
                    return StoreError(.invalid, "There is no store whose state could be set aside.")
                }
                storeCount += 1
            case .changed, .disposed:
                guard isThere else { return StoreError(.invalid, "There is no store \(change.feature) to go on with.") }
            }
        }
        // At the end: a batch may dispose of stores and make others in their place.
        for change in stores where change.kind == .disposed { storeCount -= 1 }
        guard storeCount <= Self.storeLimit else {
            return StoreError(.invalid, "A session cannot have more than 65,536 stores.")
        }
        if receipts.count > 1, Set(receipts.lazy.map(\.key)).count < receipts.count {
            return StoreError(.invalid, "One batch has two receipts with the same key.")
        }
        return nil
    }
}
