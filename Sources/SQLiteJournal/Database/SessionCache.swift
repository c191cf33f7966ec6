import SessionJournal

/// The writer's cache of recently written sessions, so that an append reads no row.
///
/// It contains committed changes and those of the open transaction; a rollback empties it. Two generations bound it:
/// entries that were not used while the young one filled are dropped.
struct SessionCache {
    final class Entry {
        var head: SessionHead
        var earlierHeads: EarlierHeads
        /// The id of the store whose row has the head; nil if the session's row has it.
        var headRow: Int64?
        /// The session's stores and their ids, ordered by id.
        var stores: [(id: Int64, feature: FeatureID)]

        init(_ rows: SessionRows, earlierHeads: EarlierHeads) {
            (head, headRow, self.earlierHeads) = (rows.head, rows.headRow, earlierHeads)
            stores = rows.stores.map { ($0.id, $0.summary.feature) }
        }

        /// Returns the id of a store, or nil.
        func id(of feature: FeatureID) -> Int64? { stores.first { $0.feature == feature }?.id }

        /// Assigns a new store the first free id. There is one: `JournalBatch.fault` bounds the stores.
        func add(_ feature: FeatureID, to session: SessionKey) -> Int64 {
            let first = session.number << Int64(SQLiteSchema.placeBits)
            let place = stores.enumerated().first { $0.element.id != first + Int64($0.offset) }?.offset ?? stores.count
            stores.insert((first + Int64(place), feature), at: place)
            return first + Int64(place)
        }
    }

    let limit: Int
    private var young: [SessionKey: Entry] = [:]
    private var old: [SessionKey: Entry] = [:]

    init(limit: Int) { self.limit = limit }

    subscript(session: SessionKey) -> Entry? {
        mutating get {
            if let entry = young[session] { return entry }
            guard let entry = old[session] else { return nil }
            self[session] = entry
            return entry
        }
        set {
            young[session] = newValue
            if newValue == nil { old[session] = nil }
            if young.count >= limit { (old, young) = (young, [:]) }
        }
    }
}
