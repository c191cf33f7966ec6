import MVI
import SQLite
import SessionJournal

extension Connection {
    /// Copies the rows of a backup into this database's empty tables, which this program made. Nothing else of the backup's
    /// schema is copied: its triggers, views, indexes and other tables could run or keep anything.
    mutating func copyRows(from backup: inout Connection) throws {
        let tables = try query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'") {
            row in
            try row.text(0)
        }
        for table in tables {
            let kind = try backup.first(
                "SELECT type FROM pragma_table_list WHERE schema = 'main' AND name = ?", [.text(table)]
            ) { row in try row.text(0) }
            // Rows of a view or a virtual table come from elsewhere.
            guard kind == "table" else { throw StoreError(.invalid, "The backup has no table \(table). Use another.") }
            // Without generated columns. Not quoted: SQLite takes a quoted name of a missing column for a text.
            let names = try query("SELECT name FROM pragma_table_info(?)", [.text(table)]) { row in try row.text(0) }
            let columns = names.joined(separator: ", ")
            try execute("DELETE FROM \(table)")
            let insert = try prepare(
                "INSERT INTO \(table) (\(columns)) VALUES (\(names.map { _ in "?" }.joined(separator: ", ")))")
            _ = try backup.query("SELECT \(columns) FROM \(table)") { row -> Void in
                var values: [SQLiteValue] = []
                for column in names.indices { values.append(try row.value(column)) }
                try insert.run(values)
            }
        }
        // No key is used again.
        let last = try backup.first("SELECT seq FROM sqlite_sequence WHERE name = 'sessions'") { row in
            try row.integer(0)
        }
        try execute("DELETE FROM sqlite_sequence WHERE name = 'sessions'")
        try execute(
            "INSERT INTO sqlite_sequence SELECT 'sessions', max(?, coalesce(max(key), 0)) FROM sessions",
            [.integer(last ?? 0)])
    }
}
