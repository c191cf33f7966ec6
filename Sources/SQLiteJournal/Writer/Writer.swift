import DequeModule
import Logging
import MVI
import SQLite
import SessionJournal

/// The thread that alone writes and copies the log into the database.
///
/// SQLite 3.40 can damage a log when one connection writes while another copies it
/// (https://sqlite.org/wal.html#walresetbug), so both are done here, one after the other, by one connection.
final class Writer {
    let engine: SQLiteEngine
    var lock: FolderLock?
    /// Nil only in trouble.
    var database: JournalDatabase?
    /// Taken from the queue, not begun.
    var pending: Deque<SQLiteWrite> = []

    /// The file that was opened. What is written to it is lost when it has no name any more.
    var file: JournalFiles.Identity?
    var nextProbe: ContinuousClock.Instant = .now
    /// How many probes failed one after the other.
    var failedProbes = 0
    private var statistics = JournalStatistics()
    /// How long the last commit took, and how many writes were in it.
    private var lastCommit: (duration: Duration, count: Int) = (.zero, 0)
    private var window: CommitWindow

    init(_ engine: SQLiteEngine) {
        self.engine = engine
        window = CommitWindow(length: engine.options.commitWindow, items: engine.options.windowItems)
    }

    /// The thread's life. Tells `opened` once whether the journal could be opened, in trouble or not.
    func run(opened: (Result<Void, JournalOpenError>) -> Void) {
        do {
            try openAtFirst()
        } catch {
            // The journal has no callers, so nothing waits; and there is no reader.
            database = nil
            lock = nil
            engine.end()
            return opened(.failure(error))
        }
        opened(.success(()))
        while true {
            let isClosing = collect()
            if pending.isEmpty {
                if isClosing { break }
                if waitForWindow() { continue }
                window.stayedEmpty()
                let hasWork = engine.status.trouble == nil && database?.hasGarbage == true
                if !hasWork {
                    engine.wait(atMost: engine.status.trouble == nil ? engine.options.probeInterval : nextProbe - .now)
                }
            }
            guard isWell() else {
                refuseAll()
                continue
            }
            if !isClosing {
                if waitForWindow() { _ = collect() }
                gather()
            }
            if !pending.isEmpty { window.begins(count: pending.count, now: .now) }
            commitPending()
            checkpointIfDue()
            publish()
        }
        close()
    }

    /// Takes what is enqueued; says whether there comes no more.
    private func collect() -> Bool {
        let (jobs, isClosing) = engine.drain(into: &pending)
        for job in jobs { job(self) }
        return isClosing
    }

    /// Waits until the next transaction may begin; says whether it waited. What comes meanwhile need not wake the writer.
    private func waitForWindow() -> Bool {
        guard let (count, time) = window.wait(pending: pending.count, now: .now) else { return false }
        engine.wait(for: count, atMost: time)
        return true
    }

    /// Waits a moment for those who were just answered, when a sync costs so much more than that: most of them go on, and
    /// a write that just misses a transaction waits for two syncs.
    private func gather() {
        let patience = min(lastCommit.duration / 8, .milliseconds(1))
        guard !pending.isEmpty, pending.count < lastCommit.count, patience >= .microseconds(25) else { return }
        engine.wait(for: lastCommit.count - pending.count, atMost: patience)
        _ = collect()
    }

    /// Runs `body`, which uses the database, and notes how long that took.
    func timed<Value>(_ body: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        defer { statistics.nanosecondsInSQLite += UInt64(max(0, (ContinuousClock.now - start).nanoseconds)) }
        return try body()
    }

    /// Copies the log into the database when it has grown. Results were enqueued before.
    private func checkpointIfDue() {
        guard let database, database.connection.logPages >= engine.options.checkpointPages else { return }
        timed {
            // A failure leaves the log as it is: nothing is lost, and a disk that fails shows at the next commit.
            let progress = try? database.connection.checkpoint(.passive)
            // Readers keep the log from beginning anew while they look at it. Each look is short, but when many follow one
            // another the log could grow for ever.
            if database.connection.logPages >= engine.options.restartPages || progress == nil {
                database.connection.setBusyTimeout(.milliseconds(20))
                _ = try? database.connection.checkpoint(.restart)
                database.connection.setBusyTimeout(.seconds(1))
            }
        }
    }

    /// Shows the figures. Before results are enqueued, so that a caller that has one finds it counted.
    private func publish() {
        // Each page of the log has a header of 24 bytes, and the log one of 32: https://sqlite.org/fileformat2.html#walformat
        let pages = database?.connection.logPages ?? 0
        statistics.logBytes = pages == 0 ? 0 : 32 + pages * (4_096 + 24)
        engine.status.statistics = statistics
    }

    private func close() {
        // The reader first: the connection that is closed last can remove the log.
        engine.endReader()
        if let database, engine.status.trouble == nil {
            do {
                // Everything is in the database itself then, nothing beside it.
                try database.connection.setCheckpointOnClose(true)
                try database.connection.checkpoint(.truncate)
            } catch {
                engine.logger.warning(
                    "The journal's log could not be copied into it at its end; that is made up for at the next start.",
                    metadata: ["error": "\(error)"])
            }
        }
        database = nil
        lock = nil
        engine.end()
    }

    // MARK: Group commit

    /// Writes a transaction's worth of what waits, and enqueues the results.
    private func commitPending() {
        var writes: [SQLiteWrite] = []
        writes.reserveCapacity(min(pending.count, engine.options.transactionItems))
        var bytes = 0
        while let next = pending.first, writes.count < engine.options.transactionItems {
            guard writes.isEmpty || bytes + next.bytes <= engine.options.transactionBytes else { break }
            pending.removeFirst()
            bytes += next.bytes
            writes.append(next)
        }
        guard let database, !writes.isEmpty || database.hasGarbage else { return }
        let completions = timed { commit(writes[...], to: database) }
        publish()
        if let last = writes.last { engine.finished(last.ticket, bytes: bytes) }
        engine.completions.enqueue(completions, of: writes.lazy.map(\.scope.session))
    }

    /// How far a transaction is.
    private enum Phase { case writing, deletingGarbage, committing }

    /// Commits some writes as one transaction, or each in one of its own; returns their results. Garbage is deleted in
    /// the same transaction.
    private func commit(_ writes: ArraySlice<SQLiteWrite>, to database: JournalDatabase) -> [Completion] {
        if writes.isEmpty, !database.hasGarbage { return [] }
        var phase = Phase.writing
        do {
            let begun = ContinuousClock.now
            try database.begin.run()
            let completions = try writes.map { try $0.run(database) }
            if database.hasGarbage {
                phase = .deletingGarbage
                try database.deleteGarbage(until: .now + engine.options.stepTime)
            }
            phase = .committing
            let start = ContinuousClock.now
            try database.commit.run()
            let now = ContinuousClock.now
            lastCommit = (now - start, writes.count)
            statistics.transactions += 1
            let appends = completions.count { if case .append(.committed, _) = $0 { true } else { false } }
            statistics.appends += appends
            engine.meter.withLock { $0 }?.committed(appends: appends, in: now - begun)
            return completions
        } catch {
            database.rollback()
            return afterFailure(error, phase, writes, database)
        }
    }

    /// What is done about a transaction that was undone.
    private func afterFailure(
        _ error: any Error, _ phase: Phase, _ writes: ArraySlice<SQLiteWrite>, _ database: JournalDatabase
    ) -> [Completion] {
        let failure = StoreError(error, at: engine.files.database)
        let isOfMedium = (error as? SQLiteError)?.isOfMedium == true
        if phase == .committing {
            let isUnknown = (error as? SQLiteError)?.leavesNothingCommitted != true
            if isUnknown {
                // It may stand in the log, complete but for the sync: after a crash it could turn out to be kept.
                var inDoubt = engine.status.inDoubt
                for write in writes { inDoubt.insert(write.scope) }
                engine.status.inDoubt = inDoubt
            }
            beginTrouble(failure)
            return writes.map { $0.fail(failure, isUnknown) }
        }
        // Nothing reached the log as a commit.
        if phase == .deletingGarbage, !isOfMedium {
            // Something in the file is damaged where only this looks. Another start tries again.
            database.hasGarbage = false
            engine.logger.error("Expired sessions could not be deleted.", metadata: ["reason": "\(error)"])
            return commit(writes, to: database)
        }
        if writes.count > 1, !isOfMedium {
            // One of them is bad. Each by itself, so that only that one fails.
            return writes.indices.flatMap { index in
                engine.status.trouble.map { [writes[index].fail($0, false)] }
                    ?? commit(writes[index...index], to: database)
            }
        }
        if isOfMedium {
            beginTrouble(failure)
        } else if failure.code == .unavailable {
            engine.logger.error(
                "The journal could not keep something of a session.", metadata: ["reason": "\(failure)"])
        }
        return writes.map { $0.fail(failure, false) }
    }
}
