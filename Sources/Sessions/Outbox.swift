import DequeModule
import SessionJournal

/// The labels of a session that clients may still have to be told, oldest first. Bounded in number and bytes.
struct Outbox {
    /// What a label counts against the bound in bytes beside its own text: about what it takes in memory.
    @usableFromInline static let overhead = 256

    struct Entry {
        let label: StoredLabel
        /// On the monotonic clock.
        let expiry: Duration
        /// Whether some stream's socket took it.
        var isWritten: Bool
        /// The numbers of the credentials whose streams' sockets took it, as far as that is known here.
        var writtenTo: [Int] = []

        /// Whether a stream of the client took it. A client that joined after it was published is owed nothing.
        func isWritten(to credential: Credential?) -> Bool {
            guard let credential, credential.isOneOfMany else { return isWritten }
            return writtenTo.contains(credential.number) || label.id.number <= credential.joined
        }

        var size: Int { label.json.count + (label.intent?.utf8.count ?? 0) + Outbox.overhead }
    }

    private var entries: Deque<Entry> = []
    private var bytes = 0
    /// The place of the first entry; places are consecutive and never used again.
    private(set) var firstPlace: UInt64 = 0
    /// Which labels were dropped by the bound, as long as a client may have to be told.
    private(set) var lost = LostLabels()
    /// How many feature instances are told apart in `lost`: a client can make and dispose of them without end.
    private static let lostLimit = 256

    // What the journal does not know yet. It is told with the next append, and again if that fails.
    private(set) var lostIsNews = false
    /// Where the journal believes that the outbox begins.
    private var toldFirst = LabelID(number: 0, index: 0)

    /// The place that the next label will get.
    var endPlace: UInt64 { firstPlace + UInt64(entries.count) }
    var count: Int { entries.count }

    subscript(place: UInt64) -> Entry { entries[Int(place - firstPlace)] }

    init() {}

    /// An outbox as it was kept.
    init(_ labels: [StoredLabel], lost: LostLabels, monotonic: (Duration) -> Duration) {
        self.lost = lost
        for label in labels { append(label, expiry: monotonic(label.expiry)) }
        toldFirst = labels.first?.id ?? toldFirst
    }

    mutating func append(_ label: StoredLabel, expiry: Duration) {
        let entry = Entry(label: label, expiry: expiry, isWritten: label.isWritten)
        entries.append(entry)
        bytes += entry.size
    }

    /// A stream's socket took it; its name if it is kept and that is news.
    mutating func markWritten(_ place: UInt64, to credential: Credential?) -> LabelID? {
        guard place >= firstPlace, place < endPlace else { return nil }
        let index = Int(place - firstPlace)
        if let number = credential?.number, !entries[index].writtenTo.contains(number) {
            entries[index].writtenTo.append(number)
        }
        guard !entries[index].isWritten else { return nil }
        entries[index].isWritten = true
        return entries[index].label.id
    }

    /// The place of the first label after a turn, by bisection.
    func firstPlace(after number: UInt64) -> UInt64 {
        var (low, high) = (firstPlace, endPlace)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].label.id.number <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Forgets what is past its time at the front, which is no loss, and gives its memory back.
    mutating func forgetExpired(now: Duration) {
        guard let first = entries.first, first.expiry <= now else { return }
        _ = trim(now: now, maxCount: .max, maxBytes: .max)
        if entries.isEmpty { entries = [] }
    }

    /// Forgets what is past its time at the front, then drops the oldest until the bounds hold and returns those with
    /// their places: a client that was owed one of them has lost it.
    mutating func trim(now: Duration, maxCount: Int, maxBytes: Int) -> [(place: UInt64, entry: Entry)] {
        var dropped: [(place: UInt64, entry: Entry)] = []
        while let first = entries.first {
            let isExpired = first.expiry <= now
            guard isExpired || entries.count > maxCount || bytes > maxBytes else { break }
            if !isExpired {
                dropped.append((firstPlace, first))
                noteDropped(first)
            }
            if !lost.hasAny {
                lost.hasAny = true
                lostIsNews = true
            }
            entries.removeFirst()
            bytes -= first.size
            firstPlace += 1
        }
        return dropped
    }

    private mutating func noteDropped(_ entry: Entry) {
        var feature = entry.label.feature
        // Beyond the bound features share one entry: too many resets rather than too few.
        if lost.dropped[feature] == nil, lost.dropped.count >= Self.lostLimit, let other = lost.dropped.keys.first {
            feature = other
        }
        var dropped = lost.dropped[feature] ?? LostLabels.Dropped(number: 0, isUnheard: false)
        dropped.number = entry.label.id.number
        dropped.isUnheard = dropped.isUnheard || !entry.isWritten
        lost.dropped[feature] = dropped
        lostIsNews = true
    }

    /// The number of the last turn of which a label was dropped that the filter shows; 0 if none was.
    func dropped(_ filter: StreamFilter) -> UInt64 {
        lost.dropped.reduce(0) { filter.shows($1.key) || isFull ? max($0, $1.value.number) : $0 }
    }

    /// Whether a label was dropped that the filter shows and that no client was ever sent or told of.
    func isUnheard(_ filter: StreamFilter) -> Bool {
        lost.dropped.contains { (filter.shows($0.key) || isFull) && $0.value.isUnheard }
    }

    private var isFull: Bool { lost.dropped.count >= Self.lostLimit }

    /// A stream's socket took the event that labels are lost: no other client need be told.
    mutating func heard(_ filter: StreamFilter) {
        for (feature, dropped) in lost.dropped where dropped.isUnheard && (filter.shows(feature) || isFull) {
            lost.dropped[feature]?.isUnheard = false
            lostIsNews = true
        }
    }

    // MARK: What the journal is told

    /// The first label that is kept, if the journal believes that there are older ones.
    func newFirst(after number: UInt64) -> LabelID? {
        guard firstPlace > 0 else { return nil }
        let first = entries.first?.label.id ?? LabelID(number: number + 1, index: 0)
        return first > toldFirst ? first : nil
    }

    mutating func told(first: LabelID?, lost told: LostLabels?) {
        if let first { toldFirst = max(toldFirst, first) }
        if told == lost { lostIsNews = false }
    }

    /// Another writer's.
    mutating func adopt(_ other: LostLabels) {
        lost.hasAny = lost.hasAny || other.hasAny
        for (feature, dropped) in other.dropped where dropped.number > lost.dropped[feature]?.number ?? 0 {
            lost.dropped[feature] = dropped
        }
    }
}
