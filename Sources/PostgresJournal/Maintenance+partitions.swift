import Logging
import MVI
import PostgreSQL
import SessionJournal

/// The end of partitions.
extension Maintenance {
    /// The longest time for which appends wait behind a partition that is being dropped.
    private static let lockTime: Duration = .milliseconds(100)
    /// The number of a partition's pages that one statement reads.
    private static let pages = 10_000
    /// The largest difference between the database's clock and this machine's, as for nodes: see `JournalClock`.
    private static let tolerance: Duration = .seconds(60)

    /// Drops receipts beyond their longest lifetime, and labels that expired long ago.
    ///
    /// A wrong clock of the database would drop present ones. So the clock must agree with this machine's, and an era
    /// must have been found old before, at least an hour ago, and at each look since then: see `drop_era`.
    func dropPartitions(_ connection: PostgresConnection) throws {
        let sql = engine.statements
        guard try isClockTrusted(connection) else { return }
        let eras = PostgresValue.int4(Int32(engine.options.receiptEras))
        let isOld = "era < \(Statements.era) - $1::int"
        _ = try run(
            connection,
            """
            UPDATE \(sql.schema).eras SET old_since = CASE WHEN \(isOld) THEN now() END
            WHERE CASE WHEN \(isOld) THEN coalesce(old_since > now(), true) ELSE old_since IS NOT NULL END
            """, [eras])
        let old = try run(
            connection,
            """
            SELECT era, labels_until, has_receipts FROM \(sql.schema).eras
            WHERE \(isOld) AND old_since <= now() - interval '1 hour' ORDER BY era
            """, [eras])
        for row in old.rows {
            let era = try row.int4(0)
            if try row.bool(2) { try drop("receipts", era, connection) }
            let until = try row.optionalInt8(1) ?? lastExpiry(of: era, connection)
            let isOver = try run(
                connection, "SELECT $1 < (extract(epoch FROM now()) * 1e9)::bigint - $2",
                [.int8(until), .int8(engine.options.labelGrace.nanoseconds)])
            if try isOver.first?.bool(0) == true { try drop("labels", era, connection) }
        }
    }

    private func isClockTrusted(_ connection: PostgresConnection) throws -> Bool {
        let time = try run(connection, "SELECT (extract(epoch FROM clock_timestamp()) * 1e9)::bigint").first?.time(0)
        let difference = (time ?? .zero) - engine.options.systemTime()
        if difference <= Self.tolerance, .zero - difference <= Self.tolerance { return true }
        engine.logger.warning(
            "The clock of the journal's database differs from this machine's: no labels and receipts are dropped before the wrong one is corrected.",
            metadata: ["seconds": "\(difference.components.seconds)"])
        return false
    }

    /// Returns the time at which the last label of an era expires. Read once, since none is added to a past era. In
    /// pieces, since a long transaction prevents the cleaning of all tables.
    private func lastExpiry(of era: Int, _ connection: PostgresConnection) throws -> Int64 {
        let sql = engine.statements
        let name = "\(sql.schema).labels_\(era)"
        let count = try run(
            connection, "SELECT pg_relation_size(to_regclass($1)) / current_setting('block_size')::bigint",
            [.text(name)])
        guard let pages = try count.first?.optionalInt8(0) else { return .min }
        var last = Int64.min
        for first in stride(from: 0, to: Int(pages), by: Self.pages) {
            if engine.isClosing { throw StoreError.journalClosed }
            let piece = try run(
                connection,
                "SELECT max(expiry) FROM \(name) WHERE ctid >= '(\(first),0)' AND ctid < '(\(first + Self.pages),0)'")
            last = max(last, try piece.first?.optionalInt8(0) ?? .min)
        }
        _ = try run(
            connection, "UPDATE \(sql.schema).eras SET labels_until = $1 WHERE era = $2",
            [.int8(last), .int4(Int32(era))])
        return last
    }

    private func drop(_ table: String, _ era: Int, _ connection: PostgresConnection) throws {
        let sql = engine.statements
        let zero = PostgresValue.milliseconds(.zero)
        _ = try connection.run(
            [
                PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"),
                PostgresStatement(sql.limits, [zero, .milliseconds(Self.lockTime), zero, zero]),
                PostgresStatement("SELECT \(sql.schema).drop_era($1, $2)", [.text(table), .int4(Int32(era))]),
                PostgresStatement("COMMIT"),
            ], deadline: .now + engine.options.transactionTime)
        engine.logger.notice("Old \(table) of the journal were dropped.", metadata: ["era": "\(era)"])
    }
}
