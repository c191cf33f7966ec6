import PostgreSQL

/// A table with rows of sessions: the texts that write and read them follow from its columns.
struct RowTable: Sendable {
    typealias Column = (name: String, kind: PostgresArray.Kind)

    let name: String
    /// The columns after the session's key.
    let columns: [Column]
    /// The order in which a session's rows are read.
    let order: String
    /// True if its rows have partitions by era, which are dropped as a whole.
    let hasEras: Bool
    let key: String
    /// The column in whose order many rows of a removed session are deleted, and a value that none exceeds; nil if they
    /// are deleted together.
    let pages: (column: String, end: String)?
    /// The end of the insertion, which handles conflicting rows.
    let conflict: String

    /// - Parameters:
    ///   - columns: Names, each after its type, such as `int8 number`.
    ///   - key: The column of the session's key; nil for rows without one.
    init(
        _ name: String, _ columns: String, order: String = "", hasEras: Bool = false, key: String = "session",
        pages: (column: String, end: String)? = nil, conflict: String = ""
    ) {
        (self.name, self.order, self.hasEras, self.key, self.conflict) = (name, order, hasEras, key, conflict)
        self.pages = pages
        self.columns = columns.split(separator: ", ").map { column in
            let words = column.split(separator: " ")
            guard let kind = PostgresArray.Kind(name: words[0]), words.count == 2 else {
                preconditionFailure("'\(column)' is not a column")
            }
            return (String(words[1]), kind)
        }
    }

    /// The columns that `RowKind.read` expects, of a table with an alias.
    func selection(_ alias: String) -> String { columns.map { "\(alias).\($0.name)" }.joined(separator: ", ") }

    /// Returns the insertion of rows that come as an array for each column.
    ///
    /// - Parameter committed: The condition of rows of an append, which have their session's new head.
    func insertion(into schema: String, committed: String? = nil) -> String {
        let own = [(name: key, kind: PostgresArray.Kind.int8)] + columns
        let head: [Column] = committed == nil ? [] : [("head", .int8), ("nonce", .int8)]
        let given = own[..<1] + head + own[1...]
        let arrays = given.enumerated().map { "$\($0.offset + 1)::\($0.element.kind)[]" }.joined(separator: ", ")
        let names = own.map(\.name)
        return """
            INSERT INTO \(schema).\(name) AS t (\((hasEras ? ["era"] : []) + names, separator: ", "))
            OVERRIDING SYSTEM VALUE
            SELECT \((hasEras ? [Statements.era] : []) + names.map { "i.\($0)" }, separator: ", ")
            FROM unnest(\(arrays)) AS i (\(given.map(\.name), separator: ", ")) \(committed ?? "") \(conflict)
            """
    }
}

extension DefaultStringInterpolation {
    fileprivate mutating func appendInterpolation(_ parts: [String], separator: String) {
        appendInterpolation(parts.joined(separator: separator))
    }
}

extension PostgresArray.Kind {
    fileprivate init?(name: some StringProtocol) {
        switch name {
        case "bool": self = .bool
        case "bytea": self = .bytea
        case "int8": self = .int8
        case "int4": self = .int4
        case "text": self = .text
        default: return nil
        }
    }
}
