import MVI
import SQLite
import SessionJournal

extension SQLiteValue {
    static func time(_ time: Duration) -> SQLiteValue { .integer(time.nanoseconds) }

    /// All 64 bits.
    static func bits(_ value: UInt64) -> SQLiteValue { .integer(Int64(bitPattern: value)) }
}

extension Row {
    func time(_ column: Int) throws(SQLiteError) -> Duration { .nanoseconds(try integer(column)) }

    func bits(_ column: Int) throws(SQLiteError) -> UInt64 { UInt64(bitPattern: try integer(column)) }

    func feature(_ column: Int) throws -> FeatureID { try FeatureID(stored: try text(column)) }
}

/// The heads before a session's newest one as they lie in a column, at most 15: it has columns of its own.
///
/// Oldest first, of each the distance to the next one in groups of 7 bits, the lowest first, and the 8 bytes of its
/// nonce, the lowest first. Mostly 9 bytes a head.
package struct EarlierHeads {
    package private(set) var bytes: [UInt8]
    private var count = 0

    /// What a column holds.
    package init(_ bytes: [UInt8] = []) throws(StoreError) {
        self.bytes = bytes
        var end = 0
        while end < bytes.count {
            end = (bytes[end...].firstIndex { $0 < 128 } ?? bytes.count) + 9
            count += 1
        }
        guard end == bytes.count else { throw .unexpected("\(bytes)", "a list of heads") }
    }

    /// Adds the head that `new` takes the place of; one too many at the other end goes.
    package mutating func append(_ old: SessionHead, before new: SessionHead) {
        count += 1
        if count == SessionHead.remembered, let end = bytes.firstIndex(where: { $0 < 128 }) {
            bytes.removeFirst(end + 9)
            count -= 1
        }
        var distance = new.number &- old.number
        while distance > 127 {
            bytes.append(UInt8(truncatingIfNeeded: distance) | 128)
            distance >>= 7
        }
        bytes.append(UInt8(distance))
        for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: old.nonce >> shift)) }
    }

    /// All heads, `newest` the last.
    package func heads(before newest: SessionHead) -> [SessionHead] {
        var older: [(distance: UInt64, nonce: UInt64)] = []
        var rest = bytes[...]
        while let last = rest.firstIndex(where: { $0 < 128 }) {
            let nonce = rest[(last + 1)...].prefix(8)
            let distance = rest[...last].reversed().reduce(0) { $0 << 7 | UInt64($1 & 127) }
            older.append((distance, nonce.reversed().reduce(0) { $0 << 8 | UInt64($1) }))
            rest = rest[nonce.endIndex...]
        }
        var heads = [newest]
        for (distance, nonce) in older.reversed() {
            heads.append(SessionHead(number: heads[heads.count - 1].number &- distance, nonce: nonce))
        }
        return heads.reversed()
    }
}
