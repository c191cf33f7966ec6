/// The result of a statement, with its rows copied from libpq.
package struct PostgresRows: Sendable {
    /// The command that ran, such as `COMMIT` or `UPDATE`.
    package let command: String
    /// The number of changed or returned rows.
    package let affected: Int
    package let rows: [PostgresRow]

    init(command: String, affected: Int, rows: [PostgresRow]) {
        (self.command, self.affected, self.rows) = (command, affected, rows)
    }

    /// Maps each row.
    package func map<Value>(_ body: (PostgresRow) throws -> Value) rethrows -> [Value] { try rows.map(body) }

    package var first: PostgresRow? { rows.first }
}

/// A row in PostgreSQL's binary format. Columns are counted from 0. Accessors throw if the column has another type.
package struct PostgresRow: Sendable {
    let columns: [[UInt8]?]

    package var count: Int { columns.count }

    package func isNull(_ column: Int) -> Bool { columns[column] == nil }

    package func int8(_ column: Int) throws(PostgresError) -> Int64 {
        Int64(bitPattern: try number(column, count: 8, "a bigint"))
    }

    package func int4(_ column: Int) throws(PostgresError) -> Int {
        Int(Int32(truncatingIfNeeded: try number(column, count: 4, "an integer")))
    }

    package func bool(_ column: Int) throws(PostgresError) -> Bool { try number(column, count: 1, "a boolean") != 0 }

    package func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
        guard let bytes = columns[column] else { throw .unexpected("bytes, but NULL") }
        return bytes
    }

    /// A text, or a `bytea` with UTF-8.
    package func text(_ column: Int) throws(PostgresError) -> String {
        String(decoding: try bytes(column), as: UTF8.self)
    }

    package func optionalInt8(_ column: Int) throws(PostgresError) -> Int64? {
        isNull(column) ? nil : try int8(column)
    }

    package func optionalText(_ column: Int) throws(PostgresError) -> String? {
        isNull(column) ? nil : try text(column)
    }

    private func number(_ column: Int, count: Int, _ expected: String) throws(PostgresError) -> UInt64 {
        guard let bytes = columns[column], bytes.count == count else { throw .unexpected(expected) }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
