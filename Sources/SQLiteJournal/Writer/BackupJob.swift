import MVI
import SQLite
import SessionJournal

/// A copy of the whole journal in the making: in `FILE.partial`, until it is complete and synced.
final class BackupJob {
    let path: String
    let done: Done<Void>
    var partial: String { path + ".partial" }
    /// Nil when the copy's file is closed.
    var backup: Backup?

    init(path: String, done: @escaping Done<Void>, from database: JournalDatabase) throws {
        self.path = path
        self.done = done
        guard JournalFiles.size(of: path) == nil else {
            throw StoreError(.invalid, "\(path) is there already; a backup overwrites nothing.")
        }
        // Of a backup that was cut short.
        JournalFiles.remove(partial)
        // It holds what users entered.
        try JournalFiles.makePrivate(partial)
        var target = try Connection(.file(partial), busyTimeout: .zero)
        // It is synced once, at the end, by a thread that may wait for it.
        try target.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")
        backup = try database.connection.backup(to: target)
    }

    static func failure(_ path: String, _ error: any Error) -> StoreError {
        if let failure = error as? StoreError { return failure }
        let isFull = (error as? SQLiteError)?.code == .full
        return StoreError(isFull ? .full : .unavailable, "The backup \(path) could not be written: \(error)")
    }
}

/// A backup is a job of many steps.
extension Writer {
    func beginBackup(to path: String, _ done: @escaping Done<Void>) {
        do {
            if let trouble = engine.status.trouble { throw trouble }
            guard let database, backup == nil else {
                throw StoreError(.unavailable, "A backup is being made already.")
            }
            backup = try BackupJob(path: path, done: done, from: database)
        } catch {
            let failure = BackupJob.failure(path, error)
            engine.completions.enqueue(.other { done(.failure(failure)) })
        }
    }

    /// Copies some pages, if a backup is being made.
    func stepBackup() {
        guard let job = backup else { return }
        do {
            guard try timed({ try job.backup?.step(pages: engine.options.backupPages) ?? true }) else { return }
            (backup, job.backup) = (nil, nil)
            let (partial, path, done, completions) = (job.partial, job.path, job.done, engine.completions)
            // The sync of a large file takes seconds, which appends need not wait for.
            try startThread {
                let result = JournalFiles.publish(partial, as: path)
                completions.enqueue(.other { done(result) })
            }
        } catch let error as SQLiteError where error.code == .busy || error.code == .locked {
            // Another program's, for a moment.
        } catch {
            endBackup(job, BackupJob.failure(job.path, error))
        }
    }

    /// Gives a backup up.
    func endBackup(_ job: BackupJob?, _ failure: StoreError) {
        guard let job else { return }
        (backup, job.backup) = (nil, nil)
        JournalFiles.remove(job.partial)
        let done = job.done
        engine.completions.enqueue(.other { done(.failure(failure)) })
    }
}
