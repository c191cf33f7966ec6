import CSQLite

/// How a write-ahead log is copied into its database, https://sqlite.org/c3ref/wal_checkpoint_v2.html.
package enum CheckpointKind: Sendable {
    /// As far as that goes without waiting for other connections.
    case passive
    /// All of it, so that the next writer begins the log anew; waits for readers of it, at most the busy timeout.
    case restart
    /// The same; afterwards the log is empty.
    case truncate

    var mode: Int32 {
        switch self {
        case .passive: SQLITE_CHECKPOINT_PASSIVE
        case .restart: SQLITE_CHECKPOINT_RESTART
        case .truncate: SQLITE_CHECKPOINT_TRUNCATE
        }
    }
}

/// How far a checkpoint came.
package struct CheckpointProgress: Sendable, Hashable {
    /// How many pages the log holds.
    package let pages: Int
    /// How many of them are in the database.
    package let copied: Int
}

/// How many pages a connection's write-ahead log had after its last commit.
///
/// Pointers: the cell is made and freed here. The connection takes the hook away in its `deinit`, which is before this
/// goes. SQLite calls the hook on the thread that commits, which is the one that has the connection.
final class LogLength {
    private let cell: UnsafeMutablePointer<Int32>

    /// Installs itself; this replaces SQLite's checkpoints of its own.
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
