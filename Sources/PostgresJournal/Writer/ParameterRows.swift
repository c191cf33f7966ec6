import MVI
import PostgreSQL
import SessionJournal

/// Rows for a statement that receives an array for each column. Each row begins with a session and its new head.
struct ParameterRows {
    private var sessions: [Int64?] = []
    private var numbers: [Int64?] = []
    private var nonces: [Int64?] = []
    private var columns: [Column]

    /// A column's values.
    enum Column {
        case int8([Int64?])
        case bytea([[UInt8]?])
        case text([String?])
        case bool([Bool?])

        static let ints = Column.int8([])
        static let bytes = Column.bytea([])
        static let texts = Column.text([])
        static let bools = Column.bool([])
    }

    /// A value of a row.
    enum Cell {
        case int8(Int64?)
        case bytea([UInt8]?)
        case text(String?)
        case bool(Bool?)

        static func bits(_ value: UInt64?) -> Cell { .int8(value.map { Int64(bitPattern: $0) }) }

        static func time(_ value: Duration) -> Cell { .int8(value.nanoseconds) }

        static func utf8(_ value: String?) -> Cell { .bytea(value.map { Array($0.utf8) }) }

        static func feature(_ value: FeatureID) -> Cell { .text(value.text) }
    }

    /// Creates empty columns of these kinds, after those of the session and its head.
    init(_ columns: Column...) { self.columns = columns }

    var isEmpty: Bool { sessions.isEmpty }

    mutating func append(_ batch: JournalBatch, _ cells: Cell...) {
        precondition(cells.count == columns.count, "a row has a cell for each column")
        sessions.append(batch.session.number)
        numbers.append(Int64(bitPattern: batch.head.number))
        nonces.append(Int64(bitPattern: batch.head.nonce))
        for (index, cell) in cells.enumerated() { columns[index].append(cell) }
    }

    /// Returns the rows' statement; nil for no rows.
    func statement(_ sql: String) -> PostgresStatement? {
        isEmpty ? nil : PostgresStatement(sql, [.int8s(sessions), .int8s(numbers), .int8s(nonces)] + values)
    }

    /// The sessions of the rows.
    var sessionValue: PostgresValue { .int8s(sessions) }

    /// The columns after the head's.
    var values: [PostgresValue] {
        columns.map { column in
            switch column {
            case .int8(let values): .int8s(values)
            case .bytea(let values): .byteas(values)
            case .text(let values): .texts(values)
            case .bool(let values): .bools(values)
            }
        }
    }
}

extension ParameterRows.Column {
    mutating func append(_ cell: ParameterRows.Cell) {
        switch (self, cell) {
        case (.int8(var values), .int8(let value)):
            self = .int8([])
            values.append(value)
            self = .int8(values)
        case (.bytea(var values), .bytea(let value)):
            self = .bytea([])
            values.append(value)
            self = .bytea(values)
        case (.text(var values), .text(let value)):
            self = .text([])
            values.append(value)
            self = .text(values)
        case (.bool(var values), .bool(let value)):
            self = .bool([])
            values.append(value)
            self = .bool(values)
        default: preconditionFailure("a cell of another kind than its column")
        }
    }
}
