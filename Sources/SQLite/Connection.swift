import CSQLite

/// An open database, for one thread at a time.
///
/// It cannot be copied, so there is one owner, and most of its methods need exclusive access: no other statement can
/// run while a query returns rows. This is why SQLite's own mutexes are off (`SQLITE_OPEN_NOMUTEX`).
///
/// Pointers: `handle` is opened in `init` and closed in `deinit`, never elsewhere, and does not leave this target. The
/// cached statements are finalized after `deinit`; `sqlite3_close_v2` waits for the last of them.
public struct Connection: ~Copyable {
    /// The location of a database.
    public enum Location: Sendable, Equatable {
        /// A file, which is created if it is missing; its folder must exist.
        case file(String)
        /// Memory that is freed with the connection.
        case memory
    }

    /// The start of a transaction, https://sqlite.org/lang_transaction.html.
    public enum TransactionKind: String, Sendable {
        /// Takes the write lock at once, so that the transaction cannot fail later because another writer was first.
        case immediate = "BEGIN IMMEDIATE"
        /// Takes locks when statements need them, for reading.
        case deferred = "BEGIN DEFERRED"
    }

    /// The access to a file.
    package enum Access: Sendable {
        /// Reads and writes the file, and creates it if it is missing.
        case create
        /// Only reads. In write-ahead mode the log and its index are used, and created if they are missing.
        case readOnly
        /// Only reads, also the log's index, which must exist.
        case readOnlyIndex
        /// Only reads and assumes that nothing changes: no other files are read and no lock is taken.
        case immutable
    }

    let handle: OpaquePointer
    private var statements: StatementCache
    var logLength: LogLength?

    /// Opens a database for reading and writing, with foreign keys enforced. Creates a missing file.
    ///
    /// - Parameters:
    ///   - location: The database.
    ///   - busyTimeout: The time for which a statement waits for another connection's lock before it throws `busy`.
    public init(_ location: Location, busyTimeout: Duration = .seconds(5)) throws(SQLiteError) {
        try self.init(location, access: .create, busyTimeout: busyTimeout)
    }

    /// Opens a database with foreign keys enforced.
    ///
    /// - Parameters:
    ///   - access: The access to the file.
    ///   - busyTimeout: The time for which a statement waits for another connection's lock before it throws `busy`.
    ///   - statementLimit: The number of compiled statements in the cache.
    package init(
        _ location: Location, access: Access, busyTimeout: Duration = .seconds(5), statementLimit: Int = 64
    ) throws(SQLiteError) {
        handle = try Self.open(location, access)
        statements = StatementCache(limit: statementLimit)
        sqlite3_busy_timeout(handle, busyTimeout.milliseconds)
    }

    deinit {
        if logLength != nil { sqlite3_wal_hook(handle, nil, nil) }
        sqlite3_close_v2(handle)
    }

    /// The row id of the last row inserted through this connection.
    public var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }

    /// True while a transaction is open.
    public var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// The number of compiled statements in the cache.
    var cachedStatements: Int { statements.count }

    /// Runs one statement to its end and returns the number of changed rows. Skips returned rows.
    ///
    /// - Parameter values: One for each `?` in `sql`.
    @discardableResult
    public mutating func execute(_ sql: String, _ values: [SQLiteValue] = []) throws(SQLiteError) -> Int {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        while try statement.step() {}
        return statement.isReadOnly ? 0 : Int(sqlite3_changes64(handle))
    }

    /// Runs one statement and maps each row. `body` cannot keep the row or use the connection.
    public mutating func query<Value>(
        _ sql: String, _ values: [SQLiteValue] = [], _ body: (borrowing Row) throws -> Value
    ) throws -> [Value] {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        var result: [Value] = []
        while try statement.step() { result.append(try body(Row(statement: statement))) }
        return result
    }

    /// Maps the first row, or returns nil if there is none. Runs a statement that writes to its end.
    public mutating func first<Value>(
        _ sql: String, _ values: [SQLiteValue] = [], _ body: (borrowing Row) throws -> Value
    ) throws -> Value? {
        let statement = try prepared(sql)
        defer { statement.reset() }
        try statement.bind(values)
        guard try statement.step() else { return nil }
        let value = try body(Row(statement: statement))
        // `RETURNING` commits changes only when the statement is done.
        if !statement.isReadOnly { while try statement.step() {} }
        return value
    }

    /// Runs several statements without values, separated by semicolons, such as a schema.
    public mutating func script(_ sql: String) throws(SQLiteError) {
        let result = sqlite3_exec(handle, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw SQLiteError(result: result, handle: handle, sql: sql) }
    }

    /// Runs `body` in a transaction: commits if it returns, rolls back if it or the commit throws.
    ///
    /// Transactions cannot be nested; the inner one throws `error`.
    public mutating func transaction<Value>(
        _ kind: TransactionKind = .immediate, _ body: (inout Connection) throws -> Value
    ) throws -> Value {
        try execute(kind.rawValue)
        do {
            let value = try body(&self)
            try execute("COMMIT")
            return value
        } catch {
            // Some errors, such as a full disk, roll back automatically. A failure of the rollback would hide the
            // reason, and leaves nothing committed either.
            if isInTransaction { _ = try? execute("ROLLBACK") }
            throw error
        }
    }

    /// Opens `location` with foreign keys enforced. The caller owns the handle.
    private static func open(_ location: Location, _ access: Access) throws(SQLiteError) -> OpaquePointer {
        let path =
            switch location {
            case .file(let path): path
            case .memory: ":memory:"
            }
        // C would stop at the NUL and open another file; an empty path means a temporary database.
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw SQLiteError(.cannotOpen, "a database's path must not be empty or hold a NUL")
        }
        // A file's name may be ":memory:" or look like a URI.
        var name = location == .memory || path.hasPrefix("/") ? path : "./" + path
        var flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        switch access {
        case .create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .readOnlyIndex, .immutable:
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = "file:\(escaped(name))?\(access == .immutable ? "immutable" : "readonly_shm")=1"
        }
        var opened: OpaquePointer?
        var result = sqlite3_open_v2(name, &opened, flags, nil)
        if result == SQLITE_OK { result = sqlite3_exec(opened, "PRAGMA foreign_keys = ON", nil, nil, nil) }
        guard result == SQLITE_OK, let handle = opened else {
            let error = SQLiteError(result: result, handle: opened)
            // SQLite returns a handle on most failures too, for its message. It must be closed.
            sqlite3_close_v2(opened)
            throw SQLiteError(error.code, "cannot open \(path): \(error.message)")
        }
        return handle
    }

    /// Escapes a path for a URI, https://sqlite.org/uri.html.
    private static func escaped(_ path: String) -> String {
        path.utf8.reduce(into: "") { text, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default: text += "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
            }
        }
    }

    /// Compiles a statement that its user keeps, for frequent use.
    package mutating func prepare(_ sql: String) throws(SQLiteError) -> PreparedStatement {
        PreparedStatement(try Statement(sql, on: handle))
    }

    private mutating func prepared(_ sql: String) throws(SQLiteError) -> Statement {
        let handle = handle
        return try statements.statement(for: sql) { sql throws(SQLiteError) in try Statement(sql, on: handle) }
    }
}

extension Duration {
    /// Whole milliseconds, clamped to a C `int`.
    var milliseconds: Int32 {
        let (seconds, attoseconds) = components
        let whole = seconds.multipliedReportingOverflow(by: 1000)
        let sum = whole.overflow ? Int64.max : whole.partialValue + attoseconds / 1_000_000_000_000_000
        return Int32(clamping: max(0, sum))
    }
}
