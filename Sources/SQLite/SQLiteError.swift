import CSQLite

/// Why SQLite, or this layer over it, refused. For logs and developers: it holds SQL and paths, so it must not reach
/// a client.
package struct SQLiteError: Error, Sendable, Equatable {
    /// SQLite's primary result code, https://sqlite.org/rescode.html.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The number, such as 19.
        package let rawValue: Int32

        /// A code by its number.
        package init(rawValue: Int32) { self.rawValue = rawValue }

        /// SQL that does not compile, or a table that is not there.
        package static let error = Code(rawValue: SQLITE_ERROR)
        /// Another connection holds the lock and did not let go within the busy timeout.
        package static let busy = Code(rawValue: SQLITE_BUSY)
        /// The same inside one process: another statement of it holds the lock.
        package static let locked = Code(rawValue: SQLITE_LOCKED)
        /// There is no memory.
        package static let noMemory = Code(rawValue: SQLITE_NOMEM)
        /// A value is larger than SQLite keeps.
        package static let tooBig = Code(rawValue: SQLITE_TOOBIG)
        /// The disk or a limit on it is full.
        package static let full = Code(rawValue: SQLITE_FULL)
        /// The operating system refused a read or write; the extended code says which.
        package static let inputOutput = Code(rawValue: SQLITE_IOERR)
        /// The file is damaged.
        package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        /// The file is no SQLite database.
        package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
        /// The file cannot be opened or made.
        package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
        /// The database or its file may not be written.
        package static let readOnly = Code(rawValue: SQLITE_READONLY)
        /// A constraint of the schema does not hold; the extended code says which kind.
        package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
        /// A column holds another type than the one asked for.
        package static let mismatch = Code(rawValue: SQLITE_MISMATCH)
        /// A column that the row does not have.
        package static let range = Code(rawValue: SQLITE_RANGE)
        /// This layer was used in a way that cannot work; the message says how.
        package static let misuse = Code(rawValue: SQLITE_MISUSE)
    }

    /// What is the matter.
    package let code: Code
    /// The same in more detail: `SQLITE_CONSTRAINT_UNIQUE` where the code is `constraint`.
    package let extendedCode: Int32
    /// SQLite's sentence about it, or this layer's.
    package let message: String
    /// The SQL that was at work, if any.
    package let sql: String?

    /// Whether what is stored could not be read: some of it is damaged, and the rest may well be fine.
    package var isDamage: Bool {
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

    /// What `handle` says of its last call, which returned `result`.
    ///
    /// `handle` is nil only where SQLite had no memory for a connection; the text is copied before this returns.
    init(result: Int32, handle: OpaquePointer?, sql: String? = nil) {
        let extended = handle.map { sqlite3_extended_errcode($0) } ?? result
        // A call that failed without reaching the handle leaves the code of an earlier one there.
        let isAboutThis = extended & 0xff == result & 0xff
        code = Code(rawValue: result & 0xff)
        extendedCode = isAboutThis ? extended : result
        let text = isAboutThis && handle != nil ? sqlite3_errmsg(handle) : sqlite3_errstr(result)
        message = text.map { String(cString: $0) } ?? "unknown error"
        self.sql = sql
    }
}

extension SQLiteError: CustomStringConvertible {
    /// All of it in one line, for a log.
    package var description: String {
        let name = sqlite3_errstr(code.rawValue).map { String(cString: $0) } ?? "unknown"
        let extended = extendedCode == code.rawValue ? "" : ", extended \(extendedCode)"
        let statement = sql.map { " in: \($0)" } ?? ""
        return "SQLite error \(code.rawValue) (\(name)\(extended)): \(message)\(statement)"
    }
}
