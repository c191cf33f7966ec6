import MVI
import PostgreSQL
import SessionJournal

/// Rows for a statement that receives an array for each column. Each row begins with a session and its new head.
struct ParameterRows {
    private var sessions = PostgresArray(.int8)
    private var numbers = PostgresArray(.int8)
    private var nonces = PostgresArray(.int8)
    private var columns: [PostgresArray]

    /// A value of a row. A text may be a `bytea`, in UTF-8.
    enum Cell {
        case int8(Int64?)
        case bytea([UInt8]?)
        case text(String?)
        case bool(Bool?)

        static func bits(_ value: UInt64?) -> Cell { .int8(value.map { Int64(bitPattern: $0) }) }

        static func time(_ value: Duration) -> Cell { .int8(value.nanoseconds) }

        static func utf8(_ value: String?) -> Cell { .text(value) }

        static func feature(_ value: FeatureID) -> Cell { .text(value.text) }
    }

    /// Creates empty columns of these kinds, after those of the session and its head.
    init(_ columns: PostgresArray.Kind...) { self.columns = columns.map { PostgresArray($0) } }

    init(_ table: RowTable) { columns = table.columns.map { PostgresArray($0.kind) } }

    var isEmpty: Bool { sessions.count == 0 }

    mutating func append(_ batch: JournalBatch, _ cells: Cell...) { append(batch, cells) }

    mutating func append(_ batch: JournalBatch, _ cells: [Cell]) {
        precondition(cells.count == columns.count, "a row has a cell for each column")
        sessions.append(batch.session.number)
        numbers.append(Int64(bitPattern: batch.head.number))
        nonces.append(Int64(bitPattern: batch.head.nonce))
        for (index, cell) in cells.enumerated() { columns[index].append(cell) }
    }

    /// Returns the rows' statement; nil for no rows.
    func statement(_ sql: String) -> PostgresStatement? {
        isEmpty
            ? nil : PostgresStatement(sql, [sessionValue, PostgresValue(numbers), PostgresValue(nonces)] + values)
    }

    /// The sessions of the rows.
    var sessionValue: PostgresValue { PostgresValue(sessions) }

    /// The columns after the head's. One without values is empty: `unnest` then returns NULL for each row.
    var values: [PostgresValue] {
        columns.map { PostgresValue($0.nullCount == $0.count ? PostgresArray($0.kind) : $0) }
    }

    /// The sessions, the expected heads in the first two columns, the new heads, and the other columns.
    var headValues: [PostgresValue] {
        [sessionValue] + values[..<2] + [PostgresValue(numbers), PostgresValue(nonces)] + values[2...]
    }
}

extension PostgresArray {
    mutating func append(_ cell: ParameterRows.Cell) {
        switch cell {
        case .int8(let value): append(value)
        case .bytea(let value): append(value)
        case .text(let value): append(value?.utf8)
        case .bool(let value): append(value)
        }
    }
}
