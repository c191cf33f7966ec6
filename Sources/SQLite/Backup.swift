import CSQLite

/// A copy of a database in the making, https://sqlite.org/backup.html.
///
/// Between two steps its connection may read and write; what it writes goes into the copy, too.
///
/// Pointers: `handle` is made in `Connection.backup(to:)` and given back in `deinit`, before the target's connection is
/// closed. It uses the source's handle, so it must go before the source does, and must be used on the source's thread.
public final class Backup {
    private let handle: OpaquePointer
    private let target: Connection

    init(from source: OpaquePointer, to target: consuming Connection) throws(SQLiteError) {
        let targetHandle = target.handle
        guard let handle = sqlite3_backup_init(targetHandle, "main", source, "main") else {
            throw SQLiteError(result: sqlite3_errcode(targetHandle), handle: targetHandle)
        }
        self.handle = handle
        self.target = target
    }

    // The target is closed after this ran.
    deinit { sqlite3_backup_finish(handle) }

    /// Copies some pages; says whether the copy is complete.
    public func step(pages: Int32) throws(SQLiteError) -> Bool {
        let result = sqlite3_backup_step(handle, pages)
        switch result {
        case SQLITE_DONE: return true
        case SQLITE_OK: return false
        default: throw SQLiteError(result: result, handle: target.handle)
        }
    }
}
