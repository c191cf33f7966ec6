import Locking
import MVI
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
        var stores: IdentifiedArray<StoreRow> = []
        /// Nil until the first recorded turn is written.
        var recordings: RecordingRows?

        init(_ rows: SessionRows, earlierHeads: EarlierHeads) {
            (head, headRow, self.earlierHeads) = (rows.head, rows.headRow, earlierHeads)
            for (row, summary) in rows.stores { stores.append(StoreRow(id: summary.feature, row: row)) }
        }

        /// Assigns a new store the first free row. There is one: `JournalBatch.fault` bounds the stores.
        func add(_ feature: FeatureID, to session: SessionKey) -> Int64 {
            let first = session.number << Int64(SQLiteSchema.placeBits)
            var isTaken = [Bool](repeating: false, count: stores.count + 1)
            for store in stores where store.row - first < stores.count { isTaken[Int(store.row - first)] = true }
            let row = first + Int64(isTaken.firstIndex(of: false) ?? stores.count)
            stores.append(StoreRow(id: feature, row: row))
            return row
        }
    }

    /// The row of a session's store.
    struct StoreRow: Identifiable {
        let id: FeatureID
        let row: Int64
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
            guard young.count >= limit else { return }
            // They have a size for each recorded turn.
            for entry in young.values { entry.recordings = nil }
            (old, young) = (young, [:])
        }
    }
}
