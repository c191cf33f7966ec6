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

/// A copy of the whole journal in the making: in `FILE.partial`, until it is complete and synced.
final class BackupJob {
    let path: String
    let done: Done<Void>
    private var backup: Backup?

    init(_ request: BackupRequest, from database: JournalDatabase) throws {
        path = request.path
        done = request.done
        guard JournalFiles.size(of: path) == nil else {
            throw StoreError(.invalid, "\(path) is there already; a backup overwrites nothing.")
        }
        let partial = path + ".partial"
        // Of a backup that was cut short.
        unlink(partial)
        // It holds what users entered: only its owner may read it, from its first byte on.
        let created = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard created >= 0 else { throw Self.failure(path, "written") }
        closeDescriptor(created)
        var target = try Connection(.file(partial), busyTimeout: .zero)
        // It is synced once, at the end, by a thread that may wait for it.
        try target.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")
        backup = try database.connection.backup(to: target)
    }

    /// Copies some pages; says whether the copy is complete.
    func step(pages: Int32) throws(SQLiteError) -> Bool { try backup?.step(pages: pages) ?? true }

    /// Lets go of the file.
    func close() { backup = nil }

    /// Syncs a complete copy and gives it its name. Blocks for as long as the disk takes.
    static func publish(_ path: String) -> Result<Void, StoreError> {
        let partial = path + ".partial"
        func failed(_ what: String) -> Result<Void, StoreError> {
            let failure = failure(path, what)
            unlink(partial)
            return .failure(failure)
        }
        guard sync(partial) else { return failed("synced") }
        // Unlike a rename this overwrites nothing, also if the file came to be in the meantime.
        guard link(partial, path) == 0 else { return failed("given its name") }
        unlink(partial)
        return sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".") ? .success(()) : failed("synced")
    }

    private static func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let code = fsync(descriptor) == 0 ? 0 : errno
        closeDescriptor(descriptor)
        // Closing must not hide why the sync failed.
        errno = code
        return code == 0
    }

    static func failure(_ path: String, _ error: any Error) -> StoreError {
        if let failure = error as? StoreError { return failure }
        let isFull = (error as? SQLiteError)?.code == .full
        return StoreError(isFull ? .full : .unavailable, "The backup \(path) could not be written: \(error)")
    }

    /// The sentence for `errno`.
    private static func failure(_ path: String, _ what: String) -> StoreError {
        let code = errno
        return StoreError(
            code == ENOSPC || code == EDQUOT ? .full : .unavailable,
            "The backup \(path) could not be \(what): \(systemText(code)).")
    }
}

/// `close`, where a method has that name.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// A backup is a job of many steps.
extension Writer {
    func begin(_ request: BackupRequest) {
        do {
            if let trouble = engine.trouble { throw trouble }
            guard let database, backup == nil else {
                throw StoreError(.unavailable, "A backup is being made already.")
            }
            backup = try BackupJob(request, from: database)
        } catch {
            let failure = BackupJob.failure(request.path, error)
            engine.completions.enqueue(.other { request.done(.failure(failure)) })
        }
    }

    func step(_ job: BackupJob) {
        do {
            guard try timed({ try job.step(pages: engine.options.backupPages) }) else { return }
            backup = nil
            job.close()
            let (path, done, completions) = (job.path, job.done, engine.completions)
            // The sync of a large file takes seconds, which appends need not wait for.
            try startThread {
                let result = BackupJob.publish(path)
                completions.enqueue(.other { done(result) })
            }
        } catch let error as SQLiteError where error.code == .busy || error.code == .locked {
            // Another program's, for a moment.
        } catch {
            endBackup(with: BackupJob.failure(job.path, error))
        }
    }

    /// Gives a backup up, if one is being made.
    func endBackup(with failure: StoreError) {
        guard let job = backup else { return }
        backup = nil
        job.close()
        unlink(job.path + ".partial")
        let done = job.done
        engine.completions.enqueue(.other { done(.failure(failure)) })
    }
}
