import MVI
import PostgreSQL
import SessionJournal

/// A position in the database's log.
struct LogPosition: Comparable {
    /// `meta.past`. Positions of a later past come after all others.
    var past = 0
    var bytes: Int64 = 0

    init() {}

    /// Reads the past from a column and the position from the next one.
    init(_ row: PostgresRow, _ column: Int) throws(PostgresError) {
        (past, bytes) = (try row.int4(column), try row.int8(column + 1))
    }

    static func < (left: LogPosition, right: LogPosition) -> Bool {
        (left.past, left.bytes) < (right.past, right.bytes)
    }
}

/// Setup of a connection: the schema, its partitions, and the identification of the database.
///
/// Nothing depends on the connection's session: behind a pooler each transaction may run in another server process.
struct DatabaseSetup {
    private let connection: PostgresConnection
    private let engine: PostgresEngine
    private let deadline: ContinuousClock.Instant
    private var sql: Statements { engine.statements }

    init(_ connection: PostgresConnection, engine: PostgresEngine, deadline: ContinuousClock.Instant) {
        (self.connection, self.engine, self.deadline) = (connection, engine, deadline)
    }

    /// Prepares a connection: checks that this program knows the schema, and notes a change of the database.
    ///
    /// - Throws: `JournalOpenError` if a newer program made the schema and this one may not use it.
    func prepare() throws {
        _ = try run(sql.keepalives)
        try Self.noteDurability(of: engine) { try run($0) }
        let version = try SchemaVersion.read(connection, sql, deadline: deadline)?
            .checked(known: engine.options.migrations.count, place: engine.place)
        guard version ?? 0 >= engine.options.migrations.count else {
            engine.wakeMaintenance()
            throw StoreError(
                .unavailable, "The journal's schema (\(engine.place)) is being created or updated.")
        }
        guard engine.appliedForgotten.withLock({ $0 }) else {
            throw StoreError(
                .unavailable, "The list of deleted subjects is being applied to the journal (\(engine.place)).")
        }
        try notePlace()
    }

    // MARK: Another past

    /// The gap in the sessions' keys after a change of the database. It exceeds the number of sessions that may have
    /// been lost.
    private static let keyJump = 1 << 40

    /// Notes that the database was replaced or lost commits, as after a restore or a failover to a lagging standby.
    /// Sessions then get new epochs when they are next used, and new sessions skip the keys of lost ones, which nodes
    /// may have in memory.
    private func notePlace() throws {
        try checkRight()
        // A log that ends before a commit that this process was told of has lost it, whatever the setting says. Read before
        // the log's end: other connections go on.
        let acknowledged = engine.acknowledged.withLock { $0 }
        let known = try run("SELECT place = \(sql.place), past, \(Statements.position) FROM \(sql.schema).meta")
        let hasLost = try known.first.map { try LogPosition($0, 1) < acknowledged } ?? false
        if try known.first?.bool(0) == true, !hasLost { return }
        // The operator's setting covers this case: the same tables of the same cluster, on another timeline. Each node
        // must have it.
        let isOnlyPromoted =
            engine.options.failoverLosesNothing && !hasLost
            ? """
            regexp_replace(place, '/[^/]*/', '/') = regexp_replace(\(sql.place), '/[^/]*/', '/')
                AND NOT EXISTS (SELECT FROM \(sql.schema).nodes WHERE NOT lossless)
            """ : "false"
        guard try transaction({ try noteOther(isOnlyPromoted, hasLost ? acknowledged.past : nil) }) else { return }
        engine.logger.warning(
            "The journal's database was replaced, restored or promoted: the last commits may be lost. Each session gets a new epoch, and clients reload the stored state.",
            metadata: ["place": "\(engine.place)", "lost": "\(hasLost)"])
    }

    /// Returns true if the database is noted as another one now.
    ///
    /// - Parameter lost: the past of an acknowledged commit that the log has not; nil if none is known. Another connection
    ///   or process that noted the loss has begun a later past.
    private func noteOther(_ isOnlyPromoted: String, _ lost: Int?) throws -> Bool {
        let change = try run(
            """
            WITH noted AS (
                UPDATE \(sql.schema).meta SET place = \(sql.place),
                    past = CASE WHEN place = '' OR \(isOnlyPromoted) THEN past ELSE greatest(past, $2) + 1 END,
                    generation = CASE WHEN place = '' OR \(isOnlyPromoted) THEN generation ELSE $1 END
                WHERE place <> \(sql.place) OR past <= $2 RETURNING past, generation = $1 AS is_other)
            SELECT CASE WHEN noted.is_other THEN setval(keys.name, nextval(keys.name) + \(Self.keyJump)) END,
                noted.is_other
            FROM noted, (SELECT pg_get_serial_sequence('\(sql.quotedText(sql.schema + ".sessions"))', 'key')::regclass AS name)
                AS keys
            """, [.bytea(JournalSecret.random().generation), .int4(lost.map { Int32($0) })])
        guard let row = change.first, try row.bool(1) else { return false }
        // Living nodes join again under other ids and take over the sessions of the old ones.
        for table in ["nodes", "streams"] { _ = try run("DELETE FROM \(sql.schema).\(table)") }
        return true
    }

    /// - Throws: an error that names the missing grant if the user may not read the cluster's identifier.
    private func checkRight() throws {
        // The database's own error does not name the grant.
        let may = try run("SELECT has_function_privilege('pg_control_system()', 'EXECUTE'), current_user::text")
        if let row = may.first, try !row.bool(0) {
            throw StoreError(
                .unavailable,
                "The user may not read the cluster's identifier, which is needed to notice a restore: GRANT EXECUTE ON FUNCTION pg_control_system() TO \"\(try row.text(1))\"."
            )
        }
    }

    // MARK: Partitions

    /// Creates the partitions of the present era and the next two.
    func makePartitions() throws { _ = try run("SELECT \(sql.schema).make_eras()") }

    // MARK: Running

    private func run(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
        let result = try connection.run([PostgresStatement(text, values)], deadline: deadline)
        return result.rows[0]
    }

    /// Runs `body` in a transaction that excludes other processes.
    private func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        _ = try connection.run(
            [
                PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"),
                PostgresStatement(
                    sql.limits,
                    [
                        .milliseconds(engine.options.statementTime), .milliseconds(engine.options.transactionTime),
                        .milliseconds(engine.options.idleTransactionTime), .milliseconds(.zero),
                    ]),
                PostgresStatement(
                    "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [.text("mvi journal \(sql.schema)")]),
            ], deadline: deadline)
        let value: Value
        do { value = try body() } catch {
            _ = try? connection.run([PostgresStatement("ROLLBACK")], deadline: deadline)
            throw error
        }
        _ = try run("COMMIT")
        return value
    }
}
