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

    var partial: String { Self.partial(of: path) }

    static func partial(of path: String) -> String { path + ".partial" }

    init(to path: String, from database: JournalDatabase, done: @escaping Done<Void>) throws {
        self.path = path
        self.done = done
        let partial = Self.partial(of: path)
        guard JournalFiles.size(of: path) == nil else {
            throw JournalFailure(.invalid, "\(path) is there already; a backup overwrites nothing.")
        }
        // Of a backup that was cut short.
        unlink(partial)
        // It holds what users entered: nobody but its owner may read it, from its first byte on.
        let created = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard created >= 0 else {
            throw JournalFailure(.unavailable, "The backup \(path) could not be written: \(systemText(errno)).")
        }
        closeDescriptor(created)
        var target = try Connection(.file(partial), busyTimeout: .zero)
        // It is synced once, at the end, by a thread that may wait for it.
        try target.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")
        backup = try database.connection.backup(to: target)
    }

    /// Copies some pages; says whether the copy is complete.
    func step(pages: Int32) throws(SQLiteError) -> Bool { try backup?.step(pages: pages) ?? true }

    /// Lets go of the copy, and of the file if it is of no use.
    func close(keeping: Bool) {
        backup = nil
        if !keeping { unlink(partial) }
    }

    /// Syncs a complete copy and gives it its name. Blocks for as long as the disk takes.
    static func publish(_ path: String) -> Result<Void, JournalFailure> {
        let partial = partial(of: path)
        func failure(_ what: String) -> Result<Void, JournalFailure> {
            let code = errno
            unlink(partial)
            return .failure(
                JournalFailure(
                    code == ENOSPC || code == EDQUOT ? .full : .unavailable,
                    "The backup \(path) could not be \(what): \(systemText(code))."))
        }
        guard sync(partial) else { return failure("synced") }
        // Unlike a rename this overwrites nothing, also if the file came to be in the meantime.
        guard link(partial, path) == 0 else { return failure("given its name") }
        unlink(partial)
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        guard sync(folder) else { return failure("synced") }
        return .success(())
    }

    private static func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let isSynced = fsync(descriptor) == 0
        // Closing must not hide why the sync failed.
        let code = errno
        closeDescriptor(descriptor)
        errno = code
        return isSynced
    }
}

/// `close`, where a method has that name.
private func closeDescriptor(_ descriptor: Int32) { close(descriptor) }

/// A backup is a job of many steps.
extension Writer {
    func beginBackup(to path: String, _ done: @escaping Done<Void>) {
        guard backup == nil else {
            let failure = JournalFailure(.unavailable, "A backup is being made already.")
            return engine.deliver { done(.failure(failure)) }
        }
        guard let database else { return }
        do { backup = try BackupJob(to: path, from: database, done: done) } catch {
            let failure = Self.failure(error, path)
            engine.deliver { done(.failure(failure)) }
        }
    }

    func step(_ job: BackupJob) {
        do {
            let pages = engine.options.backupPages
            guard try timed({ try job.step(pages: pages) }) else { return }
        } catch let error as SQLiteError where error.code == .busy || error.code == .locked {
            // Another program's, for a moment.
            return
        } catch {
            return end(job, with: Self.failure(error, job.path))
        }
        backup = nil
        job.close(keeping: true)
        let (path, done, shared) = (job.path, job.done, engine)
        do {
            // The sync of a large file takes seconds, which appends need not wait for.
            try startThread {
                let result = BackupJob.publish(path)
                shared.deliver { done(result) }
            }
        } catch {
            end(job, with: JournalFailure(.unavailable, "The backup \(path) could not be synced: \(error)."))
        }
    }

    /// Gives a backup up.
    func end(_ job: BackupJob, with failure: JournalFailure) {
        backup = nil
        job.close(keeping: false)
        let done = job.done
        engine.deliver { done(.failure(failure)) }
    }

    private static func failure(_ error: any Error, _ path: String) -> JournalFailure {
        if let failure = error as? JournalFailure { return failure }
        let isFull = (error as? SQLiteError)?.code == .full
        return JournalFailure(isFull ? .full : .unavailable, "The backup \(path) could not be written: \(error)")
    }
}
