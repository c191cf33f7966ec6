import CSQLite

/// The write-ahead log, https://sqlite.org/wal.html, and copies of the whole database.
extension Connection {
    /// Disables automatic checkpoints, after commits and when the database is closed. Only `checkpoint` copies the log.
    package mutating func takeOverCheckpoints() throws(SQLiteError) {
        try setCheckpointOnClose(false)
        logLength = LogLength(on: handle)
    }

    /// Sets whether closing the last connection copies the log into the database and removes it.
    package mutating func setCheckpointOnClose(_ does: Bool) throws(SQLiteError) {
        let result = csqlite_set_checkpoint_on_close(handle, does ? 1 : 0)
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: handle) }
    }

    /// Disables the triggers and views of the file's schema, which another program may have written, and functions and
    /// virtual tables that are unsafe in a schema.
    package mutating func distrustSchema() throws(SQLiteError) {
        let result = csqlite_distrust_schema(handle)
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: handle) }
    }

    /// Has deleted rows overwritten in the file: `secure_delete` overwrites them where they are, and pages that become
    /// free; the copies that moved rows leave in unused parts of pages are overwritten whenever a page is written to the
    /// file, until it has 2^24 pages.
    ///
    /// The log may still have them, and this connection's memory may write them to the log again.
    package mutating func overwriteDeletedRows() throws {
        try script("PRAGMA secure_delete = ON")
        let isPlain = try first("PRAGMA auto_vacuum") { row in try row.int(0) } == 0
        guard isPlain, let size = try first("PRAGMA page_size", [], { row in try row.int(0) }) else { return }
        let result = csqlite_clear_unused_parts(handle, Int32(size))
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: handle) }
    }

    /// The number of log pages after this connection's last commit or checkpoint; 0 before `takeOverCheckpoints`.
    package var logPages: Int { logLength?.pages ?? 0 }

    /// Copies the log into the database.
    ///
    /// - Throws: `busy` if `restart` or `truncate` timed out waiting for readers; pages copied by then stay copied.
    @discardableResult
    package mutating func checkpoint(_ kind: CheckpointKind) throws(SQLiteError) -> CheckpointProgress {
        var pages: Int32 = 0
        var copied: Int32 = 0
        let result = sqlite3_wal_checkpoint_v2(handle, nil, kind.mode, &pages, &copied)
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: handle) }
        return CheckpointProgress(pages: max(0, Int(pages)), copied: max(0, Int(copied)))
    }

    /// Sets the time for which a statement waits for another connection's lock.
    package mutating func setBusyTimeout(_ timeout: Duration) { sqlite3_busy_timeout(handle, timeout.milliseconds) }

    /// Copies a snapshot of this database into `target`, which must be open for writing
    /// (https://sqlite.org/backup.html). Blocks on the disks.
    package mutating func backUp(to target: inout Connection) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(target.handle, "main", handle, "main") else {
            throw SQLiteError(result: sqlite3_errcode(target.handle), handle: target.handle)
        }
        let result = sqlite3_backup_step(backup, -1)
        sqlite3_backup_finish(backup)
        guard result == SQLITE_DONE else { throw SQLiteError(result: result, handle: target.handle) }
    }
}
