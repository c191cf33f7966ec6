import PostgreSQL

/// Rows for a table, as an array for each column.
struct TableRows {
    private let table: RowTable
    private var cells: [PostgresArray]

    init(_ table: RowTable) {
        self.table = table
        cells = Self.empty(table)
    }

    private static func empty(_ table: RowTable) -> [PostgresArray] {
        [PostgresArray(.int8)] + table.columns.map { PostgresArray($0.kind) }
    }

    var count: Int { cells[0].count }

    /// Appends a row. Its first cell is the session's key.
    mutating func append(_ row: [ParameterRows.Cell]) {
        precondition(row.count == cells.count, "a row has a cell for each column")
        for (index, cell) in row.enumerated() { cells[index].append(cell) }
    }

    /// Returns the insertion and removes the rows here; nil if there are none.
    mutating func take(into schema: String) -> PostgresStatement? {
        guard count > 0 else { return nil }
        defer { cells = Self.empty(table) }
        return PostgresStatement(table.insertion(into: schema), cells.map { PostgresValue($0) })
    }
}

extension ParameterRows.Cell {
    /// The approximate size in a message, in bytes.
    var size: Int {
        switch self {
        case .bytea(let value): 4 + (value?.count ?? 0)
        case .text(let value): 4 + (value?.utf8.count ?? 0)
        case .int8: 12
        case .bool: 5
        }
    }
}
