import DequeModule
import SessionJournal

/// The rows of a session's recorded turns. A new turn takes the row of the oldest one, so that an append changes one row of
/// one tree.
struct RecordingRows {
    private struct Row {
        let id: Int64
        let size: Int
    }

    /// By the turns' numbers.
    private var rows: Deque<Row> = []
    /// Unused ids between used ones.
    private var free: [Int64] = []
    private var next: Int64
    private var bytes = 0

    /// - Parameter stored: ids and sizes in bytes, in the order of the turns' numbers.
    init(_ session: SessionKey, _ stored: [(id: Int64, size: Int)]) {
        let first = session.number << Int64(SQLiteSchema.recordingBits)
        next = first
        for (id, size) in stored {
            rows.append(Row(id: id, size: size))
            (next, bytes) = (max(next, id + 1), bytes + size)
        }
        if next - first > stored.count {
            let used = Set(stored.map(\.id))
            free = (first..<next).filter { !used.contains($0) }
        }
    }

    /// Adds the newest turn. Returns the id of its row, nil if not even one of its size is kept; and those of rows to delete.
    mutating func add(_ size: Int, _ limit: RecordingLimit) -> (id: Int64?, deleted: ArraySlice<Int64>) {
        var dropped: [Int64] = []
        let isKept = limit.turns > 0 && size <= limit.bytes
        while let oldest = rows.first,
            !isKept || rows.count >= min(limit.turns, 1 << SQLiteSchema.recordingBits) || bytes > limit.bytes - size
        {
            rows.removeFirst()
            bytes -= oldest.size
            dropped.append(oldest.id)
        }
        guard isKept else {
            free += dropped
            return (nil, dropped[...])
        }
        let id: Int64
        if let oldest = dropped.first {
            id = oldest
            free += dropped.dropFirst()
        } else if let unused = free.popLast() {
            id = unused
        } else {
            id = next
            next += 1
        }
        rows.append(Row(id: id, size: size))
        bytes += size
        return (id, dropped.dropFirst())
    }
}
