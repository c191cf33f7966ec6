import MVI
import PostgreSQL
import SessionJournal

/// What is done with a connection outside requests: the schema, its partitions, and finding out which database it is to.
///
/// Nothing of it depends on the connection's session: through a pooler each transaction may be another server process's.
struct DatabaseSetup {
    private let connection: PostgresConnection
    private let engine: PostgresEngine
    private let deadline: ContinuousClock.Instant
    private var sql: Statements { engine.statements }

    init(_ connection: PostgresConnection, engine: PostgresEngine, deadline: ContinuousClock.Instant) {
        (self.connection, self.engine, self.deadline) = (connection, engine, deadline)
    }

    /// Readies a connection: the schema has to be one that this program knows, and it is noted if the database is another one
    /// than before.
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
                .unavailable, "The journal's schema (\(engine.place)) is being made or brought up to date.")
        }
        try notePlace()
    }

    // MARK: Another past

    /// How far the keys of sessions jump when the database is another one: further than sessions can have been made that it
    /// lacks.
    private static let keyJump = 1 << 40

    /// Notes when the database is another one than before, or went another way: after a failover, whose standby may lack what
    /// was committed, and after a restore. Sessions get new epochs then, each when it is touched, and new ones no key that a
    /// session had which is lost: nodes may have it in memory.
    private func notePlace() throws {
        try checkRight()
        let isKnown = try run("SELECT place = \(sql.place) FROM \(sql.schema).meta")
        if try isKnown.first?.bool(0) == true { return }
        // What an operator's word is about: the same tables of the same cluster, on another timeline.
        let isOnlyPromoted =
            engine.options.failoverLosesNothing
            ? "regexp_replace(place, '/[^/]*/', '/') = regexp_replace(\(sql.place), '/[^/]*/', '/')" : "false"
        let isOther = try transaction { () -> Bool in
            let change = try run(
                """
                WITH noted AS (
                    UPDATE \(sql.schema).meta SET place = \(sql.place),
                        past = past + CASE WHEN place = '' OR \(isOnlyPromoted) THEN 0 ELSE 1 END,
                        generation = CASE WHEN place = '' OR \(isOnlyPromoted) THEN generation ELSE $1 END
                    WHERE place <> \(sql.place) RETURNING past, generation = $1 AS is_other)
                SELECT CASE WHEN noted.is_other THEN setval(keys.name, nextval(keys.name) + \(Self.keyJump)) END,
                    noted.is_other
                FROM noted, (SELECT pg_get_serial_sequence('\(sql.quotedText(sql.schema + ".sessions"))', 'key')::regclass AS name)
                    AS keys
                """, [.bytea(JournalSecret.random().generation)])
            guard let row = change.first, try row.bool(1) else { return false }
            // Those that live come again under other ids, and take over what the old ones owned.
            for table in ["nodes", "streams"] { _ = try run("DELETE FROM \(sql.schema).\(table)") }
            return true
        }
        guard isOther else { return }
        engine.logger.warning(
            "The journal's database is another one than before, or went another way: what was kept last may be lost. Each session gets a new epoch, and clients begin anew with what is kept.",
            metadata: ["place": "\(engine.place)"])
    }

    /// - Throws: an error that says what to grant to a user that may not ask for the cluster's identifier.
    private func checkRight() throws {
        // The database's own error would not say what to grant.
        let may = try run("SELECT has_function_privilege('pg_control_system()', 'EXECUTE'), current_user::text")
        if let row = may.first, try !row.bool(0) {
            throw StoreError(
                .unavailable,
                "The user may not ask which cluster the database is in, by which a restore is noticed: GRANT EXECUTE ON FUNCTION pg_control_system() TO \"\(try row.text(1))\"."
            )
        }
    }

    // MARK: Partitions

    /// Makes those of the present era and the next two.
    func makePartitions() throws { _ = try run("SELECT \(sql.schema).make_eras()") }

    // MARK: Running

    private func run(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
        let result = try connection.run([PostgresStatement(text, values)], deadline: deadline)
        return result.rows[0]
    }

    /// Runs `body` in a transaction, one process after the other.
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
