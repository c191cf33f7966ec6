import SessionJournal

/// The bounds of a journal. The defaults suit a server; tests take others.
struct JournalOptions: Sendable {
    /// How many threads run completion handlers.
    var completionThreads = processorCount
    /// See `CommitWindow`.
    var commitWindow: Duration = .milliseconds(1)
    var windowItems = 16
    /// How many operations one transaction takes at most.
    var transactionItems = 2_000
    /// How many bytes of states, views, labels and the like one transaction takes at most, beyond its first operation.
    var transactionBytes = 8 << 20
    /// How many operations may wait to be written, and how many bytes of them.
    var waitingItems: UInt64 = 200_000
    var waitingBytes = 512 << 20
    var waitingReads = 10_000
    /// From how many pages of the log on it is copied into the database: 16 MB.
    var checkpointPages = 4_000
    /// From how many pages on readers are waited for, a short while, so that the log can begin anew.
    var restartPages = 16_000
    /// How many sessions' heads and stores are remembered in each of two generations.
    var cachedSessions = 20_000
    /// How long one step of expiry or another long job may hold up appends.
    var stepTime: Duration = .milliseconds(2)
    /// How many sessions one step of expiry takes at most.
    var stepSessions = 64
    /// How often a journal in trouble looks whether it is well again.
    var probeInterval: Duration = .seconds(1)
    /// How many sessions are kept.
    var sessionLimit = Int.max
    /// How the database's schema came to be.
    var migrations = SQLiteSchema.migrations
}

/// What a journal did since it was opened.
package struct JournalStatistics: Sendable, Hashable {
    /// Transactions that were committed, steps of expiry included.
    package var transactions = 0
    /// Appends that were committed.
    package var appends = 0
    /// How long the write-ahead log is, in bytes. It begins anew when all of it was copied into the database.
    package var logBytes = 0
    /// How long the writer's thread was in transactions and checkpoints.
    package var nanosecondsInSQLite: UInt64 = 0
    /// How many operations wait to be written, those of the transaction under way included.
    package var queueLength = 0

    package init() {}
}
