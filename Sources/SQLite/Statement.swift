import CSQLite

/// A prepared statement: compiled once, run many times.
///
/// Pointers: `handle` is made in `init` and finalized in `deinit`, and nowhere else. It is used only through the
/// connection that made it, which is exclusive while it runs a statement, so one thread at a time touches it. A text
/// or blob column's pointer is read before the next call on the statement, which is what ends its life.
final class Statement {
    let sql: String
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    /// Compiles `sql`, which must be exactly one statement. `connection` must be open, and may be closed by
    /// `sqlite3_close_v2` only before this object is gone, never freed.
    init(_ sql: String, on connection: OpaquePointer) throws(SQLiteError) {
        self.sql = sql
        self.connection = connection
        var handle: OpaquePointer?
        var result = SQLITE_OK
        var hasMore = false
        var text = sql
        text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { bytes in
                var tail: UnsafePointer<CChar>?
                result = sqlite3_prepare_v3(
                    connection, bytes.baseAddress, Int32(bytes.count), UInt32(SQLITE_PREPARE_PERSISTENT), &handle,
                    &tail)
                // `tail` points into `bytes`, or is nil where nothing was compiled.
                guard let start = bytes.baseAddress, let tail else { return }
                hasMore = bytes[(tail - start)...].contains { !Self.isBlank($0) }
            }
        }
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: connection, sql: sql) }
        guard let handle else { throw SQLiteError(.misuse, "there is no statement in this SQL", sql: sql) }
        self.handle = handle
        guard !hasMore else {
            throw SQLiteError(.misuse, "one statement was expected, more follow; use `script` for several", sql: sql)
        }
    }

    deinit { sqlite3_finalize(handle) }

    var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

    var columnCount: Int32 { sqlite3_column_count(handle) }

    func bind(_ values: [SQLiteValue]) throws(SQLiteError) {
        let expected = Int(sqlite3_bind_parameter_count(handle))
        guard values.count == expected else {
            throw SQLiteError(.misuse, "\(values.count) values were given for \(expected) parameters", sql: sql)
        }
        var index: Int32 = 0
        for value in values {
            index += 1
            let result = bind(value, at: index)
            guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: connection, sql: sql) }
        }
    }

    private func bind(_ value: SQLiteValue, at index: Int32) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(handle, index)
        case .integer(let integer): return sqlite3_bind_int64(handle, index, integer)
        case .real(let real): return sqlite3_bind_double(handle, index, real)
        case .text(var text):
            return text.withUTF8 { bytes in
                // An empty string may have no address, and NULL would bind SQL NULL.
                guard let start = bytes.baseAddress else { return csqlite_bind_text_copy(handle, index, "", 0) }
                return start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
                    csqlite_bind_text_copy(handle, index, $0, UInt64(bytes.count))
                }
            }
        case .blob(let blob):
            return blob.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress, !bytes.isEmpty else {
                    return sqlite3_bind_zeroblob(handle, index, 0)
                }
                return csqlite_bind_blob_copy(handle, index, start, UInt64(bytes.count))
            }
        }
    }

    func bind(_ integer: Int64, at index: Int32) throws(SQLiteError) {
        try check(sqlite3_bind_int64(handle, index, integer))
    }

    func bind(_ text: String?, at index: Int32) throws(SQLiteError) {
        try check(bind(SQLiteValue(text), at: index))
    }

    /// Runs `body` while a parameter is `bytes`, which are not copied: SQLite reads them where they are, so they are
    /// unbound before the pointer's life ends with the closure.
    func withBound<Value>(_ bytes: [UInt8]?, at index: Int32, _ body: () throws -> Value) throws -> Value {
        guard let bytes else {
            try check(sqlite3_bind_null(handle, index))
            return try body()
        }
        return try bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, !bytes.isEmpty else {
                try check(sqlite3_bind_zeroblob(handle, index, 0))
                return try body()
            }
            // The destructor nil is SQLITE_STATIC.
            try check(sqlite3_bind_blob64(handle, index, start, UInt64(bytes.count), nil))
            // A statement that stands on a row refuses to be bound, and might still look at the bytes.
            defer {
                sqlite3_reset(handle)
                sqlite3_bind_null(handle, index)
            }
            return try body()
        }
    }

    var changes: Int { Int(sqlite3_changes64(connection)) }

    /// Makes it ready for the next run; its values stay.
    func rewind() { sqlite3_reset(handle) }

    private func check(_ result: Int32) throws(SQLiteError) {
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: connection, sql: sql) }
    }

    /// Goes on to the next row; false when there is none.
    func step() throws(SQLiteError) -> Bool {
        let result = sqlite3_step(handle)
        switch result {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw SQLiteError(result: result, handle: connection, sql: sql)
        }
    }

    /// Makes it ready for the next run, and lets go of the read lock and of the bound bytes.
    func reset() {
        // Both report the failure of the step before, which was thrown already.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    func type(at index: Int32) -> Int32 { sqlite3_column_type(handle, index) }

    func integer(at index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

    func real(at index: Int32) -> Double { sqlite3_column_double(handle, index) }

    func text(at index: Int32) -> String {
        // The order matters: the text first, since asking for it may convert, then its length.
        guard let start = sqlite3_column_text(handle, index) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, index))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    func blob(at index: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(handle, index) else { return [] }
        let count = Int(sqlite3_column_bytes(handle, index))
        return Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func columnName(at index: Int32) -> String {
        sqlite3_column_name(handle, index).map { String(cString: $0) } ?? "?"
    }

    private static func isBlank(_ byte: CChar) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d || byte == 0x3b
    }
}
