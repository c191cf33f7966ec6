import MVI
import SQLite
import SessionJournal

/// The one connection that writes, with its statements and its cache. It belongs to the writer's thread.
final class JournalDatabase {
    var connection: Connection
    var cache: SessionCache
    /// The number of sessions, including spaces and the open transaction's; nil until it is read.
    var sessionCount: Int?
    /// The number of spaces, in the same way.
    var spaceCount: Int?
    /// The number of tombstones, in the same way.
    var tombstoneCount: Int?
    /// True if rows of removed sessions may remain.
    var hasGarbage = true

    /// The time for which a statement waits for another program's lock.
    static let busyTimeout: Duration = .seconds(1)

    // Frequent statements, compiled once.
    let begin: PreparedStatement
    let commit: PreparedStatement
    let updateStore: PreparedStatement
    let insertStore: PreparedStatement
    let insertLabel: PreparedStatement
    let findReceipt: PreparedStatement
    let insertReceipt: PreparedStatement
    let deleteReceipt: PreparedStatement
    let writeRecording: PreparedStatement
    let deleteRecording: PreparedStatement

    /// Opens the journal, creates it if it is missing, and updates its schema.
    ///
    /// - Throws: `JournalOpenError` if it must not be used at all; otherwise the present problem.
    init(_ files: JournalFiles, migrations: [String], cachedSessions: Int) throws {
        try files.check()
        try files.restoreLog()
        // Only its owner may read it, and SQLite gives its log the same rights. If this fails, the connection reports
        // it.
        if JournalFiles.size(of: files.database) == nil, JournalFiles.size(of: files.log) == nil {
            try? JournalFiles.makePrivate(files.database)
        }
        connection = try Connection(.file(files.database), busyTimeout: Self.busyTimeout)
        try connection.distrustSchema()
        // Before anything is read: a connection that fails now must leave the log unchanged.
        try connection.takeOverCheckpoints()
        let version = try Self.version(of: &connection, latest: migrations.count, path: files.database)
        try Self.configure(&connection, isNew: version == nil)
        try Self.migrate(&connection, from: version ?? 0, migrations)
        for table in SQLiteSchema.tables { try connection.execute("SELECT 1 FROM \(table) LIMIT 1") }
        try connection.makeSecret()
        cache = SessionCache(limit: cachedSessions)

        begin = try connection.prepare("BEGIN IMMEDIATE")
        commit = try connection.prepare("COMMIT")
        // NULL leaves a column unchanged. COALESCE reads the old value only then.
        updateStore = try connection.prepare(
            """
            UPDATE stores SET number = ?2, version = ?3, head = ?4, nonce = ?5, time = max(time, ?6), recent = ?9,
                schema = CASE WHEN ?10 IS NULL THEN schema ELSE ?7 END, state = coalesce(?10, state),
                view_intent = CASE WHEN ?11 IS NULL THEN view_intent ELSE ?8 END, view = coalesce(?11, view)
            WHERE id = ?1
            """)
        insertStore = try connection.prepare(
            """
            INSERT INTO stores (id, number, version, head, nonce, time, schema, view_intent, recent, state, view,
                feature, made, replaced)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
            """)
        insertLabel = try connection.prepare(
            """
            INSERT INTO labels (session, number, place, feature, version, intent, expiry, written, json)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        findReceipt = try connection.prepare(
            "SELECT \(Connection.receiptColumns) FROM receipts WHERE session = ?1 AND scope = ?2 AND name = ?3")
        insertReceipt = try connection.prepare(
            """
            INSERT INTO receipts (session, scope, name, number, made, intent, version, status, body_hash, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """)
        deleteReceipt = try connection.prepare(
            "DELETE FROM receipts WHERE session = ?1 AND scope = ?2 AND name = ?3")
        writeRecording = try connection.prepare(
            "INSERT OR REPLACE INTO recordings (id, number, feature, time, body) VALUES (?1, ?2, ?3, ?4, ?5)")
        deleteRecording = try connection.prepare("DELETE FROM recordings WHERE id = ?1")
    }

    /// Returns the number of migrations applied to the database; nil if it is new.
    static func version(of connection: inout Connection, latest: Int, path: String) throws -> Int? {
        func number(_ sql: String) throws -> Int64 { try connection.first(sql) { row in try row.integer(0) } ?? 0 }
        let tables = try number("SELECT count(*) FROM sqlite_master")
        let (application, version) = (try number("PRAGMA application_id"), Int(try number("PRAGMA user_version")))
        if tables == 0, application == 0, version == 0 { return nil }
        guard application == SQLiteSchema.applicationID, version >= 1 else {
            throw StoreError(
                .unavailable,
                "\(path) is a database of another program (application id \(application), version \(version)). It is unchanged; move it away or choose another folder."
            )
        }
        guard version <= latest else {
            throw JournalOpenError(
                "The journal \(path) was written by a newer version of this program: its schema is \(version), this one knows \(latest). Use that version, or another folder."
            )
        }
        return version
    }

    /// Opens a connection that only reads a journal with this program's schema.
    static func openForReading(
        _ files: JournalFiles, _ access: Connection.Access, migrations: Int = SQLiteSchema.migrations.count
    ) throws -> Connection {
        var connection = try Connection(.file(files.database), access: access, busyTimeout: .seconds(1))
        try connection.distrustSchema()
        try connection.takeOverCheckpoints()
        try connection.script("PRAGMA query_only = ON; PRAGMA cache_size = -8192; PRAGMA cell_size_check = ON")
        guard let version = try version(of: &connection, latest: migrations, path: files.database) else {
            throw StoreError(.unavailable, "The journal \(files.database) does not exist yet.")
        }
        guard version == migrations else {
            throw StoreError(
                .unavailable,
                "The journal \(files.database) has the older schema \(version): a server that opens it updates it."
            )
        }
        return connection
    }

    private static func configure(_ connection: inout Connection, isNew: Bool) throws {
        // The file system's page size. A smaller one would dirty less for an append, but not write less.
        if isNew { try connection.script("PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE") }
        let mode = try connection.first("PRAGMA journal_mode = WAL") { row in try row.text(0) }
        guard mode == "wal" else {
            throw StoreError(
                .unavailable, "The journal's file system does not support a write-ahead log: mode \(mode ?? "none").")
        }
        try connection.script(
            """
            PRAGMA synchronous = FULL;
            PRAGMA fullfsync = ON;                  -- macOS: through the disk's own cache, too
            PRAGMA checkpoint_fullfsync = ON;
            PRAGMA journal_size_limit = 67108864;   -- the log shrinks to it after a spike
            PRAGMA cache_size = -32768;             -- 32 MB: more than one transaction dirties
            PRAGMA temp_store = MEMORY;
            PRAGMA cell_size_check = ON;            -- finds damage before more is built on it
            PRAGMA foreign_keys = OFF;              -- there are none: sessions are deleted in steps
            """)
        try connection.overwriteDeletedRows()
    }

    static func migrate(_ connection: inout Connection, from version: Int, _ migrations: [String]) throws {
        for (index, migration) in migrations.enumerated().dropFirst(version) {
            try connection.transaction { connection in
                try connection.script(migration)
                try connection.script(
                    "PRAGMA application_id = \(SQLiteSchema.applicationID); PRAGMA user_version = \(index + 1)")
            }
        }
    }

    /// Rolls back the open transaction, if any: some errors have done so already. A failure leaves nothing committed
    /// either. Also drops cached changes.
    func rollback() {
        if connection.isInTransaction { _ = try? connection.execute("ROLLBACK") }
        cache = SessionCache(limit: cache.limit)
        sessionCount = nil
        spaceCount = nil
        tombstoneCount = nil
    }

    /// Commits a row with `ballast` bytes. This proves that the disk is writable and that nothing of a failed commit
    /// remains in the log, since this one has overwritten its beginning.
    func probe(ballast: Int) throws {
        do {
            try begin.run()
            try connection.execute("UPDATE probe SET count = count + 1, ballast = randomblob(?)", [.integer(ballast)])
            try commit.run()
        } catch {
            rollback()
            throw error
        }
    }
}
