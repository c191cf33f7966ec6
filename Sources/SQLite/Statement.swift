import CSQLite

/// A prepared statement: compiled once, run many times.
///
/// Pointers: `handle` is created in `init` and finalized in `deinit`, and nowhere else. It is used only through its
/// connection, which is exclusive while it runs a statement, so one thread at a time accesses it. The pointer to a text
/// or blob column is read before the next call on the statement, which invalidates it.
final class Statement {
    let sql: String
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    /// Compiles `sql`, which must be exactly one statement. `connection` must be open. Until this object is released it
    /// may only be closed by `sqlite3_close_v2`.
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
                // `tail` points into `bytes`, or is nil if nothing was compiled.
                guard let start = bytes.baseAddress, let tail else { return }
                hasMore = bytes[(tail - start)...].contains { !Self.isBlank($0) }
            }
        }
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: connection, sql: sql) }
        guard let handle else { throw SQLiteError(.misuse, "the SQL has no statement", sql: sql) }
        self.handle = handle
        guard !hasMore else {
            throw SQLiteError(.misuse, "expected one statement, found several; use `script` for these", sql: sql)
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
                // An empty string may have no address, and a null pointer would bind SQL NULL.
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

    /// Runs `body` with a parameter bound to `bytes`. They are not copied, so they are unbound before the closure's
    /// pointer becomes invalid.
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
            // A statement in the middle of its rows refuses new values and might still read the bytes.
            defer {
                sqlite3_reset(handle)
                sqlite3_bind_null(handle, index)
            }
            return try body()
        }
    }

    var changes: Int { Int(sqlite3_changes64(connection)) }

    /// Prepares the statement for the next run and keeps its values.
    func rewind() { sqlite3_reset(handle) }

    private func check(_ result: Int32) throws(SQLiteError) {
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: connection, sql: sql) }
    }

    /// Advances to the next row. Returns false if there is none.
    func step() throws(SQLiteError) -> Bool {
        let result = sqlite3_step(handle)
        switch result {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw SQLiteError(result: result, handle: connection, sql: sql)
        }
    }

    /// Prepares the statement for the next run, and releases the read lock and the bound bytes.
    func reset() {
        // Both report the failure of the previous step, which was thrown already.
        sqlite3_reset(handle)
        sqlite3_clear_bindings(handle)
    }

    func type(at index: Int32) -> Int32 { sqlite3_column_type(handle, index) }

    func integer(at index: Int32) -> Int64 { sqlite3_column_int64(handle, index) }

    func real(at index: Int32) -> Double { sqlite3_column_double(handle, index) }

    func text(at index: Int32) -> String {
        // The order matters: first the text, which may cause a conversion, then its length.
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
