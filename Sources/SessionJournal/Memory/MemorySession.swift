import DequeModule

/// A session in memory. Its shard's lock guards it; it leaves that only when it has left the shard.
final class MemorySession {
    private(set) var record: SessionRecord
    private(set) var sequence: UInt64 = 0
    private var marks = SessionMarks()
    /// At most some dozens, mostly one or two: looked through in order.
    private(set) var stores: [StoredStore] = []
    /// In the order of their ids.
    private var labels: Deque<StoredLabel> = []
    /// With their places in the order in which they were made.
    private var receipts: [ReceiptKey: (place: UInt64, receipt: StoredReceipt)] = [:]
    private var lastPlace: UInt64 = 0
    private var lastNumbers: [String: UInt64] = [:]
    /// The newest of the recorded turns.
    private var turns: Deque<RecordedTurn> = []
    private var setAside: [SetAsideState] = []

    init(_ record: SessionRecord) { self.record = record }

    // MARK: Writing

    func append(_ append: JournalAppend) -> AppendResult {
        if !append.receipts.isEmpty, let result = refusal(of: append) { return result }
        let first: UInt64
        // Taken out once: it is large, and this is done for every turn of every session.
        if let store = append.store {
            if store.turns.isEmpty {
                return .failed(JournalFailure(.invalid, "An append to a store needs at least one turn."))
            }
            let index = stores.firstIndex { $0.summary.feature == store.feature }
            guard index.map({ stores[$0].summary.token }) == store.expecting else { return .conflict }
            if let failure = put(store, at: index, time: append.time) { return .failed(failure) }
            first = sequence + 1
            add(store.turns, of: store.feature, time: append.time)
        } else {
            first = sequence
        }
        keepReceipts(of: append)
        // After the turns: a label of theirs may be one of those that go.
        if let first = append.firstLabel {
            while let label = labels.first, label.id < first { labels.removeFirst() }
        }
        if let marks = append.marks { self.marks = marks }
        record.lastSeen = max(record.lastSeen, append.time)
        return .committed(sequence: first)
    }

    func removeStore(_ feature: FeatureID, marks: SessionMarks) {
        stores.removeAll { $0.summary.feature == feature }
        self.marks = marks
    }

    func note(_ touch: SessionTouch) {
        record.lastSeen = max(record.lastSeen, touch.lastSeen)
        for id in touch.written {
            if let index = index(ofLabel: id) { labels[index].isWritten = true }
        }
    }

    // MARK: Reading

    // `map`, since an array made of an empty deque writes to the one empty array that all threads share.
    func stored(_ key: SessionKey) -> StoredSession {
        StoredSession(
            key: key, record: record, sequence: sequence, marks: marks, stores: stores.map(\.summary),
            labels: labels.map { $0 }, receipts: receipts.values.sorted { $0.place < $1.place }.map(\.receipt),
            lastNumbers: lastNumbers)
    }

    func exported(_ key: SessionKey) -> SessionExport {
        SessionExport(session: stored(key), stores: stores, turns: turns.map { $0 }, setAside: setAside)
    }

    // MARK: Parts of an append

    /// Why an append's receipts keep it from being kept; nil if they do not. A receipt that the same append forgets
    /// stands in nobody's way.
    private func refusal(of append: JournalAppend) -> AppendResult? {
        for (index, receipt) in append.receipts.enumerated() {
            if let known = receipts[receipt.key], !append.forgottenReceipts.contains(receipt.key) {
                return .duplicate(known.receipt)
            }
            if append.receipts[..<index].contains(where: { $0.key == receipt.key }) {
                return .failed(JournalFailure(.invalid, "One append has two receipts with the same key."))
            }
        }
        return nil
    }

    /// Writes a store's head; says why if it cannot be, before anything is changed.
    private func put(_ store: StoreAppend, at index: Int?, time: Duration) -> JournalFailure? {
        if index == nil || store.setsAside != nil {
            guard let state = store.state, let view = store.view else {
                return JournalFailure(.invalid, "A store that starts needs its state and its view state.")
            }
            guard index != nil || store.setsAside == nil else {
                return JournalFailure(.invalid, "There is no store whose state could be set aside.")
            }
            var summary = StoreSummary(
                feature: store.feature, token: store.token, marks: store.marks, replacedSequence: 0)
            if let index, let reason = store.setsAside {
                let old = stores[index]
                setAside.append(
                    SetAsideState(
                        feature: store.feature, schemaVersion: old.schemaVersion, state: old.state, reason: reason,
                        time: time))
                summary.replacedSequence = sequence + 1
            }
            let stored = StoredStore(
                summary: summary, schemaVersion: store.schemaVersion, state: state, view: view,
                viewIntent: store.viewIntent)
            if let index { stores[index] = stored } else { stores.append(stored) }
            return nil
        }
        guard let index else { return nil }
        stores[index].summary.token = store.token
        stores[index].summary.marks = store.marks
        if let state = store.state {
            stores[index].state = state
            stores[index].schemaVersion = store.schemaVersion
        }
        if let view = store.view {
            stores[index].view = view
            stores[index].viewIntent = store.viewIntent
        }
        return nil
    }

    private func keepReceipts(of append: JournalAppend) {
        for key in append.forgottenReceipts { receipts[key] = nil }
        for epoch in append.forgottenEpochs { lastNumbers[epoch] = nil }
        for receipt in append.receipts {
            lastPlace += 1
            receipts[receipt.key] = (lastPlace, receipt)
            if case .sequence(let number, let epoch) = receipt.key { lastNumbers[epoch] = number }
        }
    }

    private func add(_ added: [TurnAppend], of feature: FeatureID, time: Duration) {
        for turn in added {
            sequence += 1
            for (index, label) in turn.labels.enumerated() {
                labels.append(
                    StoredLabel(
                        id: LabelID(sequence: sequence, index: index), feature: feature, label: label,
                        isWritten: false))
            }
            if let recording = turn.recording {
                turns.append(RecordedTurn(sequence: sequence, feature: feature, time: time, recording: recording))
                while turns.count > max(0, turn.recordingLimit) { turns.removeFirst() }
            }
        }
    }

    /// By bisection: the labels are in the order of their ids.
    private func index(ofLabel id: LabelID) -> Int? {
        var range = labels.startIndex..<labels.endIndex
        while let first = range.first {
            let middle = first + range.count / 2
            if labels[middle].id == id { return middle }
            range = labels[middle].id < id ? middle + 1..<range.upperBound : first..<middle
        }
        return nil
    }
}
