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
    let engine: Engine
    var lock: FolderLock?
    /// Nil only in trouble.
    var database: JournalDatabase?
    /// Taken from the queue, not begun.
    var pending: Deque<JournalQueue.Waiting> = []
    var backup: BackupJob?

    var nextProbe: ContinuousClock.Instant = .now
    /// How many probes failed one after the other.
    var failedProbes = 0
    var statistics = JournalStatistics()
    /// How long the last commit took, and how many writes were in it.
    var lastCommit: Duration = .zero
    var lastCount = 0

    init(_ engine: Engine) { self.engine = engine }

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
            let (backups, isClosing) = engine.queue.take(&pending)
            for request in backups { begin(request) }
            if pending.isEmpty {
                if isClosing { break }
                if !hasWork { engine.queue.wait(atMost: engine.trouble == nil ? nil : nextProbe - .now) }
            }
            guard isWell() else {
                refuseAll()
                continue
            }
            if !isClosing { gather() }
            commitPending()
            if let backup { step(backup) }
            checkpointIfDue()
            publish()
        }
        close()
    }

    /// Whether there is something to do beside what is enqueued.
    private var hasWork: Bool { engine.trouble == nil && (backup != nil || database?.hasGarbage == true) }

    /// Waits a moment for those who were just answered, when a sync costs so much more than that: most of them go on, and
    /// a write that just misses a transaction waits for two syncs.
    private func gather() {
        let patience = min(lastCommit / 8, .milliseconds(1))
        guard !pending.isEmpty, pending.count < lastCount, patience >= .microseconds(25) else { return }
        engine.queue.wait(for: lastCount - pending.count, atMost: patience)
        for request in engine.queue.take(&pending).backups { begin(request) }
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
    func publish() {
        // Each page of the log has a header of 24 bytes, and the log one of 32: https://sqlite.org/fileformat2.html#walformat
        let pages = database?.connection.logPages ?? 0
        statistics.logBytes = pages == 0 ? 0 : 32 + pages * (4_096 + 24)
        engine.statistics = statistics
    }

    private func close() {
        endBackup(with: .journalClosed)
        // The reader first: the connection that is closed last can remove the log.
        engine.queue.endReader()
        if let database, engine.trouble == nil {
            do { try database.checkpointAndRelease() } catch {
                engine.logger.warning(
                    "The journal's log could not be copied into it at its end; that is made up for at the next start.",
                    metadata: ["error": "\(error)"])
            }
        }
        database = nil
        lock = nil
        engine.end()
    }
}
