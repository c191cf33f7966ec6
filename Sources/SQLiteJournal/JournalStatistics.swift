/// What a journal did since it was opened.
public struct JournalStatistics: Sendable, Hashable {
    /// Transactions that were committed, steps of expiry included.
    public var transactions = 0
    /// Appends that were committed.
    public var appends = 0
    /// How long the write-ahead log is, in bytes. It begins anew when all of it was copied into the database.
    public var logBytes = 0
    /// How long the writer's thread was in transactions and checkpoints.
    public var nanosecondsInSQLite: UInt64 = 0
    /// How many operations wait to be written, those of the transaction under way included.
    public var queueLength = 0

    public init() {}
}
