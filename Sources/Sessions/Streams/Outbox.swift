import DequeModule
import Locking
import MVI
import SessionJournal

/// The labels of a session that clients may still have to receive, oldest first. Limited in number and bytes.
///
/// Expired labels leave from any position, so each entry has a place number: places increase and are not reused.
struct Outbox {
    struct Entry {
        let label: StoredLabel
        /// On the monotonic clock.
        let expiry: Duration
        let place: UInt64
        /// True if a stream's socket took it.
        var isWritten: Bool
        /// The numbers of the credentials whose streams' sockets took it, as far as known here.
        var writtenTo: [Int] = []

        /// True if a stream of the client took it. A client that joined after the label was published is owed nothing.
        func isWritten(to credential: Credential?) -> Bool {
            guard let credential, credential.isOneOfMany else { return isWritten }
            return writtenTo.contains(credential.number) || label.id.number <= credential.joined
        }

        /// The bytes that count towards the limit.
        var size: Int { label.json.count + (label.to?.size ?? 0) }
    }

    private(set) var entries: Deque<Entry> = []
    private var bytes = 0
    /// The place of the next label.
    private(set) var endPlace: UInt64
    /// The place after the last directed label; 0 if there was none.
    private(set) var directedEnd: UInt64 = 0
    /// A lower bound of the entries' expiry times.
    private var nextExpiry = Duration.nanoseconds(Int64.max)
    /// The labels that were dropped by the limits, as long as a client may have to be told.
    private(set) var lost = LostLabels()
    /// The maximum number of feature instances in `lost`: a client can create and dispose of any number of them.
    private static let lostLimit = 256

    // True if the journal does not know it yet. The next append tells the journal, and is repeated if it fails.
    private(set) var lostIsNews = false
    /// The first label of the outbox as the journal knows it.
    private var toldFirst = LabelID(number: 0, index: 0)
    /// Expired labels behind the first stored one; see `JournalBatch.forgottenLabels`.
    private(set) var forgotten: Set<LabelID> = []
    /// Beyond it they stay in the journal until the first stored label is a later one.
    private static let forgottenLimit = 4_096

    var count: Int { entries.count }
    /// The place of the first label, or of the next one if there is none.
    private(set) var firstPlace: UInt64

    /// - Parameter place: the place of the first label.
    init(from place: UInt64 = 0) { (firstPlace, endPlace) = (place, place) }

    /// A stored outbox.
    init(_ labels: [StoredLabel], lost: LostLabels, monotonic: (Duration) -> Duration) {
        self.init()
        self.lost = lost
        for label in labels { append(label, expiry: monotonic(label.expiry)) }
        toldFirst = labels.first?.id ?? toldFirst
    }

    mutating func append(_ label: StoredLabel, expiry: Duration) {
        let entry = Entry(label: label, expiry: expiry, place: endPlace, isWritten: label.isWritten)
        endPlace += 1
        if label.to != nil { directedEnd = endPlace }
        nextExpiry = min(nextExpiry, expiry)
        bytes += entry.size
        entries.append(entry)
    }

    /// The index of the first label at or behind a place.
    func index(from place: UInt64) -> Int {
        guard place > firstPlace else { return 0 }
        // Without gaps it is exactly there, and never farther back.
        var high = min(Int(clamping: place - firstPlace), entries.count)
        if high < entries.count, entries[high].place == place { return high }
        var low = 0
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].place < place { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The stored label at a place.
    subscript(place: UInt64) -> Entry { entries[index(from: place)] }

    /// Marks a label that a stream's socket took. Returns its name if it is still stored and was not marked.
    mutating func markWritten(_ place: UInt64, to credential: Credential?) -> LabelID? {
        let index = index(from: place)
        guard index < entries.count, entries[index].place == place else { return nil }
        if let number = credential?.number, !entries[index].writtenTo.contains(number) {
            entries[index].writtenTo.append(number)
        }
        guard !entries[index].isWritten else { return nil }
        entries[index].isWritten = true
        return entries[index].label.id
    }

    /// The place of the first label after a turn, by bisection.
    func firstPlace(after number: UInt64) -> UInt64 {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].label.id.number <= number { low = middle + 1 } else { high = middle }
        }
        return low < entries.count ? entries[low].place : endPlace
    }

    // MARK: Removing labels

    /// Removes expired labels, which is no loss, and releases their memory.
    mutating func forgetExpired(now: Duration) {
        guard nextExpiry <= now else { return }
        removeExpired(now: now)
    }

    /// Drops labels until the limits hold: first expired ones, then the oldest. Returns the latter: clients that were
    /// owed one of them have lost it.
    mutating func trim(now: Duration, maxCount: Int, maxBytes: Int) -> [Entry] {
        let before = entries.count
        var isLoss = false
        while let first = entries.first, first.expiry <= now {
            isLoss = isLoss || first.label.to == nil
            bytes -= entries.removeFirst().size
        }
        if nextExpiry <= now, entries.count > maxCount || bytes > maxBytes { removeExpired(now: now) }
        var dropped: [Entry] = []
        while let first = entries.first, entries.count > maxCount || bytes > maxBytes {
            dropped.append(first)
            // A directed one is owed to open streams only.
            if first.label.to == nil { noteDropped(first) }
            bytes -= entries.removeFirst().size
        }
        if entries.count < before { hasRemoved(isLoss: isLoss || dropped.contains { $0.label.to == nil }) }
        return dropped
    }

    /// Removes labels to a person that is deleted, which is no loss.
    mutating func remove(where isMeant: (StoredLabel) -> Bool) -> [LabelID] {
        let removed = entries.filter { isMeant($0.label) }
        guard !removed.isEmpty else { return [] }
        for entry in removed { bytes -= entry.size }
        entries.removeAll { isMeant($0.label) }
        hasRemoved(isLoss: false)
        return removed.map(\.label.id)
    }

    private mutating func removeExpired(now: Duration) {
        let before = entries
        var isLoss = false
        entries = []
        nextExpiry = .nanoseconds(Int64.max)
        for entry in before {
            if entry.expiry > now {
                nextExpiry = min(nextExpiry, entry.expiry)
                entries.append(entry)
            } else {
                bytes -= entry.size
                isLoss = isLoss || entry.label.to == nil
                // The journal learns about those before the first stored label by that label's name.
                if !entries.isEmpty, forgotten.count < Self.forgottenLimit { forgotten.insert(entry.label.id) }
            }
        }
        if entries.count < before.count { hasRemoved(isLoss: isLoss) }
    }

    /// - Parameter isLoss: false if all that were removed are directed labels.
    private mutating func hasRemoved(isLoss: Bool) {
        firstPlace = entries.first?.place ?? endPlace
        if !forgotten.isEmpty {
            let first = entries.first?.label.id
            forgotten = first.map { first in forgotten.filter { $0 > first } } ?? []
        }
        guard isLoss, !lost.hasAny else { return }
        lost.hasAny = true
        lostIsNews = true
    }

    private mutating func noteDropped(_ entry: Entry) {
        var feature = entry.label.feature
        // Beyond the limit features share one entry: too many resets rather than too few.
        if lost.dropped[feature] == nil, lost.dropped.count >= Self.lostLimit, let other = lost.dropped.keys.first {
            feature = other
        }
        var dropped = lost.dropped[feature] ?? LostLabels.Dropped(number: 0, isUnheard: false)
        dropped.number = entry.label.id.number
        dropped.isUnheard = dropped.isUnheard || !entry.isWritten
        lost.dropped[feature] = dropped
        lostIsNews = true
    }

    /// The number of the last turn of which a label that the filter shows was dropped; 0 if there is none.
    func dropped(_ filter: StreamFilter) -> UInt64 {
        lost.dropped.reduce(0) { filter.shows($1.key) || isFull ? max($0, $1.value.number) : $0 }
    }

    /// True if a label that the filter shows was dropped, and no client ever received it or its loss.
    func isUnheard(_ filter: StreamFilter) -> Bool {
        lost.dropped.contains { (filter.shows($0.key) || isFull) && $0.value.isUnheard }
    }

    private var isFull: Bool { lost.dropped.count >= Self.lostLimit }

    /// Notes that a stream's socket took the event about lost labels: no other client has to be told.
    mutating func heard(_ filter: StreamFilter) {
        for (feature, dropped) in lost.dropped where dropped.isUnheard && (filter.shows(feature) || isFull) {
            lost.dropped[feature]?.isUnheard = false
            lostIsNews = true
        }
    }

    // MARK: Changes for the journal

    /// The first stored label, if the journal has older ones.
    func newFirst(after number: UInt64) -> LabelID? {
        let first = entries.first?.label.id ?? LabelID(number: number + 1, index: 0)
        return first > toldFirst ? first : nil
    }

    mutating func told(_ batch: JournalBatch) {
        if let first = batch.firstLabel { toldFirst = max(toldFirst, first) }
        if batch.lostLabels == lost { lostIsNews = false }
        if !batch.forgottenLabels.isEmpty { forgotten.subtract(batch.forgottenLabels) }
    }

    /// Adopts the lost labels of another writer.
    mutating func adopt(_ other: LostLabels) {
        lost.hasAny = lost.hasAny || other.hasAny
        for (feature, dropped) in other.dropped where dropped.number > lost.dropped[feature]?.number ?? 0 {
            lost.dropped[feature] = dropped
        }
    }
}

extension SessionCore {
    /// Adds labels to the outbox and drops labels that exceed its limits.
    mutating func publish(_ labels: [StoredLabel], now: Moment, limits: SessionLimits, _ applied: inout Applied) {
        guard !labels.isEmpty else { return }
        for label in labels {
            outbox.append(label, expiry: now.monotonic(label.expiry))
            streams.change(showing: label.feature) { _ in }
        }
        let dropped = outbox.trim(
            now: now.monotonic, maxCount: limits.outboxLabels(of: life), maxBytes: limits.outboxBytes)
        var undelivered: [FeatureID: Int] = [:]
        for entry in dropped {
            streams.change(showing: entry.label.feature) { $0.dropped(entry) }
            if !entry.isWritten { undelivered[entry.label.feature, default: 0] += 1 }
        }
        applied.changes += undelivered.map { .undelivered(count: $1, $0) }
    }
}

extension SessionLimits {
    /// The number of labels in an outbox of a session of that class.
    func outboxLabels(of life: LifeClass) -> Int {
        life == .space ? max(outboxLabels, spaceOutboxLabels) : outboxLabels
    }
}
