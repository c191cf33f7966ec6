import SessionJournal

/// The bounds of a journal. The defaults suit a server; tests take others.
struct PostgresOptions: Sendable {
    /// How many connections write, and how many read.
    var writers = 2
    var readers = 2
    /// The name of the database's schema.
    var schema = "mvi"
    /// Where news are heard, if not where all else is done: see `PostgresJournal.open`.
    var listenDatabase: String?
    /// How many threads run completion handlers.
    var completionThreads = 2
    /// How many appends one transaction takes at most.
    var groupItems = 256
    /// How many questions one transaction asks at most.
    var readsAtOnce = 128
    /// How many bytes of states, views, labels and the like one transaction takes at most, beyond its first append.
    var groupBytes = 1 << 20
    /// How many requests may wait, and how many bytes of them.
    var waitingItems = 200_000
    var waitingBytes = 512 << 20
    var waitingReads = 10_000
    /// How many sessions one step of expiry takes at most.
    var stepSessions = 64
    /// How long a connection may take to be made.
    var connectTime: Duration = .seconds(5)
    /// How long a transaction may take, from its first byte to the answer to its commit.
    var transactionTime: Duration = .seconds(5)
    /// How long a transaction with several writes waits for a row that another transaction holds. What it did not get waits by
    /// itself afterwards.
    var groupLockTime: Duration = .milliseconds(250)
    /// How long a write waits for such a row altogether.
    var lockTime: Duration = .seconds(4)
    /// How long the database runs one statement.
    var statementTime: Duration = .seconds(10)
    /// How long a transaction that reads may take.
    var readTime: Duration = .seconds(15)
    /// After how long the database ends a transaction whose client does not go on.
    var idleTransactionTime: Duration = .seconds(5)
    /// How often an idle connection shows that the database can be written.
    var probeInterval: Duration = .seconds(5)
    /// How long after a failed attempt the next one comes: at first, and at most.
    var firstRetry: Duration = .milliseconds(100)
    var lastRetry: Duration = .seconds(5)
    /// How often the connection that hears news is tested.
    var heartbeatInterval: Duration = .seconds(1)
    /// News are not relied on when the last test was heard so long ago.
    var heartbeatTime: Duration = .seconds(4)
    /// How often `JournalNews.interrupted` is told while news do not come.
    var pollInterval: Duration = .seconds(3)
    /// How often partitions are made and dropped.
    var maintenanceInterval: Duration = .seconds(600)
    /// How many eras receipts are kept beyond the one in which they were made: a day, which is as long as any is good.
    var receiptEras = 1
    /// How long labels stay after their time.
    var labelGrace: Duration = .seconds(24 * 3_600)
    /// A transaction that is older keeps rows from being cleaned up, and is logged.
    var oldTransaction: Duration = .seconds(300)
    /// Whether the operator says that a standby that takes over has all that was committed: see `--lossless-failover`.
    var failoverLosesNothing = false
    /// How many sessions are kept.
    var sessionLimit = Int.max
    /// How the database's schema came to be.
    var migrations = PostgresSchema.migrations
}

/// What a journal did since it was opened.
package struct PostgresStatistics: Sendable, Hashable {
    /// Transactions that wrote and were committed.
    package var transactions = 0
    /// Appends that were committed.
    package var appends = 0
    /// Appends in the largest group.
    package var largestGroup = 0
    /// Connections that were made.
    package var connections = 0
    /// Connections that were lost.
    package var connectionsLost = 0
    /// Groups that failed and were taken apart.
    package var splits = 0
    /// Writes that wait, those that are under way included.
    package var queueLength = 0
    /// The number of times that news of other processes began to be late, and whether they are.
    package var newsDelays = 0
    package var areNewsLate = false
    /// The age of the oldest transaction in the database as it was last looked for; nil if there was none.
    package var oldestTransaction: Duration?

    package init() {}
}
