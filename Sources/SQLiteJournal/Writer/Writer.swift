import DequeModule
import Logging
import MVI
import SQLite
import SessionJournal

/// The only thread that writes and copies the log into the database.
///
/// SQLite 3.40 can damage a log if one connection writes while another copies it
/// (https://sqlite.org/wal.html#walresetbug), so one connection does both in turn.
final class Writer {
    let engine: SQLiteEngine
    var lock: FolderLock?
    /// Nil only in trouble.
    var database: JournalDatabase?
    /// Taken from the queue, not started.
    var pending: Deque<SQLiteWrite> = []

    /// The opened file and its log. Once one of them has no name, writes to it are lost.
    var (file, log): (JournalFiles.Identity?, JournalFiles.Identity?)
    var nextProbe: ContinuousClock.Instant = .now
    /// The number of consecutive failed probes.
    var failedProbes = 0
    /// Nil unless the log is to be emptied.
    var emptying: LogEmptying?
    /// The time before which the log is not emptied again.
    var nextEmptying: ContinuousClock.Instant = .now
    private var statistics = JournalStatistics()
    /// The duration of the last commit and the number of its writes.
    private var lastCommit: (duration: Duration, count: Int) = (.zero, 0)
    private var window: CommitWindow

    init(_ engine: SQLiteEngine) {
        self.engine = engine
        window = CommitWindow(length: engine.options.commitWindow, items: engine.options.windowItems)
    }

    /// The thread's main function. Calls `opened` once with the result of opening, which succeeds also in trouble.
    func run(opened: (Result<Void, JournalOpenError>) -> Void) {
        do {
            try openAtFirst()
        } catch {
            // The journal has no callers, so nothing waits and there is no reader.
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
                    let probe = engine.status.trouble == nil ? engine.options.probeInterval : nextProbe - .now
                    engine.wait(atMost: emptying.map { min(probe, max(.zero, $0.next - .now)) } ?? probe)
                }
            }
            guard isWell() else {
                refuseAll()
                emptyLogIfDue()
                continue
            }
            if !isClosing {
                if waitForWindow() { _ = collect() }
                gather()
            }
            if !pending.isEmpty { window.begins(count: pending.count, now: .now) }
            commitPending()
            checkpointIfDue()
            emptyLogIfDue()
            publish()
        }
        close()
    }

    /// Takes the enqueued requests. Returns true if the queue is closed.
    private func collect() -> Bool {
        let (jobs, isClosing) = engine.drain(into: &pending)
        for job in jobs { job(self) }
        return isClosing
    }

    /// Waits until the next transaction may begin. Returns true if it waited. Writes need not wake the writer.
    private func waitForWindow() -> Bool {
        guard let (count, time) = window.wait(pending: pending.count, now: .now) else { return false }
        engine.wait(for: count, atMost: time)
        return true
    }

    /// Waits a moment for the clients that were just answered, if a sync costs much more: most of them continue, and a
    /// write that just misses a transaction waits for two syncs.
    private func gather() {
        let patience = min(lastCommit.duration / 8, .milliseconds(1))
        guard !pending.isEmpty, pending.count < lastCommit.count, patience >= .microseconds(25) else { return }
        engine.wait(for: lastCommit.count - pending.count, atMost: patience)
        _ = collect()
    }

    /// Runs `body`, which uses the database, and records its duration.
    func timed<Value>(_ body: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        defer { statistics.nanosecondsInSQLite += UInt64(max(0, (ContinuousClock.now - start).nanoseconds)) }
        return try body()
    }

    /// Copies a grown log into the database. Results were enqueued before.
    private func checkpointIfDue() {
        guard let database, database.connection.logPages >= engine.options.checkpointPages else { return }
        timed {
            // A failure leaves the log unchanged: nothing is lost, and the next commit shows a failing disk.
            let progress = try? database.connection.checkpoint(.passive)
            // The log cannot restart while it is being read. Each read is short, but overlapping ones could let the log
            // grow forever.
            if database.connection.logPages >= engine.options.restartPages || progress == nil {
                database.connection.setBusyTimeout(.milliseconds(20))
                _ = try? database.connection.checkpoint(.restart)
                database.connection.setBusyTimeout(JournalDatabase.busyTimeout)
            }
        }
    }

    /// Publishes the statistics, before results are enqueued, so that a caller finds its result counted.
    private func publish() {
        // Each page of the log has a header of 24 bytes, and the log one of 32: https://sqlite.org/fileformat2.html#walformat
        let pages = database?.connection.logPages ?? 0
        statistics.logBytes = pages == 0 ? 0 : 32 + pages * (4_096 + 24)
        engine.status.statistics = statistics
    }

    private func close() {
        // The reader first, since the last connection to close can remove the log.
        engine.endReader()
        if let database, engine.status.trouble == nil {
            do {
                // Afterwards the database file alone contains everything.
                try database.connection.setCheckpointOnClose(true)
                try database.connection.checkpoint(.truncate)
                emptying?.tell(.success(()))
            } catch {
                engine.logger.warning(
                    "The journal's log could not be copied into the database at shutdown; the next start does that.",
                    metadata: ["error": "\(error)"])
            }
        }
        emptying?.tell(.failure(.journalClosed))
        database = nil
        lock = nil
        engine.end()
    }

    // MARK: Group commit

    /// Writes one transaction of waiting writes and enqueues the results.
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

    /// The phase of a transaction.
    private enum Phase { case writing, deletingGarbage, committing }

    /// Commits the writes as one transaction, or each in its own, and returns their results. Deletes garbage in the
    /// same transaction.
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

    /// Returns the results of a rolled-back transaction, retrying its writes one by one if one of them caused it.
    private func afterFailure(
        _ error: any Error, _ phase: Phase, _ writes: ArraySlice<SQLiteWrite>, _ database: JournalDatabase
    ) -> [Completion] {
        let failure = StoreError(error, at: engine.files.database)
        let isOfMedium = (error as? SQLiteError)?.isOfMedium == true
        if phase == .committing {
            let isUnknown = (error as? SQLiteError)?.leavesNothingCommitted != true
            if isUnknown {
                // The commit may be in the log without a sync, so a crash might restore it.
                var inDoubt = engine.status.inDoubt
                for write in writes { inDoubt.insert(write.scope) }
                engine.status.inDoubt = inDoubt
            }
            beginTrouble(failure)
            return writes.map { $0.fail(failure, isUnknown) }
        }
        // No commit reached the log.
        if phase == .deletingGarbage, !isOfMedium {
            // The file is damaged in a place that only this reads. The next start retries.
            database.hasGarbage = false
            engine.logger.error("Expired sessions could not be deleted.", metadata: ["reason": "\(error)"])
            return commit(writes, to: database)
        }
        if writes.count > 1, !isOfMedium {
            // One of them failed. Each runs alone, so that only that one fails.
            return writes.indices.flatMap { index in
                engine.status.trouble.map { [writes[index].fail($0, false)] }
                    ?? commit(writes[index...index], to: database)
            }
        }
        if isOfMedium {
            beginTrouble(failure)
        } else if failure.code == .unavailable {
            engine.logger.error(
                "The journal could not store a change of a session.", metadata: ["reason": "\(failure)"])
        }
        return writes.map { $0.fail(failure, false) }
    }
}
