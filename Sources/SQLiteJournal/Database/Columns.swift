import EventStream
import MVI
import SQLite
import SessionJournal

extension SQLiteValue {
    static func time(_ time: Duration) -> SQLiteValue { .integer(time.nanoseconds) }

    /// All 64 bits of the value.
    static func bits(_ value: UInt64) -> SQLiteValue { .integer(Int64(bitPattern: value)) }
}

extension Row {
    func time(_ column: Int) throws(SQLiteError) -> Duration { .nanoseconds(try integer(column)) }

    func bits(_ column: Int) throws(SQLiteError) -> UInt64 { UInt64(bitPattern: try integer(column)) }

    /// The number of a turn. Below 2^63, so that the next number exists.
    func number(_ column: Int) throws -> UInt64 {
        let value = try integer(column)
        guard let number = UInt64(exactly: value) else {
            throw StoreError.unexpected("\(value)", "the number of a turn")
        }
        return number
    }

    /// The public id of a session, which becomes the name of a file.
    func id(_ column: Int) throws -> String {
        let text = try text(column)
        guard Epoch.isValid(text) else { throw StoreError.unexpected(text, "a session's id") }
        return text
    }

    func feature(_ column: Int) throws -> FeatureID { try FeatureID(stored: try text(column)) }
}

/// A session's previous heads, at most 15, as stored in a column. The newest head has columns of its own.
///
/// Oldest first: the distance to the next head in groups of 7 bits, lowest first, and the 8 bytes of the nonce, lowest
/// first. Usually 9 bytes a head.
package struct EarlierHeads {
    package private(set) var bytes: [UInt8]
    private var count = 0

    /// Reads a column's value.
    package init(_ bytes: [UInt8] = []) throws(StoreError) {
        self.bytes = bytes
        var end = 0
        while end < bytes.count {
            end = (bytes[end...].firstIndex { $0 < 128 } ?? bytes.count) + 9
            count += 1
        }
        guard end == bytes.count else { throw .unexpected("\(bytes)", "a list of heads") }
    }

    /// Adds the head that `new` replaces, and drops the oldest if there are too many.
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

    /// Returns all heads, with `newest` last.
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
