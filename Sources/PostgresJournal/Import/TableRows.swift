import PostgreSQL

/// Rows for a table, as an array for each column.
struct TableRows {
    /// The type of a column.
    enum Kind: String {
        case ints = "bigint"
        case bytes = "bytea"
        case texts = "text"
        case bools = "boolean"

        var array: PostgresArray {
            switch self {
            case .ints: PostgresArray(.int8)
            case .bytes: PostgresArray(.bytea)
            case .texts: PostgresArray(.text)
            case .bools: PostgresArray(.bool)
            }
        }
    }

    private let table: String
    private let columns: [(name: String, kind: Kind)]
    /// The end of the insertion, which handles conflicting rows.
    private let conflict: String
    private var cells: [PostgresArray]

    init(_ table: String, _ columns: [(name: String, kind: Kind)], conflict: String = "") {
        (self.table, self.columns, self.conflict) = (table, columns, conflict)
        cells = columns.map(\.kind.array)
    }

    var count: Int { cells[0].count }

    mutating func append(_ row: [ParameterRows.Cell]) {
        precondition(row.count == columns.count, "a row has a cell for each column")
        for (index, cell) in row.enumerated() { cells[index].append(cell) }
    }

    /// Returns the insertion and removes the rows here; nil if there are none.
    mutating func take(into schema: String) -> PostgresStatement? {
        guard count > 0 else { return nil }
        let names = columns.map(\.name).joined(separator: ", ")
        let arrays = columns.enumerated().map { "$\($0.offset + 1)::\($0.element.kind.rawValue)[]" }
        let values = cells.map { PostgresValue($0) }
        cells = columns.map(\.kind.array)
        return PostgresStatement(
            """
            INSERT INTO \(schema).\(table) AS t (\(names)) OVERRIDING SYSTEM VALUE
            SELECT * FROM unnest(\(arrays.joined(separator: ", "))) \(conflict)
            """, values)
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
