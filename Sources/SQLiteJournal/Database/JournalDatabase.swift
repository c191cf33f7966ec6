import SQLite
import SessionJournal

/// The one connection that writes, with its statements. It belongs to the writer's thread.
final class JournalDatabase {
    var connection: Connection
    let statements: AppendStatements

    /// Opens the journal, makes it if it is not there, and brings its schema up to date.
    ///
    /// - Throws: `JournalOpenError` if it must not be used at all; else what is wrong with it now.
    init(_ files: JournalFiles, migrations: [String]) throws {
        try files.check()
        try files.settleLog()
        files.createIfMissing()
        connection = try Connection(.file(files.database), busyTimeout: .seconds(1))
        // Before anything is read: a connection that fails now must leave the log as it is.
        try connection.takeOverCheckpoints()
        let version = try Self.version(of: &connection, latest: migrations.count, path: files.database)
        try Self.configure(&connection, isNew: version == nil)
        try Self.migrate(&connection, from: version ?? 0, migrations)
        for table in Schema.tables { try connection.execute("SELECT 1 FROM \(table) LIMIT 1") }
        statements = try AppendStatements(&connection)
    }

    /// How many migrations the database has seen; nil if it is new.
    static func version(of connection: inout Connection, latest: Int, path: String) throws -> Int? {
        let tables = try connection.first("SELECT count(*) FROM sqlite_master") { row in try row.int(0) } ?? 0
        let application = try connection.first("PRAGMA application_id") { row in try row.integer(0) } ?? 0
        let version = try connection.first("PRAGMA user_version") { row in try row.int(0) } ?? 0
        if tables == 0, application == 0, version == 0 { return nil }
        guard application == Schema.applicationID, version >= 1 else {
            throw JournalFailure(
                .unavailable,
                "\(path) is a database of another program (application id \(application), version \(version)). It is left as it is; move it away or choose another folder."
            )
        }
        guard version <= latest else {
            throw JournalOpenError(
                "The journal \(path) was written by a newer version of this program: its schema is \(version), this one knows \(latest). Use that version, or another folder."
            )
        }
        return version
    }

    private static func configure(_ connection: inout Connection, isNew: Bool) throws {
        // A page of the file system. A smaller one would dirty less for an append, but not write less.
        if isNew { try connection.script("PRAGMA page_size = 4096") }
        let mode = try connection.first("PRAGMA journal_mode = WAL") { row in try row.text(0) }
        guard mode == "wal" else {
            throw JournalFailure(
                .unavailable, "The journal's file system cannot have a write-ahead log: mode \(mode ?? "none").")
        }
        try connection.script(
            """
            PRAGMA synchronous = FULL;
            PRAGMA fullfsync = ON;                  -- macOS: through the disk's own cache, too
            PRAGMA checkpoint_fullfsync = ON;
            PRAGMA journal_size_limit = 67108864;   -- the log shrinks to it after a spike
            PRAGMA cache_size = -32768;             -- 32 MB: more than one transaction dirties
            PRAGMA temp_store = MEMORY;
            PRAGMA secure_delete = FAST;            -- Debian's default, ON, writes pages that are free
            PRAGMA cell_size_check = ON;            -- finds damage before more is built on it
            PRAGMA foreign_keys = OFF;              -- there are none: sessions are deleted in steps
            """)
    }

    private static func migrate(_ connection: inout Connection, from version: Int, _ migrations: [String]) throws {
        for (index, migration) in migrations.enumerated().dropFirst(version) {
            try connection.transaction { connection in
                try connection.script(migration)
                try connection.script(
                    "PRAGMA application_id = \(Schema.applicationID); PRAGMA user_version = \(index + 1)")
            }
        }
    }

    // MARK: Transactions

    func begin() throws(SQLiteError) { try statements.begin.run() }

    func commit() throws(SQLiteError) { try statements.commit.run() }

    /// Undoes what is open, if anything is: some errors have done so already. A failure leaves nothing committed either.
    func rollback() {
        if connection.isInTransaction { _ = try? statements.rollback.run() }
    }

    /// Whether a commit is on the disk when it returns; else it is when a later one is. Outside of transactions only.
    ///
    /// SQLite does this when it compiles the statement, so it must not be a cached one.
    func setSynced(_ isSynced: Bool) throws(SQLiteError) {
        try connection.script(isSynced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
    }

    /// Commits a row of its own, with so much ballast: proof that the disk takes it, and that nothing of a commit that
    /// failed is left in the log, since this one was written over its beginning.
    func probe(ballast: Int) throws {
        do {
            try begin()
            try connection.execute("UPDATE probe SET count = count + 1, ballast = randomblob(?)", [.integer(ballast)])
            try commit()
        } catch {
            rollback()
            throw error
        }
    }

    /// Closes it for good: everything in the database itself, nothing beside it.
    func checkpointAndRelease() throws {
        try connection.setCheckpointOnClose(true)
        try connection.checkpoint(.truncate)
    }
}

/// Why a journal cannot be opened at all.
public struct JournalOpenError: Error, Sendable, CustomStringConvertible {
    /// A sentence for an operator.
    public let description: String

    init(_ description: String) { self.description = description }
}
