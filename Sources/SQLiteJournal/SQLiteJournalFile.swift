import MVI
import SQLite
import SessionJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A SQLite journal for tools.
///
/// Except for `restore`, `rotateKey` and `signOutAll`, everything only reads: nothing is copied from the log, and no
/// file is created or changed, except the log's index if it is missing.
package struct SQLiteJournalFile: JournalMaintenance {
    private let files: JournalFiles

    /// The journal in a folder.
    package init(directory: String) { files = JournalFiles(folder: directory) }

    /// The folder.
    package var place: String { files.folder }

    package func sessions(after session: SessionKey? = nil, limit: Int) throws(StoreError) -> [SessionOverview] {
        try read { connection in try connection.list(after: session, limit: limit) }
    }

    package func export(_ id: String) throws(StoreError) -> SessionExport? {
        try read { connection in try connection.export(id) }
    }

    /// Copies a snapshot of the journal into a new file that only its owner may read. A running server continues; its
    /// log grows until the copy is complete.
    ///
    /// The copy is in `FILE.partial` until it is complete and synced. If a file with either name exists, the error is
    /// `invalid` and the file is unchanged: it may be another backup in progress.
    ///
    /// - Parameters:
    ///   - begun: Called with the path of the partial file once this backup has created it.
    ///   - atSnapshot: Called when the journal's snapshot has begun: what is committed later is not in the copy.
    package func backup(
        to path: String, begun: (_ partial: String) -> Void = { _ in }, atSnapshot: () throws -> Void = {}
    ) throws(StoreError) {
        let partial = path + ".partial"
        guard JournalFiles.size(of: path) == nil else {
            throw StoreError(.invalid, "\(path) exists already; a backup overwrites nothing.")
        }
        guard JournalFiles.size(of: partial) == nil else {
            throw StoreError(
                .invalid,
                "\(partial) exists already: another backup is in progress, or one was interrupted. Remove it if none is running."
            )
        }
        try read { connection in
            try connection.beginSnapshot()
            try atSnapshot()
            do {
                // It contains the data of users.
                try connection.copyPrivately(to: partial) { begun(partial) }
            } catch {
                if let failure = error as? StoreError { throw failure }
                let isFull = (error as? SQLiteError)?.code == .full
                throw StoreError(isFull ? .full : .unavailable, "The backup \(path) could not be written: \(error)")
            }
        }
        try JournalFiles.publish(partial, as: path).get()
    }

    /// Makes a backup the folder's journal, while no server uses it. Each session gets a new epoch, so that cursors and
    /// entity tags from after the backup are invalid. A backup with an older schema is migrated. Sessions of subjects whose
    /// data was deleted later are not restored, as far as the folder's `forgotten.jsonl` names them.
    ///
    /// - Parameter signingOut: True to sign everybody out, see `signOutAll`: the backup has tokens that were revoked
    ///   and sessions that were ended after it was made.
    /// - Parameter beforeEnd: Called before the copy becomes the journal, with the subjects that were deleted after the
    ///   backup. If it throws, nothing is restored.
    /// - Returns: The number of sessions.
    /// - Throws: `JournalOpenError` if a server uses the folder or it cannot be created; `StoreError` with the code
    ///   `invalid` if there is a journal already, which is unchanged, or if the file is no backup.
    package func restore(
        from backup: String, signingOut: Bool = false,
        beforeEnd: (_ deletedLater: ForgottenFinder) throws -> Void = { _ in }
    ) throws -> Int {
        if let code = JournalFiles.makeFolder(files.folder) {
            throw StoreError(code, "The folder \(files.folder) cannot be created")
        }
        let lock = try FolderLock(.exclusive, in: files.folder)
        defer { withExtendedLifetime(lock) {} }
        for path in [files.database, files.log, files.database + "-shm"] where JournalFiles.size(of: path) != nil {
            throw StoreError(
                .invalid, "\(path) exists already; first move it away, with its log. forgotten.jsonl stays.")
        }
        guard JournalFiles.isRegular(backup) else { throw StoreError(.invalid, "\(backup) is not a file.") }
        if (JournalFiles.size(of: backup + "-wal") ?? 0) > 0 {
            throw StoreError(
                .invalid,
                "\(backup)-wal has changes that \(backup) lacks: it is not a backup but a journal in use. Make a backup of its folder."
            )
        }
        let partial = files.database + ".partial"
        // Left over from an interrupted restore.
        JournalFiles.remove(partial)
        do {
            let (count, deletedLater) = try copy(backup, to: partial, signingOut: signingOut)
            try beforeEnd(deletedLater)
            try JournalFiles.publish(partial, as: files.database).get()
            return count
        } catch {
            JournalFiles.remove(partial)
            guard let fault = error as? SQLiteError else { throw error }
            // No such table or column; a value that the schema excludes.
            if [.corrupt, .notADatabase, .error, .constraint, .mismatch].contains(fault.code) {
                throw StoreError(.invalid, "The backup \(backup) is damaged or not a backup: \(fault). Use another.")
            }
            throw StoreError(fault, at: backup)
        }
    }

    private func copy(
        _ backup: String, to partial: String, signingOut: Bool
    ) throws -> (sessions: Int, deletedLater: ForgottenFinder) {
        var source = try Connection(.file(backup), access: .immutable)
        try source.distrustSchema()
        try source.script("PRAGMA cell_size_check = ON")
        let migrations = SQLiteSchema.migrations
        guard let version = try JournalDatabase.version(of: &source, latest: migrations.count, path: backup) else {
            throw StoreError(.invalid, "\(backup) is not a backup of a journal.")
        }
        try JournalFiles.makePrivate(partial)
        var target = try Connection(.file(partial), busyTimeout: .zero)
        try target.distrustSchema()
        // Synced once, at the end, and removed after an error.
        try target.script(
            "PRAGMA page_size = 4096; PRAGMA auto_vacuum = NONE; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY")
        try target.overwriteDeletedRows()
        try JournalDatabase.migrate(&target, from: 0, Array(migrations.prefix(version)))
        try target.transaction(.immediate) { connection in try connection.copyRows(from: &source) }
        try JournalDatabase.migrate(&target, from: version, migrations)
        let key = try files.forgotten.key()
        let later = try files.forgotten.subjects(key)
        let (removed, deletedLater) = try target.transaction(.immediate) { connection in
            try connection.forgetAgain(later, key)
        }
        // Writes the file anew, without what was deleted.
        if removed > 0 { try target.script("VACUUM") }
        return try target.transaction(.immediate) { connection in
            let count = try connection.execute("UPDATE sessions SET epoch = lower(hex(randomblob(8)))")
            if signingOut { _ = try connection.signOutAll() } else { try connection.renewGeneration() }
            return (count, deletedLater)
        }
    }

    package func rotateKey(now: Duration, tokenLife: Duration) throws(StoreError) {
        try change { connection in
            // No running server has to learn the key first, so the present one is always in use.
            guard let secret = try connection.secret().rotated(now: now, since: .zero, tokenLife: tokenLife) else {
                preconditionFailure("the present key of this journal is always in use")
            }
            try connection.replaceSecret(by: secret)
        }
    }

    package func signOutAll() throws(StoreError) -> Int {
        try change { connection in try connection.signOutAll() }
    }

    /// Opens the journal like a server, while none uses it, and changes it.
    private func change<Value>(_ body: (inout Connection) throws -> Value) throws(StoreError) -> Value {
        guard JournalFiles.size(of: files.database) != nil else {
            throw StoreError(.unavailable, "There is no journal in \(files.folder).")
        }
        do {
            let lock = try soleUse()
            defer { withExtendedLifetime(lock) {} }
            let database = try JournalDatabase(files, migrations: SQLiteSchema.migrations, cachedSessions: 1)
            return try database.connection.transaction(.immediate, body)
        } catch {
            throw StoreError(error, at: files.database)
        }
    }

    /// Locks the folder against servers.
    private func soleUse() throws -> FolderLock {
        do { return try FolderLock(.exclusive, in: files.folder) } catch let error as JournalOpenError {
            throw StoreError(.contended, error.description)
        }
    }

    /// Reads the journal while no server uses it.
    func readAlone<Value>(_ body: (inout Connection) throws -> Value) throws(StoreError) -> Value {
        try checkFile()
        do {
            let lock = try soleUse()
            defer { withExtendedLifetime(lock) {} }
            var connection = try JournalDatabase.openForReading(files, access(isLocked: true))
            return try connection.transaction(.deferred, body)
        } catch {
            throw StoreError(error, at: files.database)
        }
    }

    /// Throws if the journal is missing or empty.
    private func checkFile() throws(StoreError) {
        switch JournalFiles.fault(of: files.database) {
        case nil: break
        case ENOENT?, ENOTDIR?: throw StoreError(.unavailable, "There is no journal in \(files.folder).")
        case let code?: throw StoreError(code, "The journal \(files.database) cannot be read by this user")
        }
        if JournalFiles.size(of: files.database) == 0 {
            throw StoreError(
                .unavailable, "The journal \(files.database) is empty. Is it the right folder?")
        }
    }

    private func read<Value>(_ body: (inout Connection) throws -> Value) throws(StoreError) -> Value {
        try checkFile()
        // While no server runs, a starting one waits for this lock. Copied files may have no lock file, and those of
        // another user none that can be locked.
        let lock = try? FolderLock(.shared, in: files.folder)
        defer { withExtendedLifetime(lock) {} }
        do {
            var connection = try JournalDatabase.openForReading(files, access(isLocked: lock != nil))
            return try connection.transaction(.deferred, body)
        } catch {
            throw StoreError(error, at: files.database)
        }
    }

    /// Returns the access that creates the fewest files.
    private func access(isLocked: Bool) -> Connection.Access {
        guard isLocked else { return .readOnly }
        if (JournalFiles.size(of: files.log) ?? 0) == 0 { return .immutable }
        // A killed server left a log and its index. This reads the log and changes neither.
        return JournalFiles.size(of: files.database + "-shm") == nil ? .readOnly : .readOnlyIndex
    }
}
