import Logging
import MVI
import SQLite
import SessionJournal

/// What is done when the disk or the file is not well, until it is again.
extension Writer {
    /// Opens the journal for the first time. Throws what cannot get better by itself; all else is trouble.
    func openAtFirst() throws(JournalOpenError) {
        let folder = engine.files.folder
        if let code = JournalFiles.makeFolder(folder) {
            throw JournalOpenError("The folder \(folder) for the journal cannot be made: \(systemText(code)).")
        }
        do { try open() } catch let error as JournalOpenError { throw error } catch {
            database = nil
            beginTrouble(StoreError(error, at: engine.files.database))
        }
        // A folder is made for its owner alone; one that was there may be anyone's.
        for path in [folder, engine.files.database] {
            guard let exposure = JournalFiles.exposure(of: path) else { continue }
            engine.logger.warning("Kept sessions are open to other users.", metadata: ["reason": "\(exposure)"])
        }
        do { try startThread { [engine] in SQLiteReader(engine).run() } } catch { throw .noThread(error) }
    }

    /// Whether the journal can be written; looks now and then while it could not.
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

    /// Notices that the file was deleted, or another put in its place, before anything is acknowledged that would be gone
    /// after the next start.
    private func lookForFile() {
        guard engine.status.trouble == nil, let file,
            JournalFiles.identity(of: engine.files.database) != file
        else { return }
        // What it wrote into the file without a name cannot be had any more.
        database = nil
        beginTrouble(
            StoreError(
                .unavailable, "The journal \(engine.files.database) was deleted or replaced while it was in use."))
    }

    /// Notes that something is wrong; what waits is refused until a probe succeeds.
    func beginTrouble(_ failure: StoreError) {
        let isNew = engine.status.trouble == nil
        engine.status.trouble = failure
        guard isNew else { return }
        failedProbes = 0
        // What is in doubt is settled by the next commit: at once, if the disk takes it.
        nextProbe = engine.status.inDoubt.isEmpty ? .now + engine.options.probeInterval : .now
        engine.logger.error(
            "The journal is in trouble: nothing is kept until it is over. It is tried again by itself.",
            metadata: ["reason": "\(failure)"])
    }

    /// Refuses all that waits.
    func refuseAll() {
        guard let trouble = engine.status.trouble, let last = pending.last else { return }
        let writes = Array(pending)
        pending = []
        engine.finished(last.ticket, bytes: writes.reduce(0) { $0 + $1.bytes })
        engine.completions.enqueue(writes.map { $0.fail(trouble, false) }, of: writes.lazy.map(\.scope.session))
    }

    private func open() throws {
        if lock == nil { lock = try FolderLock(.exclusive, in: engine.files.folder) }
        // An empty one in its place would end all sessions.
        if file != nil, JournalFiles.identity(of: engine.files.database) == nil {
            throw StoreError(
                .unavailable,
                "The journal \(engine.files.database) is gone. Put it back, or a backup; or start the server again to begin with an empty one."
            )
        }
        let database = try JournalDatabase(
            engine.files, migrations: engine.options.migrations, cachedSessions: engine.options.cachedSessions)
        self.database = database
        try database.probe(ballast: 0)
        file = JournalFiles.identity(of: engine.files.database)
    }

    private func probe(_ trouble: StoreError) throws {
        // The file may be another than the reader has.
        guard let database else { return try engine.withReaderPaused { try open() } }
        guard trouble.code == .full else { return try database.probe(ballast: 0) }
        // What is in the database needs no room in the log.
        _ = try? database.connection.checkpoint(.passive)
        // Room for one small row is not enough to go on with.
        try database.probe(ballast: 256 << 10)
        try database.probe(ballast: 0)
    }

    /// The next probe opens the file anew: another may have been put in its place. On a full disk that would gain nothing;
    /// and while a commit is in doubt this connection knows where the log's last certain one ends, and writes over the
    /// rest, which one that reads the log anew cannot. Only if that goes on failing, it is settled by opening.
    private func closeAfterFailedProbe(_ trouble: StoreError) {
        guard trouble.code != .full, engine.status.inDoubt.isEmpty || failedProbes >= 10 else { return }
        database = nil
    }
}
