import CSQLite

/// An error of SQLite or of this module. For logs and developers: it contains SQL and paths, so it must not reach a
/// client.
public struct SQLiteError: Error, Sendable, Equatable {
    /// SQLite's primary result code, https://sqlite.org/rescode.html.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The number, such as 19.
        public let rawValue: Int32

        /// A code by its number.
        public init(rawValue: Int32) { self.rawValue = rawValue }

        /// Invalid SQL or a missing table.
        public static let error = Code(rawValue: SQLITE_ERROR)
        /// Another connection held the lock until the busy timeout.
        public static let busy = Code(rawValue: SQLITE_BUSY)
        /// Another statement of the same process holds the lock.
        public static let locked = Code(rawValue: SQLITE_LOCKED)
        /// Out of memory.
        public static let noMemory = Code(rawValue: SQLITE_NOMEM)
        /// A value exceeds SQLite's size limit.
        public static let tooBig = Code(rawValue: SQLITE_TOOBIG)
        /// The disk or a quota is full.
        public static let full = Code(rawValue: SQLITE_FULL)
        /// The operating system failed to read or write; see the extended code.
        public static let inputOutput = Code(rawValue: SQLITE_IOERR)
        /// The file is damaged.
        public static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        /// The file is not a SQLite database.
        public static let notADatabase = Code(rawValue: SQLITE_NOTADB)
        /// The file cannot be opened or created.
        public static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
        /// The database or its file is read-only.
        public static let readOnly = Code(rawValue: SQLITE_READONLY)
        /// A constraint of the schema is violated; see the extended code.
        public static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
        /// A column has another type than the requested one.
        public static let mismatch = Code(rawValue: SQLITE_MISMATCH)
        /// The row has no such column.
        public static let range = Code(rawValue: SQLITE_RANGE)
        /// Incorrect use of this module; see the message.
        public static let misuse = Code(rawValue: SQLITE_MISUSE)
    }

    /// The primary result code.
    public let code: Code
    /// The extended code, such as `SQLITE_CONSTRAINT_UNIQUE` for `constraint`.
    public let extendedCode: Int32
    /// The message of SQLite or of this module.
    public let message: String
    /// The SQL that was running, if any.
    public let sql: String?

    /// True if stored data could not be read: some of it is damaged, the rest may be intact.
    public var isDamage: Bool {
        switch code {
        case .corrupt: true
        case .inputOutput:
            extendedCode == SQLITE_IOERR | (1 << 8) /* READ */
                || extendedCode == SQLITE_IOERR | (2 << 8) /* SHORT_READ */
                || extendedCode == SQLITE_IOERR | (32 << 8) /* DATA */
        default: false
        }
    }

    init(_ code: Code, _ message: String, sql: String? = nil) {
        self.code = code
        extendedCode = code.rawValue
        self.message = message
        self.sql = sql
    }

    /// The error of the last call on `handle`, which returned `result`.
    ///
    /// `handle` is nil only if SQLite had no memory for a connection. The text is copied before this returns.
    init(result: Int32, handle: OpaquePointer?, sql: String? = nil) {
        let extended = handle.map { sqlite3_extended_errcode($0) } ?? result
        // A call that failed before it reached the handle leaves an earlier call's code there.
        let isAboutThis = extended & 0xff == result & 0xff
        code = Code(rawValue: result & 0xff)
        extendedCode = isAboutThis ? extended : result
        let text = isAboutThis && handle != nil ? sqlite3_errmsg(handle) : sqlite3_errstr(result)
        message = text.map { String(cString: $0) } ?? "unknown error"
        self.sql = sql
    }
}

extension SQLiteError: CustomStringConvertible {
    /// The whole error in one line, for a log.
    public var description: String {
        let name = sqlite3_errstr(code.rawValue).map { String(cString: $0) } ?? "unknown"
        let extended = extendedCode == code.rawValue ? "" : ", extended \(extendedCode)"
        let statement = sql.map { " in: \($0)" } ?? ""
        return "SQLite error \(code.rawValue) (\(name)\(extended)): \(message)\(statement)"
    }
}
