import SQLite

/// The tables and their rows on the first start.
enum DemoSchema {
    /// Stored in the file as SQLite's `user_version`.
    static let version: Int64 = 1

    /// Creates and fills the tables in one transaction if the database is empty.
    static func prepare(_ connection: inout Connection) throws {
        // The write lock comes first: if two processes start at once, one fills the tables and the other waits.
        try connection.transaction { connection in
            let found = try connection.first("PRAGMA user_version") { row in try row.integer(0) } ?? 0
            if found == version { return }
            guard found == 0 else { throw UnknownSchema(found: found) }
            try connection.script(tables)
            try DemoSeed.fill(&connection)
            try connection.script("PRAGMA user_version = \(version)")
        }
    }

    private static let tables = """
        CREATE TABLE numbers (
            id INTEGER PRIMARY KEY, value INTEGER NOT NULL, uses INTEGER NOT NULL DEFAULT 0) STRICT;
        CREATE TABLE videos (
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, speaker TEXT NOT NULL, conference TEXT NOT NULL,
            seconds INTEGER NOT NULL, slug TEXT NOT NULL UNIQUE, views INTEGER NOT NULL) STRICT;
        CREATE TABLE venues (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, address TEXT NOT NULL, latitude REAL NOT NULL,
            longitude REAL NOT NULL) STRICT;
        CREATE TABLE lessons (
            id TEXT PRIMARY KEY, title TEXT NOT NULL, coach TEXT NOT NULL, level TEXT NOT NULL,
            starts_at TEXT NOT NULL, minutes INTEGER NOT NULL, cents INTEGER NOT NULL,
            venue INTEGER NOT NULL REFERENCES venues, free_places INTEGER NOT NULL, enrolled INTEGER NOT NULL) STRICT;
        CREATE TABLE confirmations (
            id INTEGER PRIMARY KEY, lesson TEXT NOT NULL REFERENCES lessons, email TEXT NOT NULL,
            sent_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP) STRICT;
        CREATE TABLE orders (
            id TEXT PRIMARY KEY, status TEXT NOT NULL, customer TEXT NOT NULL, phone TEXT NOT NULL,
            address TEXT NOT NULL, subject TEXT NOT NULL, notes TEXT, starts_at TEXT NOT NULL,
            ends_at TEXT NOT NULL, technician TEXT) STRICT;
        CREATE TABLE fee_lines (
            id INTEGER PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders, text TEXT NOT NULL,
            cents INTEGER NOT NULL) STRICT;
        CREATE INDEX fee_lines_of_order ON fee_lines (order_id);
        CREATE TABLE users (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, phone TEXT, city TEXT NOT NULL,
            plan TEXT NOT NULL, joined_at TEXT NOT NULL) STRICT;
        """
}

/// The file was written by another version of the demo.
struct UnknownSchema: Error, CustomStringConvertible {
    let found: Int64

    var description: String {
        "the demo's database has schema version \(found), this program supports \(DemoSchema.version); "
            + "move the file demo.sqlite away to start with a new one"
    }
}
