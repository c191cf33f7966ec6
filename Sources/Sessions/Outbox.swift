import DequeModule
import MVI
import SessionJournal

/// What a label counts against the bounds in bytes beside its own text: about what surrounds it on the wire.
@usableFromInline let labelOverhead = 128

/// The labels of a session that clients may still have to be told, oldest first. Bounded in number and bytes.
struct Outbox {
    struct Entry {
        let feature: FeatureID
        /// Of the turn that published it.
        let sequence: UInt64
        /// Which of that turn's labels it is.
        let index: Int
        /// The store's version after that turn.
        let version: UInt64
        /// The intent that led to it; nil when none did.
        let intentID: IntentID?
        let json: [UInt8]
        /// On the monotonic clock.
        let expiry: Duration
        /// Whether some stream's socket took it.
        var isWritten = false

        var id: LabelID { LabelID(sequence: sequence, index: index) }

        /// What it counts against the bound in bytes: the text, and about what surrounds it on the wire.
        var size: Int { json.count + labelOverhead }
    }

    private var entries: Deque<Entry> = []
    private var bytes = 0
    /// The number of the first entry; numbers are consecutive and never used again.
    private(set) var firstNumber: UInt64 = 0

    /// The number that the next label will get.
    var endNumber: UInt64 { firstNumber + UInt64(entries.count) }
    var count: Int { entries.count }

    subscript(number: UInt64) -> Entry { entries[Int(number - firstNumber)] }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        bytes += entry.size
    }

    /// The first label that is kept, or what comes after all that ever were.
    func firstID(after sequence: UInt64) -> LabelID { entries.first?.id ?? LabelID(sequence: sequence + 1, index: 0) }

    /// A stream's socket took it; its name if it is kept and that is news.
    mutating func markWritten(_ number: UInt64) -> LabelID? {
        guard number >= firstNumber, number < endNumber else { return nil }
        let place = Int(number - firstNumber)
        guard !entries[place].isWritten else { return nil }
        entries[place].isWritten = true
        return entries[place].id
    }

    /// Forgets what is past its time at the front, which nobody loses, and gives its memory back.
    mutating func forgetExpired(now: Duration) {
        guard let first = entries.first, first.expiry <= now else { return }
        _ = trim(now: now, maxCount: .max, maxBytes: .max)
        if entries.isEmpty { entries = [] }
    }

    /// Forgets what is past its time at the front, which nobody loses, then drops the oldest until the bounds hold and
    /// returns those with their numbers: whoever was owed one of them has lost it.
    mutating func trim(now: Duration, maxCount: Int, maxBytes: Int) -> [(number: UInt64, entry: Entry)] {
        var dropped: [(number: UInt64, entry: Entry)] = []
        while let first = entries.first {
            let isExpired = first.expiry <= now
            guard isExpired || entries.count > maxCount || bytes > maxBytes else { break }
            if !isExpired { dropped.append((firstNumber, first)) }
            entries.removeFirst()
            bytes -= first.size
            firstNumber += 1
        }
        return dropped
    }
}

extension Outbox.Entry {
    /// A label as it was kept.
    init(_ stored: StoredLabel, expiry: Duration) {
        self.init(
            feature: stored.feature, sequence: stored.id.sequence, index: stored.id.index,
            version: stored.label.version, intentID: stored.label.intent.map { IntentID($0) }, json: stored.label.json,
            expiry: expiry, isWritten: stored.isWritten)
    }
}
