import SQLite
import SessionJournal

/// A journal as tools look at it, beside a server that runs or while none does.
///
/// Everything is only read: nothing is copied from the log, and no file is made or changed, but for the log's index when
/// the log was left behind without one. Its methods block; each call sees one moment.
public struct SQLiteJournalFile: Sendable {
    /// A session in a list.
    public struct Overview: Sendable, Hashable {
        /// Its number: what `sessions` goes on after.
        public let key: SessionKey
        /// Its public id.
        public let id: String
        /// Time since 1970.
        public let created: Duration
        /// When it was last used, as far as that was noted: time since 1970.
        public let lastSeen: Duration
        /// How many stores it has.
        public let stores: Int
        /// How many bytes their states and view states have.
        public let bytes: Int
    }

    private let files: JournalFiles

    /// The journal in a folder.
    public init(directory: String) { files = JournalFiles(folder: directory) }

    /// Sessions in the order in which they were made.
    ///
    /// - Parameter session: the last one of the call before; nil to begin.
    public func sessions(after session: SessionKey? = nil, limit: Int) throws(JournalFailure) -> [Overview] {
        try read { connection in
            try connection.query(
                """
                SELECT key, name, created, max(last_seen, coalesce(max(time), last_seen)), count(feature),
                    coalesce(sum(length(state) + length(view)), 0)
                FROM (SELECT key, id AS name, created, last_seen FROM sessions WHERE key > ? ORDER BY key LIMIT ?)
                LEFT JOIN stores ON stores.id >= key << 16 AND stores.id < (key + 1) << 16 GROUP BY key ORDER BY key
                """, [.integer(session?.number ?? .min), .integer(limit)]
            ) { row in
                Overview(
                    key: SessionKey(try row.integer(0)), id: try row.text(1), created: try row.time(2),
                    lastSeen: try row.time(3), stores: try row.int(4), bytes: try row.int(5))
            }
        }
    }

    /// Everything that is kept of the session with a public id; nil if there is none.
    public func export(_ id: String) throws(JournalFailure) -> SessionExport? {
        try read { connection in try connection.export(id) }
    }

    private func read<Value>(_ body: (inout Connection) throws -> Value) throws(JournalFailure) -> Value {
        guard let size = JournalFiles.size(of: files.database) else {
            throw JournalFailure(.unavailable, "There is no journal in \(files.folder).")
        }
        if size == 0 { throw JournalFailure(.unavailable, "The journal \(files.database) is empty.") }
        // While no server runs, none can start before this is let go of: it waits.
        var lock: FolderLock?
        var hasServer = false
        switch FolderLock.take(.shared, in: files.folder) {
        case .held(let held): lock = held
        case .taken: hasServer = true
        // Files that were copied without it, or somebody else's.
        case .failed: break
        }
        defer { withExtendedLifetime(lock) {} }
        do {
            var connection = try open(hasServer: hasServer, isLocked: lock != nil)
            try connection.takeOverCheckpoints()
            try connection.script("PRAGMA query_only = ON; PRAGMA cell_size_check = ON")
            let latest = Schema.migrations.count
            let version = try JournalDatabase.version(of: &connection, latest: latest, path: files.database)
            guard version == latest else {
                throw JournalFailure(
                    .unavailable,
                    "The journal \(files.database) has the older schema \(version ?? 0): a server that opens it brings it up to date."
                )
            }
            return try connection.transaction(.deferred, body)
        } catch let error as JournalOpenError {
            throw JournalFailure(.unavailable, error.description)
        } catch {
            throw JournalFailure(error, at: files.database)
        }
    }

    /// Opens it in the way that leaves the least behind.
    private func open(hasServer: Bool, isLocked: Bool) throws(SQLiteError) -> Connection {
        let location = Connection.Location.file(files.database)
        let hasLog = (JournalFiles.size(of: files.log) ?? 0) > 0
        if isLocked, !hasLog { return try Connection(location, access: .immutable) }
        // A server that was killed left a log and an index of it; this reads the log itself and leaves both alone.
        if isLocked, hasLog, JournalFiles.size(of: files.database + "-shm") != nil {
            return try Connection(location, access: .readOnlyIndex)
        }
        return try Connection(location, access: .readOnly)
    }
}
