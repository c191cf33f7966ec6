import CSQLite

/// The current row of a query, for the length of one call: it can be neither copied nor kept.
///
/// Columns count from 0. Each accessor requires one storage class and throws `mismatch` for another, instead of
/// SQLite's silent conversion, which turns "abc" into 0.
public struct Row: ~Copyable {
    let statement: Statement

    /// An integer.
    public func integer(_ column: Int) throws(SQLiteError) -> Int64 {
        let index = try index(of: column, "INTEGER") { $0 == SQLITE_INTEGER }
        return statement.integer(at: index)
    }

    /// An integer as `Int`, which has 64 bits on all supported platforms.
    public func int(_ column: Int) throws(SQLiteError) -> Int { Int(try integer(column)) }

    /// A double. Integers are converted.
    public func real(_ column: Int) throws(SQLiteError) -> Double {
        let index = try index(of: column, "REAL") { $0 == SQLITE_FLOAT || $0 == SQLITE_INTEGER }
        return statement.real(at: index)
    }

    /// Text. Invalid UTF-8 becomes U+FFFD.
    public func text(_ column: Int) throws(SQLiteError) -> String {
        let index = try index(of: column, "TEXT") { $0 == SQLITE_TEXT }
        return statement.text(at: index)
    }

    /// Bytes.
    public func blob(_ column: Int) throws(SQLiteError) -> [UInt8] {
        let index = try index(of: column, "BLOB") { $0 == SQLITE_BLOB }
        return statement.blob(at: index)
    }

    /// True if the column is NULL.
    public func isNull(_ column: Int) throws(SQLiteError) -> Bool {
        let index = try index(of: column, "any value") { _ in true }
        return statement.type(at: index) == SQLITE_NULL
    }

    /// Text, or nil for NULL.
    public func optionalText(_ column: Int) throws(SQLiteError) -> String? {
        try isNull(column) ? nil : text(column)
    }

    /// An integer, or nil for NULL.
    public func optionalInteger(_ column: Int) throws(SQLiteError) -> Int64? {
        try isNull(column) ? nil : integer(column)
    }

    /// The value of any storage class.
    package func value(_ column: Int) throws(SQLiteError) -> SQLiteValue {
        let index = try index(of: column, "any value") { _ in true }
        return switch statement.type(at: index) {
        case SQLITE_INTEGER: .integer(statement.integer(at: index))
        case SQLITE_FLOAT: .real(statement.real(at: index))
        case SQLITE_TEXT: .text(statement.text(at: index))
        case SQLITE_BLOB: .blob(statement.blob(at: index))
        default: .null
        }
    }

    private func index(
        of column: Int, _ expected: String, _ accepts: (Int32) -> Bool
    ) throws(SQLiteError) -> Int32 {
        guard column >= 0, column < Int(statement.columnCount) else {
            throw SQLiteError(
                .range, "column \(column) was requested, the row has \(statement.columnCount)", sql: statement.sql)
        }
        let index = Int32(column)
        let type = statement.type(at: index)
        guard accepts(type) else {
            let name = statement.columnName(at: index)
            throw SQLiteError(
                .mismatch, "column \(column) (\(name)) holds \(Self.name(of: type)), expected \(expected)",
                sql: statement.sql)
        }
        return index
    }

    private static func name(of type: Int32) -> String {
        switch type {
        case SQLITE_INTEGER: "INTEGER"
        case SQLITE_FLOAT: "REAL"
        case SQLITE_TEXT: "TEXT"
        case SQLITE_BLOB: "BLOB"
        default: "NULL"
        }
    }
}
