import MVI
import PostgreSQL
import SessionJournal

/// What is done with a connection outside requests: the schema, its partitions, and finding out which database it is to.
///
/// Nothing of it depends on the connection's session: through a pooler each transaction may be another server process's.
struct DatabaseSetup {
    private let connection: PostgresConnection
    private let engine: Engine
    private let deadline: ContinuousClock.Instant
    private var sql: Statements { engine.statements }

    init(_ connection: PostgresConnection, engine: Engine, deadline: ContinuousClock.Instant) {
        (self.connection, self.engine, self.deadline) = (connection, engine, deadline)
    }

    /// Makes the schema or brings it up to date, and notes it when the database is another one than before.
    ///
    /// - Throws: `JournalOpenError` if a newer program made the schema.
    func prepare() throws {
        _ = try run(sql.keepalives)
        try Self.noteDurability(of: engine) { try run($0) }
        let latest = engine.options.migrations.count
        if try version() != latest { try migrate(to: latest) }
        try notePlace()
        try makePartitions()
    }

    // MARK: Schema

    /// How many migrations the database has seen; nil if there is no journal.
    private func version() throws -> Int? {
        // Not `to_regclass`: that may not see what was committed while this transaction waited for its lock.
        let there = try run(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = 'meta')
            """, [.text(sql.plainSchema)])
        guard try there.first?.bool(0) == true else { return nil }
        guard let version = try run("SELECT version FROM \(sql.schema).meta").first?.int4(0) else {
            throw StoreError(.unavailable, "The schema \(engine.options.schema) is not that of a journal.")
        }
        guard version <= engine.options.migrations.count else {
            throw JournalOpenError(
                "The journal in \(engine.place) was brought up to date by a newer version of this program: its schema is \(version), this one knows \(engine.options.migrations.count). Use that version."
            )
        }
        return version
    }

    private func migrate(to latest: Int) throws {
        try transaction {
            let version = try version()
            for migration in engine.options.migrations.dropFirst(version ?? 0) {
                if version == nil, migration == engine.options.migrations.first {
                    // Where it is there already, no right to make one is needed.
                    let there = try run(
                        "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", [.text(sql.plainSchema)])
                    if try there.first?.bool(0) != true { _ = try run("CREATE SCHEMA \(sql.schema)") }
                }
                try connection.script(replacing(migration), deadline: deadline)
            }
            if version == nil {
                let secret = JournalSecret.random()
                _ = try run(
                    "INSERT INTO \(sql.schema).meta (version, place, key, generation) VALUES ($1, '', $2, $3)",
                    [.int4(Int32(latest)), .bytea(secret.key), .bytea(secret.generation)])
            } else {
                _ = try run("UPDATE \(sql.schema).meta SET version = $1", [.int4(Int32(latest))])
            }
        }
    }

    private func replacing(_ migration: String) -> String {
        migration.split(separator: "@", omittingEmptySubsequences: false).joined(separator: sql.schema)
    }

    // MARK: Another past

    /// How far the keys of sessions jump when the database is another one: further than sessions can have been made that it
    /// lacks.
    private static let keyJump = 1 << 40

    /// Notes when the database is another one than before, or went another way: after a failover, whose standby may lack what
    /// was committed, and after a restore. Sessions get new epochs then, each when it is touched, and new ones no key that a
    /// session had which is lost: nodes may have it in memory.
    private func notePlace() throws {
        let place = try place()
        let isKnown = try run("SELECT place = \(place) FROM \(sql.schema).meta")
        if try isKnown.first?.bool(0) == true { return }
        try transaction {
            _ = try run(
                """
                WITH noted AS (
                    UPDATE \(sql.schema).meta SET place = \(place),
                        past = past + CASE place WHEN '' THEN 0 ELSE 1 END,
                        generation = CASE place WHEN '' THEN generation ELSE $1 END
                    WHERE place <> \(place) RETURNING past)
                SELECT setval(keys.name, nextval(keys.name) + \(Self.keyJump))
                FROM noted, (SELECT pg_get_serial_sequence('\(sql.quotedText(sql.schema + ".sessions"))', 'key')::regclass AS name)
                    AS keys
                WHERE noted.past > 0
                """, [.bytea(JournalSecret.random().generation)])
        }
    }

    /// The cluster, its timeline, and the table: restored into the same cluster, that is another one.
    ///
    /// - Throws: an error that says what to grant to a user that may not ask for the cluster's identifier.
    private func place() throws -> String {
        // The database's own error would not say what to grant.
        let may = try run("SELECT has_function_privilege('pg_control_system()', 'EXECUTE'), current_user::text")
        if let row = may.first, try !row.bool(0) {
            throw StoreError(
                .unavailable,
                "The user may not ask which cluster the database is in, by which a restore is noticed: GRANT EXECUTE ON FUNCTION pg_control_system() TO \"\(try row.text(1))\"."
            )
        }
        return """
            (SELECT system_identifier::text FROM pg_control_system())
                || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)
                || '/' || '\(sql.quotedText(sql.schema + ".heads"))'::regclass::oid::text
            """
    }

    // MARK: Partitions

    /// Makes those of the present era and the next two.
    func makePartitions() throws {
        let missing = """
            SELECT era FROM generate_series(\(Statements.era), \(Statements.era) + 2) AS era
            WHERE era NOT IN (SELECT era FROM \(sql.schema).eras)
            """
        if try run(missing).rows.isEmpty { return }
        try transaction {
            for row in try run(missing).rows {
                let era = try row.int4(0)
                // Attached afterwards, which does not keep others from writing meanwhile.
                for table in ["labels", "receipts"] {
                    let name = "\(sql.schema).\(table)_\(era)"
                    _ = try run(
                        "CREATE TABLE \(name) (LIKE \(sql.schema).\(table) INCLUDING ALL) WITH (fillfactor = 90)")
                    _ = try run("ALTER TABLE \(sql.schema).\(table) ATTACH PARTITION \(name) FOR VALUES IN (\(era))")
                }
                _ = try run("INSERT INTO \(sql.schema).eras (era) VALUES ($1)", [.int4(Int32(era))])
            }
        }
    }

    /// Drops eras of which nothing is needed any more: all labels' time is over, and receipts are older than any may be.
    func dropPartitions(now: Duration) throws {
        let old = try run(
            "SELECT era FROM \(sql.schema).eras WHERE era < \(Statements.era) - $1::int ORDER BY era",
            [.int4(Int32(engine.options.receiptEras))])
        for row in old.rows {
            let era = try row.int4(0)
            let labels = try run(
                "SELECT coalesce(max(expiry), \(Int64.min)) FROM \(sql.schema).labels WHERE era = $1",
                [.int4(Int32(era))])
            guard let last = try labels.first?.time(0), last < now - engine.options.labelGrace else { continue }
            for table in ["labels", "receipts"] { try drop("\(table)_\(era)", of: table) }
            _ = try run("DELETE FROM \(sql.schema).eras WHERE era = $1", [.int4(Int32(era))])
        }
    }

    /// Without a lock that others would wait for, so in steps.
    private func drop(_ partition: String, of table: String) throws {
        let name = "\(sql.schema).\(partition)"
        let state = try run(
            "SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = to_regclass($1)", [.text(name)])
        if let row = state.first {
            let way = try row.bool(0) ? "FINALIZE" : "CONCURRENTLY"
            _ = try run("ALTER TABLE \(sql.schema).\(table) DETACH PARTITION \(name) \(way)")
        }
        _ = try run("DROP TABLE IF EXISTS \(name)")
    }

    // MARK: Other things

    /// Forgets writers of processes that are gone.
    func dropWriters() throws {
        _ = try run("DELETE FROM \(sql.schema).writers WHERE seen < now() - interval '7 days'")
    }

    func countSessions() throws {
        guard engine.options.sessionLimit < .max else { return }
        let count = try run("SELECT count(*) FROM \(sql.schema).sessions").first?.int8(0)
        engine.withSessions { $0.count = count.map { Int($0) } }
    }

    /// How long ago the oldest transaction of the cluster began, as far as this user may see.
    func oldestTransaction() throws -> Duration? {
        let row = try run(
            """
            SELECT (extract(epoch FROM max(now() - xact_start)) * 1000)::bigint FROM pg_stat_activity
            WHERE backend_xmin IS NOT NULL OR backend_xid IS NOT NULL
            """)
        return try row.first?.optionalInt8(0).map { .milliseconds($0) }
    }

    // MARK: Running

    private func run(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
        let result = try connection.run([PostgresStatement(text, values)], deadline: deadline)
        return result.rows[0]
    }

    /// Runs `body` in a transaction, one process after the other.
    private func transaction(_ body: () throws -> Void) throws {
        let lock = try connection.run(
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
        _ = lock
        do { try body() } catch {
            _ = try? connection.run([PostgresStatement("ROLLBACK")], deadline: deadline)
            throw error
        }
        _ = try run("COMMIT")
    }
}
