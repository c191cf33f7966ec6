import SessionJournal

/// The limits of a journal. The defaults suit a server; tests use others.
struct JournalOptions: Sendable {
    /// The number of threads that run completion handlers.
    var completionThreads = processorCount
    /// See `CommitWindow`.
    var commitWindow: Duration = .milliseconds(1)
    var windowItems = 16
    /// The largest number of operations in a transaction.
    var transactionItems = 2_000
    /// The largest size of a transaction in bytes, beyond its first operation.
    var transactionBytes = 8 << 20
    /// The largest number of waiting writes, and their largest size in bytes.
    var waitingItems: UInt64 = 200_000
    var waitingBytes = 512 << 20
    var waitingReads = 10_000
    /// The number of log pages from which the log is copied into the database: 16 MB.
    var checkpointPages = 4_000
    /// The number of log pages from which a checkpoint waits briefly for readers, so that the log can restart.
    var restartPages = 16_000
    /// The number of sessions in each of the cache's two generations.
    var cachedSessions = 20_000
    /// The longest time for which a step of expiry or another long job may delay appends.
    var stepTime: Duration = .milliseconds(2)
    /// The largest number of sessions in one step of expiry.
    var stepSessions = 64
    /// The interval of probes while the journal is in trouble.
    var probeInterval: Duration = .seconds(1)
    /// The largest number of stored sessions, and that of spaces.
    var sessionLimit = Int.max
    var spaceLimit = 100_000
    /// The migrations of the database's schema.
    var migrations = SQLiteSchema.migrations
}

/// Counts of a journal since it was opened.
package struct JournalStatistics: Sendable, Hashable {
    /// Committed transactions, including steps of expiry.
    package var transactions = 0
    /// Committed appends.
    package var appends = 0
    /// The length of the write-ahead log in bytes. It restarts after all of it was copied into the database.
    package var logBytes = 0
    /// The time that the writer's thread spent in transactions and checkpoints.
    package var nanosecondsInSQLite: UInt64 = 0
    /// The number of waiting writes, including those of the current transaction.
    package var queueLength = 0

    package init() {}
}
