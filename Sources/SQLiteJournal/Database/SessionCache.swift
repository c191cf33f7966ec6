import SessionJournal

/// What the writer remembers of sessions that it wrote to lately, so that an append reads no row.
///
/// It holds what is committed and what the open transaction did; when that is undone, all of it is forgotten. Two
/// generations bound it: what was not used while the young one filled goes.
struct SessionCache {
    final class Entry {
        var head: SessionHead
        var earlierHeads: EarlierHeads
        /// The store on whose row the head lies; nil if it lies on the session's.
        var headRow: Int64?
        /// The session's stores and their ids, in the order of the ids.
        var stores: [(id: Int64, feature: FeatureID)]

        init(_ rows: SessionRows, earlierHeads: EarlierHeads) {
            (head, headRow, self.earlierHeads) = (rows.head, rows.headRow, earlierHeads)
            stores = rows.stores.map { ($0.id, $0.summary.feature) }
        }

        /// The id of a store; nil if there is none.
        func id(of feature: FeatureID) -> Int64? { stores.first { $0.feature == feature }?.id }

        /// Gives a new store the first id that is free. There is one: `JournalBatch.fault` bounds the stores.
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
