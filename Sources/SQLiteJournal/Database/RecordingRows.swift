import DequeModule
import SQLite
import SessionJournal

/// The rows of a session's recorded turns. A new turn takes the row of the oldest one, so that it changes one row of
/// one tree. Bodies are padded with spaces: one of the same length is overwritten in place, another one makes SQLite divide
/// its page anew, with those beside it.
struct RecordingRows {
    struct Row {
        let id: Int64
        /// The size of the body in bytes.
        let size: Int
    }

    /// A row in half the memory, since there may be hundreds for each of thousands of sessions.
    private struct Place {
        let number: UInt32
        let size: UInt32
    }

    /// Bodies have a multiple of this number of bytes, unless the limit is too small for padding.
    private static func unit(_ limit: RecordingLimit) -> Int { limit.bytes < 16_384 ? 1 : 64 }

    /// By the turns' numbers.
    private var places: Deque<Place> = []
    /// Unused places between used ones.
    private var free: [UInt32] = []
    private var next: UInt32 = 0
    private var bytes = 0
    /// The id of the first place.
    private let first: Int64

    /// - Parameter stored: in the order of the turns' numbers.
    init(_ session: SessionKey, _ stored: [Row]) {
        first = session.number << Int64(SQLiteSchema.recordingBits)
        for row in stored {
            let place = Place(number: UInt32(truncatingIfNeeded: row.id - first), size: UInt32(clamping: row.size))
            places.append(place)
            (next, bytes) = (max(next, place.number + 1), bytes + row.size)
        }
        if next > stored.count {
            let used = Set(places.map(\.number))
            free = (0..<next).filter { !used.contains($0) }
        }
    }

    /// Adds the newest turn. Returns its row, nil if not even one of its size is kept; and the ids of rows to delete.
    mutating func add(_ recording: Int, _ limit: RecordingLimit) -> (row: Row?, deleted: [Int64]) {
        var dropped: [Place] = []
        let unit = Self.unit(limit)
        var size = (recording + unit - 1) / unit * unit
        if size > limit.bytes { size = recording }
        let isKept = limit.turns > 0 && size <= limit.bytes
        while let oldest = places.first,
            !isKept || places.count >= min(limit.turns, 1 << SQLiteSchema.recordingBits) || bytes > limit.bytes - size
        {
            places.removeFirst()
            bytes -= Int(oldest.size)
            dropped.append(oldest)
        }
        let reused = isKept ? dropped.first : nil
        let deleted = dropped.dropFirst(reused == nil ? 0 : 1)
        free += deleted.map(\.number)
        let ids = deleted.map { first + Int64($0.number) }
        guard isKept else { return (nil, ids) }
        let number: UInt32
        if let reused {
            number = reused.number
            // One unit more is a small price for the same length.
            if reused.size == size + unit, bytes <= limit.bytes - size - unit { size += unit }
        } else if let unused = free.popLast() {
            number = unused
        } else {
            number = next
            next += 1
        }
        places.append(Place(number: number, size: UInt32(clamping: size)))
        bytes += size
        return (Row(id: first + Int64(number), size: size), ids)
    }

    /// A body without its padding. A recording is a JSON object.
    static func recording(_ body: [UInt8]) -> [UInt8] {
        guard let last = body.lastIndex(where: { $0 != UInt8(ascii: " ") }), last < body.count - 1 else { return body }
        return Array(body[...last])
    }
}

extension JournalDatabase {
    /// Adds recordings, inside an open transaction; none for a session that is gone.
    func record(_ recordings: SessionRecordings) throws {
        guard let entry = try entry(of: recordings.session) else { return }
        var rows =
            try entry.recordings.take() ?? RecordingRows(recordings.session, recordingRows(of: recordings.session))
        for turn in recordings.turns {
            let (row, deleted) = rows.add(turn.recording.count, recordings.limit)
            for id in deleted {
                try deleteRecording.bind(id, at: 1)
                try deleteRecording.run()
            }
            guard let row else { continue }
            try writeRecording.bind(row.id, at: 1)
            try writeRecording.bind(Int64(bitPattern: turn.number), at: 2)
            try writeRecording.bind(turn.feature.text, at: 3)
            try writeRecording.bind(turn.time.nanoseconds, at: 4)
            let padding = repeatElement(UInt8(ascii: " "), count: row.size - turn.recording.count)
            _ = try writeRecording.withBound(turn.recording + padding, at: 5) { try writeRecording.run() }
        }
        entry.recordings = rows
    }

    private func recordingRows(of session: SessionKey) throws -> [RecordingRows.Row] {
        try connection.query(
            "SELECT id, length(body) FROM recordings WHERE \(Connection.recordingsOfSession) ORDER BY number",
            [.integer(session.number)]
        ) { row in RecordingRows.Row(id: try row.integer(0), size: Int(try row.integer(1))) }
    }
}
