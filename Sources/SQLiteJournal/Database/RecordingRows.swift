import DequeModule
import SessionJournal

/// The rows of a session's recorded turns. A new turn takes the row of the oldest one, so that an append changes one row of
/// one tree. Bodies are padded with spaces: one of the same length is overwritten in place, another one makes SQLite divide
/// its page anew, with those beside it.
struct RecordingRows {
    struct Row {
        let id: Int64
        /// The size of the body in bytes.
        let size: Int
    }

    /// Bodies have a multiple of this number of bytes, unless the limit is too small for padding.
    private static func unit(_ limit: RecordingLimit) -> Int { limit.bytes < 16_384 ? 1 : 64 }

    /// By the turns' numbers.
    private var rows: Deque<Row> = []
    /// Unused ids between used ones.
    private var free: [Int64] = []
    private var next: Int64
    private var bytes = 0

    /// - Parameter stored: in the order of the turns' numbers.
    init(_ session: SessionKey, _ stored: [Row]) {
        let first = session.number << Int64(SQLiteSchema.recordingBits)
        next = first
        for row in stored {
            rows.append(row)
            (next, bytes) = (max(next, row.id + 1), bytes + row.size)
        }
        if next - first > stored.count {
            let used = Set(stored.map(\.id))
            free = (first..<next).filter { !used.contains($0) }
        }
    }

    /// Adds the newest turn. Returns its row, nil if not even one of its size is kept; and the ids of rows to delete.
    mutating func add(_ recording: Int, _ limit: RecordingLimit) -> (row: Row?, deleted: ArraySlice<Int64>) {
        var dropped: [Int64] = []
        let unit = Self.unit(limit)
        var size = (recording + unit - 1) / unit * unit
        if size > limit.bytes { size = recording }
        var oldSize = 0
        let isKept = limit.turns > 0 && size <= limit.bytes
        while let oldest = rows.first,
            !isKept || rows.count >= min(limit.turns, 1 << SQLiteSchema.recordingBits) || bytes > limit.bytes - size
        {
            rows.removeFirst()
            bytes -= oldest.size
            if dropped.isEmpty { oldSize = oldest.size }
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
        // One unit more is a small price for the same length.
        if oldSize == size + unit, bytes <= limit.bytes - oldSize { size = oldSize }
        let row = Row(id: id, size: size)
        rows.append(row)
        bytes += size
        return (row, dropped.dropFirst())
    }

    /// A body without its padding. A recording is a JSON object.
    static func recording(_ body: [UInt8]) -> [UInt8] {
        guard let last = body.lastIndex(where: { $0 != UInt8(ascii: " ") }), last < body.count - 1 else { return body }
        return Array(body[...last])
    }
}
