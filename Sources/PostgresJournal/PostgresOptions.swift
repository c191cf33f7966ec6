import MVI
import SessionJournal

/// The limits of a journal. The defaults suit a server; tests use others.
struct PostgresOptions: Sendable {
    /// The number of connections that write, and of those that read.
    var writers = 2
    var readers = 2
    /// The name of the database's schema.
    var schema = "mvi"
    /// The database for receiving news, if it differs: see `PostgresJournal.open`.
    var listenDatabase: String?
    /// The present texts of both databases: see `PostgresJournal.open`.
    var rereadDatabase: (@Sendable () throws -> String)?
    var rereadListenDatabase: (@Sendable () throws -> String)?
    /// The number of threads that run completion handlers.
    var completionThreads = 2
    /// The largest number of appends in a transaction.
    var groupItems = 256
    /// The largest number of questions in a transaction.
    var readsAtOnce = 128
    /// The largest size of a transaction in bytes, beyond its first append.
    var groupBytes = 1 << 20
    /// The largest number of waiting requests, and their largest size in bytes.
    var waitingItems = 200_000
    var waitingBytes = 512 << 20
    var waitingReads = 10_000
    /// The largest number of sessions in one step of expiry.
    var stepSessions = 64
    /// The time limit for connecting.
    var connectTime: Duration = .seconds(5)
    /// The time limit of a transaction, from its first byte to the response to its commit.
    var transactionTime: Duration = .seconds(5)
    /// The time for which a transaction with several writes waits for a row that another transaction holds. After that,
    /// the blocked writes wait on their own.
    var groupLockTime: Duration = .milliseconds(250)
    /// The time for which a write waits for such a row in total.
    var lockTime: Duration = .seconds(4)
    /// The database's time limit for a statement.
    var statementTime: Duration = .seconds(10)
    /// The time limit of a reading transaction.
    var readTime: Duration = .seconds(15)
    /// The time without a byte from the database after which requests' questions are refused, also those that wait.
    var silentTime: Duration = .seconds(5)
    /// The time after which the database ends a transaction whose client is silent.
    var idleTransactionTime: Duration = .seconds(5)
    /// The interval at which an idle connection tests that the database is writable.
    var probeInterval: Duration = .seconds(5)
    /// The first and the longest pause between attempts to connect.
    var firstRetry: Duration = .milliseconds(100)
    var lastRetry: Duration = .seconds(5)
    /// The interval of tests of the listener's connection.
    var heartbeatInterval: Duration = .seconds(1)
    /// The time without a test's arrival after which news are considered late.
    var heartbeatTime: Duration = .seconds(4)
    /// The interval of `JournalNews.interrupted` while news are late.
    var pollInterval: Duration = .seconds(3)
    /// The interval at which partitions are created and dropped.
    var maintenanceInterval: Duration = .seconds(600)
    /// The number of eras for which receipts are kept after their own: a day, the longest lifetime of a receipt.
    var receiptEras = 1
    /// The time for which expired labels are kept.
    var labelGrace: Duration = .seconds(24 * 3_600)
    /// This machine's time since 1970.
    var systemTime: @Sendable () -> Duration = { Timestamp.system.sinceEpoch }
    /// The age from which a transaction is logged, because it prevents the cleaning of tables.
    var oldTransaction: Duration = .seconds(300)
    /// The operator's assurance that a standby that takes over has all commits: see `--lossless-failover`.
    var failoverLosesNothing = false
    /// The list of deleted subjects outside the database; nil for none.
    var forgottenList: ForgottenList?
    /// The time after a step of a deletion for which sign-ins of the subject are refused, unless another step follows.
    var forgettingTime: Duration = .seconds(60)
    /// The largest number of stored sessions, and that of spaces.
    var sessionLimit = Int.max
    var spaceLimit = 100_000
    /// The migrations of the database's schema.
    var migrations = PostgresSchema.migrations
}

/// Counts of a journal since it was opened.
package struct PostgresStatistics: Sendable, Hashable {
    /// Committed writing transactions.
    package var transactions = 0
    /// Committed appends.
    package var appends = 0
    /// The number of appends in the largest group.
    package var largestGroup = 0
    /// Opened connections.
    package var connections = 0
    /// Lost connections.
    package var connectionsLost = 0
    /// Groups that failed and were split.
    package var splits = 0
    /// Waiting writes, including running ones.
    package var queueLength = 0
    /// The number of times that news from other processes became late, and whether they are now.
    package var newsDelays = 0
    package var areNewsLate = false
    /// The age of the database's oldest transaction at the last check; nil if there was none.
    package var oldestTransaction: Duration?

    package init() {}
}
