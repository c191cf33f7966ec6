/// A statement that its user keeps, for frequent use: without a cache look-up and without allocations to bind.
///
/// Parameters count from 1, as in `?1`, and keep their values until they are bound again. It belongs to its
/// connection's thread, and only one statement of a connection runs at a time. The database is closed when its
/// connection and all of its prepared statements are released.
package final class PreparedStatement {
    private let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    /// Binds an integer.
    package func bind(_ value: Int64, at index: Int32) throws(SQLiteError) { try statement.bind(value, at: index) }

    /// Binds an `Int`.
    package func bind(_ value: Int, at index: Int32) throws(SQLiteError) { try statement.bind(Int64(value), at: index) }

    /// Binds a copy of a text, or NULL for nil.
    package func bind(_ text: String?, at index: Int32) throws(SQLiteError) { try statement.bind(text, at: index) }

    /// Runs `body`, which runs the statement, with a parameter bound to `bytes`, or NULL for nil. They are not copied;
    /// afterwards the parameter is NULL.
    package func withBound<Value>(_ bytes: [UInt8]?, at index: Int32, _ body: () throws -> Value) throws -> Value {
        try statement.withBound(bytes, at: index, body)
    }

    /// Runs it to its end and returns the number of changed rows. Skips returned rows.
    @discardableResult
    package func run() throws(SQLiteError) -> Int {
        defer { statement.rewind() }
        while try statement.step() {}
        return statement.isReadOnly ? 0 : statement.changes
    }

    /// Binds a value to each parameter and runs it.
    package func run(_ values: [SQLiteValue]) throws(SQLiteError) {
        try statement.bind(values)
        try run()
    }

    /// Maps the first row, or returns nil if there is none. For statements that read.
    package func first<Value>(_ body: (borrowing Row) throws -> Value) throws -> Value? {
        defer { statement.rewind() }
        return try statement.step() ? try body(Row(statement: statement)) : nil
    }

    /// Maps each row. Runs a statement that writes to its end.
    package func all<Value>(_ body: (borrowing Row) throws -> Value) throws -> [Value] {
        defer { statement.rewind() }
        var result: [Value] = []
        while try statement.step() { result.append(try body(Row(statement: statement))) }
        return result
    }
}
