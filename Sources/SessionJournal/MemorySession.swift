import DequeModule
import Locking
import MVI

/// A session in memory, guarded by its shard's lock. It leaves the lock only after it has left the shard.
///
/// The members that an append changes are not checked for exclusive access: the lock ensures it.
final class MemorySession {
    @exclusivity(unchecked) private(set) var record: SessionRecord
    @exclusivity(unchecked) private var head = SessionHead.empty
    /// The previous heads, at most `SessionHead.remembered - 1`. After that, each new one replaces `oldestHead`.
    @exclusivity(unchecked) private var earlierHeads: [SessionHead] = []
    private var oldestHead = 0
    @exclusivity(unchecked) private(set) var stores: IdentifiedArray<StoredStore> = []
    /// Ordered by id.
    private var labels: Deque<StoredLabel> = []
    private var receipts: [ReceiptKey: StoredReceipt] = [:]
    /// Rarely needed members, nil for most sessions.
    @exclusivity(unchecked) private var additions: MemoryAdditions?

    init(_ record: SessionRecord, credential: StoredCredential? = nil) {
        self.record = record
        if let credential { credentials = [credential] }
    }

    /// Ordered by number.
    var credentials: [StoredCredential] {
        get { additions?.credentials ?? [] }
        set { change { $0.credentials = newValue } }
    }

    /// Ordered by due time.
    private(set) var reminders: [StoredReminder] {
        get { additions?.reminders ?? [] }
        set { change { $0.reminders = newValue } }
    }

    /// The owner, with the stores whose work runs.
    private(set) var owner: (owner: SessionOwner, working: [FeatureID])? {
        get { additions?.owner }
        set { change { $0.owner = newValue } }
    }

    /// The number of changes of access to the session.
    var accessChanges: UInt64 {
        get { additions?.accessChanges ?? 0 }
        set { change { $0.accessChanges = newValue } }
    }

    /// The sender of received messages with a name.
    func sender(_ name: [UInt8]) -> StoredSender? { additions?.senders[name] }

    func set(_ sender: StoredSender?, _ name: [UInt8]) { change { $0.senders[name] = sender } }

    private var lostLabels: LostLabels {
        get { additions?.lostLabels ?? LostLabels() }
        set { change { $0.lostLabels = newValue } }
    }

    func set(_ settings: CredentialChange.NewSettings) {
        if settings.token == record.tokenHash { record.settings = settings.value }
    }

    func rename(_ epoch: String) { record.epoch = epoch }

    /// Returns an independent copy.
    func copy() -> MemorySession {
        let copy = MemorySession(record)
        (copy.head, copy.earlierHeads, copy.oldestHead) = (head, earlierHeads, oldestHead)
        (copy.stores, copy.labels, copy.receipts) = (stores, labels, receipts)
        copy.additions = additions?.copy()
        return copy
    }

    var mark: SessionMark {
        SessionMark(token: record.tokenHash, head: head, accessChanges: accessChanges, epoch: record.epoch)
    }

    /// True if expiry skips the session, because it had reminders when last checked.
    var isPassedOver: Bool {
        get { additions?.isPassedOver == true }
        set { change { $0.isPassedOver = newValue } }
    }

    var subject: Subject? {
        get { record.subject }
        set { record.subject = newValue }
    }

    private func change(_ change: (MemoryAdditions) -> Void) {
        let changed = additions ?? MemoryAdditions()
        change(changed)
        additions = changed.isEmpty ? nil : changed
    }

    /// True if the batch continues the log as it is.
    func expects(_ batch: JournalBatch) -> Bool {
        batch.expecting == head && batch.expectedOwner == owner?.owner
            && batch.expectedAccess ?? accessChanges == accessChanges
    }

    func append(_ batch: JournalBatch) -> AppendResult {
        for receipt in batch.receipts {
            // A receipt that the same batch deletes is no duplicate.
            if let known = receipts[receipt.key], !batch.forgottenReceipts.contains(receipt.key) {
                return .duplicate(known)
            }
        }
        guard expects(batch) else { return .conflict }
        if let known = batch.rare?.heardBefore({ sender($0)?.last.number }) { return known }
        let fault = batch.fault(storeCount: stores.count) { stores.index(of: $0) != nil }
        if let fault { return .failed(fault) }

        // By index: a loop over the elements would copy each change.
        for index in batch.stores.indices { apply(batch.stores[index], time: batch.time) }
        if head == .empty {
            // Implied, not stored: most idle sessions have one turn, the creation of their first store.
        } else if earlierHeads.count < SessionHead.remembered - 1 {
            // Reserved at once: growing in steps takes twice the memory.
            if earlierHeads.isEmpty { earlierHeads.reserveCapacity(SessionHead.remembered - 1) }
            earlierHeads.append(head)
        } else {
            earlierHeads[oldestHead] = head
            oldestHead = (oldestHead + 1) % earlierHeads.count
        }
        head = batch.head
        record.lastSeen = max(record.lastSeen, batch.time)
        if !batch.labels.isEmpty { labels.append(contentsOf: batch.labels) }
        // After the new labels, since one of them may be dropped at once.
        if let first = batch.firstLabel {
            while let label = labels.first, label.id < first { labels.removeFirst() }
        }
        if !batch.forgottenLabels.isEmpty {
            let forgotten = Set(batch.forgottenLabels)
            labels.removeAll { forgotten.contains($0.id) }
        }
        for key in batch.forgottenReceipts { receipts[key] = nil }
        for receipt in batch.receipts { receipts[receipt.key] = receipt }
        if !batch.reminders.isEmpty { apply(batch.reminders) }
        for new in batch.senders {
            let time = max(new.time, sender(new.last.sender)?.time ?? new.time)
            set(StoredSender(last: new.last, time: time), new.last.sender)
        }
        if let lost = batch.lostLabels { lostLabels = lost }
        if let epoch = batch.epoch { record.epoch = epoch }
        switch batch.ownerChange {
        case nil: break
        case .released?: owner = nil
        case .owned(let new, let working)?: owner = (new, working)
        }
        return .committed
    }

    func note(_ touch: SessionTouch) {
        record.lastSeen = max(record.lastSeen, touch.lastSeen)
        for (token, lastSeen) in touch.credentials {
            guard let index = credentials.firstIndex(where: { $0.token == token }) else { continue }
            credentials[index].lastSeen = max(credentials[index].lastSeen, lastSeen)
        }
        for (feature, lastSeen) in touch.stores {
            guard let index = stores.index(of: feature) else { continue }
            stores[index].summary.lastSeen = max(stores[index].summary.lastSeen, lastSeen)
        }
        for paused in touch.reminders {
            guard let index = reminders.firstIndex(where: { $0.isSame(as: paused) }) else { continue }
            reminders[index].notBefore = paused.notBefore
        }
        guard !touch.written.isEmpty else { return }
        let written = Set(touch.written)
        for index in labels.indices where written.contains(labels[index].id) { labels[index].isWritten = true }
    }

    /// Returns the session without states, or only what is newer than a turn's number.
    func stored(_ key: SessionKey, since number: UInt64? = nil) -> StoredSession {
        let first: [SessionHead] =
            head != .empty && earlierHeads.count < SessionHead.remembered - 1 ? [.empty] : []
        let isNewer = { (other: UInt64) in number.map { other > $0 } ?? true }
        return StoredSession(
            key: key, record: record,
            recentHeads: number == nil
                ? [head] : first + earlierHeads[oldestHead...] + earlierHeads[..<oldestHead] + [head],
            stores: stores.map(\.summary),
            changed: number == nil ? [] : stores.filter { isNewer($0.summary.number) },
            labels: labels.filter { isNewer($0.id.number) }, lostLabels: lostLabels,
            receipts: receipts.values.filter { isNewer($0.number) }.sorted { $0.number < $1.number },
            credentials: credentials, reminders: reminders, owner: owner?.owner, accessChanges: accessChanges)
    }

    func exported(_ key: SessionKey, turnsAfter number: UInt64?) -> SessionExport {
        // `filter`, since an array made from an empty deque writes to the one empty array that all threads share.
        let turns = additions?.recordings.turns.filter { turn in number.map { turn.number > $0 } ?? true } ?? []
        return SessionExport(
            session: stored(key), stores: Array(stores), turns: Array(turns), setAside: additions?.setAside ?? [])
    }

    func add(_ recordings: SessionRecordings) {
        change { $0.recordings.append(recordings.turns, recordings.limit) }
    }

    /// Deletes receipts and labels, and all recorded turns.
    func forget(_ keys: [ReceiptKey], _ ids: [LabelID]) {
        for key in keys { receipts[key] = nil }
        if !ids.isEmpty { labels.removeAll { ids.contains($0.id) } }
        change { $0.recordings = RecordingRing() }
    }

    func apply(_ changes: [ReminderChange]) {
        reminders = reminders.applying(changes).sorted { $0.isDue(before: $1) }
    }

    private func apply(_ change: StoreChange, time: Duration) {
        let index = stores.index(of: change.feature)
        if let index, let reason = change.setsAside {
            let lost = SetAsideState(
                feature: change.feature, schemaVersion: stores[index].schemaVersion, state: stores[index].state,
                reason: reason, time: time)
            self.change { $0.setAside.append(lost) }
        }
        switch change.kind {
        case .changed: if let index { stores[index].apply(change, time: time) }
        case .disposed: if let index { stores.remove(at: index) }
        case .made:
            var store = StoredStore(
                summary: StoreSummary(
                    feature: change.feature, number: 0, version: 0, made: change.made,
                    replaced: change.setsAside == nil ? 0 : change.made),
                schemaVersion: 0, state: [], view: [], viewIntent: nil)
            store.apply(change, time: time)
            if let index { stores[index] = store } else { stores.append(store) }
        }
    }
}

/// The members that few sessions need.
private final class MemoryAdditions {
    var credentials: [StoredCredential] = []
    var reminders: [StoredReminder] = []
    var isPassedOver = false
    var owner: (owner: SessionOwner, working: [FeatureID])?
    var accessChanges: UInt64 = 0
    var lostLabels = LostLabels()
    var senders: [[UInt8]: StoredSender] = [:]
    @exclusivity(unchecked) var recordings = RecordingRing()
    var setAside: [SetAsideState] = []

    var isEmpty: Bool {
        credentials.isEmpty && reminders.isEmpty && !isPassedOver && owner == nil && accessChanges == 0
            && lostLabels == LostLabels() && senders.isEmpty && recordings.turns.isEmpty && setAside.isEmpty
    }

    func copy() -> MemoryAdditions {
        let copy = MemoryAdditions()
        (copy.credentials, copy.reminders, copy.owner) = (credentials, reminders, owner)
        (copy.accessChanges, copy.lostLabels, copy.senders) = (accessChanges, lostLabels, senders)
        (copy.recordings, copy.setAside) = (recordings, setAside)
        return copy
    }
}

extension StoredReminder {
    /// True if this reminder comes first, by time, then by name.
    fileprivate func isDue(before other: StoredReminder) -> Bool {
        if due != other.due { return due < other.due }
        if feature != other.feature { return feature.text.utf8.lexicographicallyPrecedes(other.feature.text.utf8) }
        return id.utf8.lexicographicallyPrecedes(other.id.utf8)
    }
}

extension StoredStore {
    fileprivate mutating func apply(_ change: StoreChange, time: Duration) {
        summary.lastSeen = max(summary.lastSeen, time)
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
