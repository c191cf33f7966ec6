import DequeModule

/// A session in memory. Its shard's lock guards it; it leaves that only when it has left the shard.
final class MemorySession {
    private(set) var record: SessionRecord
    private var head = SessionHead.empty
    /// The heads before it, at most `SessionHead.remembered - 1`; from then on the next one replaces `oldestHead`.
    private var earlierHeads: [SessionHead] = []
    private var oldestHead = 0
    /// At most some dozens, mostly one or two: looked through in order.
    private(set) var stores: [StoredStore] = []
    /// In the order of their ids.
    private var labels: Deque<StoredLabel> = []
    private var lostLabels = LostLabels()
    private var receipts: [ReceiptKey: StoredReceipt] = [:]
    /// The newest of the recorded turns.
    private var turns: Deque<RecordedTurn> = []
    private var setAside: [SetAsideState] = []

    init(_ record: SessionRecord) { self.record = record }

    // MARK: Writing

    func append(_ batch: JournalBatch) -> AppendResult {
        for receipt in batch.receipts {
            // A receipt that the same batch forgets is no duplicate.
            if let known = receipts[receipt.key], !batch.forgottenReceipts.contains(receipt.key) {
                return .duplicate(known)
            }
        }
        guard batch.expecting == head else { return .conflict }
        let fault = batch.fault(storeCount: stores.count) { index(of: $0) != nil }
        if let fault { return .failed(fault) }

        for change in batch.stores { apply(change, time: batch.time) }
        advance(to: batch.head)
        record.lastSeen = max(record.lastSeen, batch.time)
        if !batch.labels.isEmpty { labels.append(contentsOf: batch.labels) }
        // After the new labels: one of them may be dropped at once.
        if let first = batch.firstLabel {
            while let label = labels.first, label.id < first { labels.removeFirst() }
        }
        for key in batch.forgottenReceipts { receipts[key] = nil }
        for receipt in batch.receipts { receipts[receipt.key] = receipt }
        if !batch.recordings.isEmpty {
            turns.append(contentsOf: batch.recordings)
            turns.removeFirst(max(0, turns.count - max(0, batch.recordingLimit)))
        }
        if let lost = batch.lostLabels { lostLabels = lost }
        if let epoch = batch.epoch { record.epoch = epoch }
        return .committed
    }

    func note(_ touch: SessionTouch) {
        record.lastSeen = max(record.lastSeen, touch.lastSeen)
        guard !touch.written.isEmpty else { return }
        let written = Set(touch.written)
        for index in labels.indices where written.contains(labels[index].id) { labels[index].isWritten = true }
    }

    // MARK: Reading

    // `map`, since an array made of an empty deque writes to the one empty array that all threads share.
    func stored(_ key: SessionKey) -> StoredSession {
        StoredSession(
            key: key, record: record, head: head, stores: stores.map(\.summary), labels: labels.map { $0 },
            lostLabels: lostLabels, receipts: receipts(after: nil))
    }

    func news(since number: UInt64) -> SessionNews {
        SessionNews(
            recentHeads: earlierHeads[oldestHead...] + earlierHeads[..<oldestHead] + [head], epoch: record.epoch,
            stores: stores.map(\.summary), changed: stores.filter { $0.summary.number > number },
            labels: labels.filter { $0.id.number > number }, lostLabels: lostLabels,
            receipts: receipts(after: number))
    }

    func exported(_ key: SessionKey) -> SessionExport {
        SessionExport(session: stored(key), stores: stores, turns: turns.map { $0 }, setAside: setAside)
    }

    private func receipts(after number: UInt64?) -> [StoredReceipt] {
        receipts.values.filter { receipt in number.map { receipt.number > $0 } ?? true }
            .sorted { $0.number < $1.number }
    }

    // MARK: Parts of an append

    private func index(of feature: FeatureID) -> Int? {
        // By the index: a closure would be given a copy of each.
        for index in stores.indices where stores[index].summary.feature == feature { return index }
        return nil
    }

    private func apply(_ change: StoreChange, time: Duration) {
        let index = index(of: change.feature)
        switch change.kind {
        case .changed: if let index { stores[index].apply(change) }
        case .disposed: if let index { stores.remove(at: index) }
        case .made:
            if let index, let reason = change.setsAside {
                setAside.append(
                    SetAsideState(
                        feature: change.feature, schemaVersion: stores[index].schemaVersion,
                        state: stores[index].state, reason: reason, time: time))
            }
            var store = StoredStore(
                summary: StoreSummary(
                    feature: change.feature, number: 0, version: 0, made: change.made,
                    replaced: change.setsAside == nil ? 0 : change.made),
                schemaVersion: 0, state: [], view: [], viewIntent: nil)
            store.apply(change)
            if let index { stores[index] = store } else { stores.append(store) }
        }
    }

    private func advance(to new: SessionHead) {
        if earlierHeads.count < SessionHead.remembered - 1 {
            earlierHeads.append(head)
        } else {
            earlierHeads[oldestHead] = head
            oldestHead = (oldestHead + 1) % earlierHeads.count
        }
        head = new
    }
}

extension StoredStore {
    fileprivate mutating func apply(_ change: StoreChange) {
        summary.number = change.number
        summary.version = change.version
        if let state = change.state {
            self.state = state
            schemaVersion = change.schemaVersion
        }
        if let view = change.view {
            self.view = view
            viewIntent = change.viewIntent
        }
    }
}
