import Logging
import MVI
import SQLite
import SessionJournal

/// The handling of a failing disk or file until it recovers.
extension Writer {
    /// Opens the journal for the first time. Throws permanent errors; the others are trouble.
    func openAtFirst() throws(JournalOpenError) {
        let folder = engine.files.folder
        if let code = JournalFiles.makeFolder(folder) {
            throw JournalOpenError("The journal folder \(folder) cannot be created: \(systemText(code)).")
        }
        do { try open() } catch let error as JournalOpenError { throw error } catch {
            database = nil
            beginTrouble(StoreError(error, at: engine.files.database))
        }
        // A new folder is private to its owner; an existing one may be readable by others.
        for path in [folder, engine.files.database] {
            guard let exposure = JournalFiles.exposure(of: path) else { continue }
            engine.logger.warning("Other users can access the stored sessions.", metadata: ["reason": "\(exposure)"])
        }
        do { try startThread { [engine] in SQLiteReader(engine).run() } } catch { throw .noThread(error) }
    }

    /// True if the journal can be written. Probes it from time to time while it is in trouble.
    func isWell() -> Bool {
        lookForFile()
        guard let trouble = engine.status.trouble else { return true }
        guard ContinuousClock.now >= nextProbe else { return false }
        do {
            try timed { try probe(trouble) }
        } catch {
            failedProbes += 1
            let trouble = StoreError(error, at: engine.files.database)
            engine.status.trouble = trouble
            nextProbe = .now + engine.options.probeInterval
            closeAfterFailedProbe(trouble)
            return false
        }
        failedProbes = 0
        engine.status.inDoubt = InDoubtCommits()
        engine.status.trouble = nil
        engine.logger.notice("The journal works again.")
        return true
    }

    /// Notices that the file or its log was deleted or replaced, before a commit is acknowledged that would be lost at
    /// the next start.
    private func lookForFile() {
        guard engine.status.trouble == nil, let file else { return }
        let (path, newLog) = (engine.files.database, JournalFiles.identity(of: engine.files.log))
        let isThere = JournalFiles.identity(of: path) == file
        guard !isThere || newLog != log else { return }
        // The unlinked log still has the acknowledged commits.
        if isThere, newLog == nil { engine.withReaderPaused { _ = try? database?.connection.checkpoint(.truncate) } }
        // Data written to an unlinked file is lost.
        database = nil
        let lost = isThere ? engine.files.log : path
        beginTrouble(
            StoreError(.unavailable, "The journal's file \(lost) was deleted or replaced while it was in use."))
    }

    /// Notes trouble. Waiting writes are refused until a probe succeeds.
    func beginTrouble(_ failure: StoreError) {
        let isNew = engine.status.trouble == nil
        engine.status.trouble = failure
        guard isNew else { return }
        failedProbes = 0
        // The next commit resolves a doubt: at once, if the disk accepts it.
        nextProbe = engine.status.inDoubt.isEmpty ? .now + engine.options.probeInterval : .now
        engine.logger.error(
            "The journal is in trouble: nothing is stored until it recovers. The server retries by itself.",
            metadata: ["reason": "\(failure)"])
    }

    /// Refuses all waiting writes.
    func refuseAll() {
        guard let trouble = engine.status.trouble, let last = pending.last else { return }
        let writes = Array(pending)
        pending = []
        engine.finished(last.ticket, bytes: writes.reduce(0) { $0 + $1.bytes })
        engine.completions.enqueue(writes.map { $0.fail(trouble, false) }, of: writes.lazy.map(\.scope.session))
    }

    private func open() throws {
        if lock == nil { lock = try FolderLock(.exclusive, in: engine.files.folder) }
        // An empty file in its place would end all sessions.
        if file != nil, JournalFiles.identity(of: engine.files.database) == nil {
            throw StoreError(
                .unavailable,
                "The journal \(engine.files.database) is missing. Restore it or a backup, or restart the server to begin with an empty one."
            )
        }
        let database = try JournalDatabase(
            engine.files, migrations: engine.options.migrations, cachedSessions: engine.options.cachedSessions)
        self.database = database
        try database.probe(ballast: 0)
        (file, log) = (JournalFiles.identity(of: engine.files.database), JournalFiles.identity(of: engine.files.log))
    }

    private func probe(_ trouble: StoreError) throws {
        // The reader may have another file open.
        guard let database else { return try engine.withReaderPaused { try open() } }
        guard trouble.code == .full else { return try database.probe(ballast: 0) }
        // Pages in the database need no room in the log.
        _ = try? database.connection.checkpoint(.passive)
        // Room for one small row is not enough to continue.
        try database.probe(ballast: 256 << 10)
        try database.probe(ballast: 0)
    }

    /// The next probe reopens the file, which may have been replaced. This does not help with a full disk. While a
    /// commit is in doubt, this connection knows the end of the log's last certain commit and overwrites the rest,
    /// which a new one cannot. Opening resolves the doubt only if probes keep failing.
    private func closeAfterFailedProbe(_ trouble: StoreError) {
        guard trouble.code != .full, engine.status.inDoubt.isEmpty || failedProbes >= 10 else { return }
        database = nil
    }
}
