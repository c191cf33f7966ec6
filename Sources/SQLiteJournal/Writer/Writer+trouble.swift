import Logging
import SQLite
import SessionJournal

/// What is done when the disk or the file is not well, until it is again.
extension Writer {
    /// Opens the journal for the first time. Throws what cannot get better by itself; all else is trouble.
    func openAtFirst() throws(JournalOpenError) {
        let folder = engine.files.folder
        if let code = FolderLock.makeFolder(folder) {
            throw JournalOpenError("The folder \(folder) for the journal cannot be made: \(systemText(code)).")
        }
        do {
            try open()
        } catch let error as JournalOpenError {
            database = nil
            lock = nil
            throw error
        } catch {
            database = nil
            begin(JournalFailure(error, at: engine.files.database))
        }
    }

    /// Whether the journal can be written; looks now and then while it could not.
    func isWell() -> Bool {
        guard let trouble else { return true }
        guard ContinuousClock.now >= nextProbe else { return false }
        do {
            try timed { try probe(trouble) }
            end()
            return true
        } catch {
            failedProbes += 1
            note(
                (error as? JournalOpenError).map { JournalFailure(.unavailable, $0.description) }
                    ?? JournalFailure(error, at: engine.files.database))
            nextProbe = .now + engine.options.probeInterval
            closeAfterFailedProbe()
            return false
        }
    }

    /// Notes that something is wrong; what waits is refused until a probe succeeds.
    func begin(_ failure: JournalFailure) {
        guard trouble == nil else { return note(failure) }
        note(failure)
        failedProbes = 0
        // What is in doubt is settled by the next commit: at once, if the disk takes it.
        let isInDoubt = engine.doubt.withLock { !$0.isEmpty }
        nextProbe = isInDoubt ? .now : .now + engine.options.probeInterval
        engine.logger.error(
            "The journal is in trouble: nothing is kept until it is over. It is tried again by itself.",
            metadata: ["reason": "\(failure)"])
    }

    /// Refuses all that waits.
    func refuseAll() {
        guard let trouble else { return }
        for expiry in expiries { engine.deliver { expiry.done(.failure(trouble)) } }
        expiries = []
        if let backup { end(backup, with: trouble) }
        guard let last = pending.last else { return }
        var deliveries = DeliveryBatch(lanes: engine.lanes)
        var bytes = 0
        for entry in pending {
            bytes += entry.bytes
            deliveries.add(entry.item.refused(trouble), entry.item.session)
        }
        pending = []
        engine.queue.finished(last.ticket, bytes: bytes)
        deliveries.hand()
    }

    private func open() throws {
        if lock == nil {
            switch FolderLock.take(.exclusive, in: engine.files.folder) {
            case .held(let lock): self.lock = lock
            case .taken:
                throw JournalOpenError(
                    "Another server uses the journal in \(engine.files.folder): one folder is for one server. Stop that one, or choose another folder."
                )
            case .failed(let code):
                throw JournalFailure(
                    code.isOfFullDisk ? .full : .unavailable,
                    "The lock file in \(engine.files.folder) cannot be made: \(systemText(code)).")
            }
        }
        let database = try JournalDatabase(engine.files, migrations: engine.options.migrations)
        self.database = database
        cache.removeAll()
        hasGarbage = true
        try database.probe(ballast: 0)
    }

    private func probe(_ trouble: JournalFailure) throws {
        guard let database else {
            // The file may be another than the reader has.
            engine.reads.pause()
            defer { engine.reads.resume() }
            return try open()
        }
        guard trouble.code == .full else { return try database.probe(ballast: 0) }
        // What is in the database needs no room in the log.
        _ = try? database.connection.checkpoint(.passive)
        // Room for one small row is not enough to go on with.
        try database.probe(ballast: 256 << 10)
        try database.probe(ballast: 0)
    }

    private func note(_ failure: JournalFailure) {
        trouble = failure
        engine.status.withLock { $0.trouble = failure }
    }

    private func end() {
        trouble = nil
        failedProbes = 0
        cache.removeAll()
        engine.doubt.withLock { $0 = Doubt() }
        engine.status.withLock { $0.trouble = nil }
        engine.logger.notice("The journal works again.")
    }

    /// The next probe opens the file anew: another may have been put in its place. On a full disk that would gain nothing;
    /// and while a commit is in doubt this connection knows where the log's last certain one ends, and writes over the
    /// rest, which one that reads the log anew cannot. Only if that goes on failing, it is settled by opening.
    private func closeAfterFailedProbe() {
        guard let trouble, trouble.code != .full else { return }
        guard engine.doubt.withLock({ $0.isEmpty }) || failedProbes >= 10 else { return }
        database = nil
    }
}

extension Int32 {
    /// Whether it is an errno of a disk or a quota that is full.
    fileprivate var isOfFullDisk: Bool { self == ENOSPC || self == EDQUOT }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
