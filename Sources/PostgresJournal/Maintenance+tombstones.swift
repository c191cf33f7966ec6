import MVI
import PostgreSQL
import SessionJournal

/// The limit of tombstones. Expiry, which runs every few seconds, deletes only those that have ended.
extension Maintenance {
    /// The number of tombstones that one statement passes over, and deletes.
    private static let countedAtOnce = 10_000
    private static let deletedAtOnce = 512

    /// Deletes tombstones beyond the limit, those that end first. Reads the index by end in pages, so that no statement
    /// and no snapshot lasts long.
    func trimTombstones(_ connection: PostgresConnection) throws {
        var rest = engine.options.sessionLimit
        guard rest > 0, rest < .max else { return }
        let sql = engine.statements
        var end = Int64.max
        while rest > 0 {
            let count = min(rest, Self.countedAtOnce)
            guard let row = try page(connection, sql.lastTombstone(before: end, of: count)).first else { return }
            end = try row.int8(0)
            rest -= count
        }
        // Those that end at the same time as the last one stay.
        let drop = sql.dropTombstones(now: .nanoseconds(end - 1), limit: Self.deletedAtOnce)
        while try page(connection, drop).affected == Self.deletedAtOnce {}
    }

    /// Runs a statement that uses indexes whatever the tables' statistics are.
    func page(_ connection: PostgresConnection, _ statement: PostgresStatement) throws -> PostgresRows {
        if engine.isClosing { throw StoreError.journalClosed }
        let begin = PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED")
        let all = [begin, PostgresStatement(engine.statements.plans), statement, PostgresStatement("COMMIT")]
        return try connection.run(all, deadline: .now + engine.options.transactionTime).rows[2]
    }
}
