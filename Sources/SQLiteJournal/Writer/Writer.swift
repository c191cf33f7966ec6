import DequeModule
import Logging
import SQLite
import SessionJournal

/// The thread that alone writes and copies the log into the database.
///
/// SQLite 3.40 can damage a log when one connection writes while another copies it
/// (https://sqlite.org/wal.html#walresetbug), so both are done here, one after the other, by one connection.
final class Writer {
    let engine: Engine
    var lock: FolderLock?
    var database: JournalDatabase?
    var cache: SessionCache
    /// Taken from the queue, not begun.
    var pending: Deque<WriterQueue.Entry> = []
    /// What takes many steps, in the order in which it came.
    var expiries: Deque<Expiry> = []
    var backup: BackupJob?
    /// Whether rows of sessions that are gone may still be there.
    var hasGarbage = false

    /// What is wrong; nil while all is well.
    var trouble: JournalFailure?
    var nextProbe: ContinuousClock.Instant = .now
    /// How many probes failed one after the other.
    var failedProbes = 0
    var statistics = JournalStatistics()
    /// How long the last commit took, and how many items were in it.
    var lastCommit: Duration = .zero
    var lastCount = 0

    init(_ engine: Engine) {
        self.engine = engine
        cache = SessionCache(limit: engine.options.cachedSessions)
    }

    /// The thread's life. Tells `opened` once whether the journal could be opened, in trouble or not.
    func run(opened: (Result<Void, JournalOpenError>) -> Void) {
        do {
            try openAtFirst()
        } catch {
            // Nobody has the journal: nothing can be handed over.
            engine.queue.close()
            engine.reads.end()
            engine.reads.hasEnded.wait()
            engine.ended()
            opened(.failure(error))
            return
        }
        opened(.success(()))
        while true {
            let isClosing = engine.queue.take(&pending)
            if isClosing { endJobs() }
            if pending.isEmpty, !hasJobs || isClosing {
                if isClosing { break }
                engine.queue.wait(atMost: trouble == nil ? nil : nextProbe - .now)
            }
            guard isWell() else {
                refuseAll()
                continue
            }
            if !pending.isEmpty {
                if !isClosing { gather() }
                commitPending()
            }
            if hasJobs { stepJobs() }
            checkpointIfDue()
            publish()
        }
        close()
    }

    /// Waits a moment for those who were just answered, when a sync costs so much more than that: most of them go on, and
    /// who just misses a transaction waits for two syncs.
    private func gather() {
        let patience = min(lastCommit / 8, .milliseconds(1))
        guard pending.count < lastCount, patience >= .microseconds(25) else { return }
        engine.queue.wait(for: lastCount - pending.count, atMost: patience)
        _ = engine.queue.take(&pending)
    }

    /// Whether there is something to do beside what is handed over.
    private var hasJobs: Bool { trouble == nil && (!expiries.isEmpty || backup != nil || hasGarbage) }

    /// Runs `body`, which uses the database, and notes how long that took.
    func timed<Value>(_ body: () throws -> Value) rethrows -> Value {
        let start = ContinuousClock.now
        defer { statistics.nanosecondsInSQLite += UInt64(max(0, (ContinuousClock.now - start).nanoseconds)) }
        return try body()
    }

    /// Copies the log into the database when it has grown. Results were handed over before.
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

    /// Shows the figures. Before results are handed over, so that who has one finds it counted.
    func publish() {
        // Each page of the log has a header of 24 bytes, and the log one of 32: https://sqlite.org/fileformat2.html#walformat
        let pages = database?.connection.logPages ?? 0
        statistics.logBytes = pages == 0 ? 0 : 32 + pages * (4_096 + 24)
        let statistics = statistics
        engine.status.withLock { $0.statistics = statistics }
    }

    private func close() {
        // The reader first: whoever closes last can remove the log.
        engine.reads.end()
        engine.reads.hasEnded.wait()
        if let database, trouble == nil {
            do { try database.checkpointAndRelease() } catch {
                engine.logger.warning(
                    "The journal's log could not be copied into it at its end; that is made up for at the next start.",
                    metadata: ["error": "\(error)"])
            }
        }
        database = nil
        lock = nil
        engine.ended()
    }
}
