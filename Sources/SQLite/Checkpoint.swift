import CSQLite

/// The kind of a checkpoint, https://sqlite.org/c3ref/wal_checkpoint_v2.html.
package enum CheckpointKind: Sendable {
    /// Copies as much as possible without waiting for other connections.
    case passive
    /// Copies everything, so that the next writer restarts the log. Waits for its readers, at most the busy timeout.
    case restart
    /// Like `restart`, and truncates the log.
    case truncate

    var mode: Int32 {
        switch self {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .restart: SQLITE_CHECKPOINT_RESTART
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

/// The progress of a checkpoint.
package struct CheckpointProgress: Sendable, Hashable {
    /// The number of pages in the log.
    package let pages: Int
    /// The number of pages copied to the database.
    package let copied: Int
}

/// The number of pages in a connection's write-ahead log after its last commit.
///
/// Pointers: the cell is allocated and freed here. The connection removes the hook in its `deinit`, which runs first.
/// SQLite calls the hook on the committing thread, which is the one that owns the connection.
final class LogLength {
    private let cell: UnsafeMutablePointer<Int32>

    /// Installs the hook, which replaces SQLite's automatic checkpoints.
    init(on handle: OpaquePointer) {
        cell = .allocate(capacity: 1)
        cell.initialize(to: 0)
        sqlite3_wal_hook(
            handle,
            { cell, _, _, pages in
                cell?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, cell)
    }

    deinit { cell.deallocate() }

    var pages: Int {
        get { Int(cell.pointee) }
        set { cell.pointee = Int32(clamping: newValue) }
    }
}
