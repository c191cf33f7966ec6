import MVI
import PostgreSQL
import SessionJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Creates and migrates the schema on connections of its own, while others continue.
///
/// One process migrates at a time. It holds an advisory lock in an otherwise empty transaction; the others poll. None
/// waits for the lock: a waiting statement has a snapshot, and the concurrent creation of an index would wait for its
/// end.
struct Migrator {
    private let target: ConnectionTarget
    private let sql: Statements
    private let options: PostgresOptions
    private let place: String

    init(_ target: ConnectionTarget, _ options: PostgresOptions) {
        (self.target, self.options, sql) = (target, options, Statements(schema: options.schema))
        place = "\(target.description), schema \(options.schema)"
    }

    /// The longest time for which appends wait behind a lock that is not granted.
    private static let lockTime: Duration = .milliseconds(200)
    /// Migrations have no time limit.
    private static var never: ContinuousClock.Instant { .now + .seconds(365 * 24 * 3600) }
    private var latest: Int { options.migrations.count }

    /// Does what is possible now.
    ///
    /// - Returns: True if the schema is up to date. False if another process migrates it, or a transaction holds a
    ///   table: call it again after a second.
    /// - Throws: `JournalOpenError` if a newer program made the schema and this one may not use it; `StoreError` if
    ///   this user may not change it.
    func migrate() throws -> Bool {
        let connection = try connect()
        guard try version(connection) ?? 0 < latest else { return true }
        try checkOwner(connection)
        let guardian = try connect()
        guard try lock(guardian) else { return false }
        do {
            if try version(connection) == nil { try make(connection) }
            while let done = try version(connection), done < latest { try migrate(connection, from: done) }
        } catch let error as PostgresError where error.state == "55P03" {
            return false
        } catch let error as PipelineFailure where error.error.state == "55P03" {
            return false
        }
        return true
    }

    /// Excludes other processes until the connection is closed. Returns false if another one has the lock.
    ///
    /// Uses the simple protocol: otherwise the other connection's statement keeps its snapshot until its next one.
    private func lock(_ connection: PostgresConnection) throws -> Bool {
        let name = sql.quotedText("mvi migration \(sql.schema)")
        let text = """
            BEGIN ISOLATION LEVEL READ COMMITTED;
            SET LOCAL idle_in_transaction_session_timeout = 0;
            DO $$ BEGIN
                IF NOT pg_try_advisory_xact_lock(hashtextextended('\(name)', 0)) THEN
                    RAISE 'Another process is at it.' USING ERRCODE = 'lock_not_available';
                END IF;
            END $$
            """
        do {
            try connection.script(text, deadline: .now + options.connectTime)
            return true
        } catch {
            if error.state == "55P03" { return false }
            throw error
        }
    }

    /// Grants the use of the journal to a role that owns none of it, such as the nodes' own.
    func grant(to role: String) throws {
        let name = "\"" + role.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        let connection = try connect()
        for grant in [
            "USAGE ON SCHEMA \(sql.schema)", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(sql.schema)",
            "SELECT, UPDATE, USAGE ON ALL SEQUENCES IN SCHEMA \(sql.schema)",
            "EXECUTE ON ALL FUNCTIONS IN SCHEMA \(sql.schema)",
        ] { _ = try run(connection, "GRANT \(grant) TO \(name)") }
    }

    /// Migrates completely. Blocks while others are in the way.
    func finish() throws { while try !migrate() { sleep(1) } }

    private func connect() throws -> PostgresConnection {
        try PostgresConnection(target, deadline: .now + options.connectTime)
    }

    /// Returns the number of migrations applied to the database; nil if there is no journal.
    ///
    /// - Throws: `JournalOpenError` if a newer program made the schema and this one may not use it.
    private func version(_ connection: PostgresConnection) throws -> Int? {
        try SchemaVersion.read(connection, sql, deadline: .now + options.transactionTime)?
            .checked(known: latest, place: place)
    }

    /// - Throws: an error with advice if this user may not change the schema.
    private func checkOwner(_ connection: PostgresConnection) throws {
        let rows = try run(
            connection,
            """
            SELECT pg_has_role(nspowner, 'USAGE'), current_user::text FROM pg_namespace WHERE nspname = $1
                AND EXISTS (SELECT FROM pg_class WHERE relnamespace = pg_namespace.oid AND relname = 'meta')
            """, [.text(sql.plainSchema)])
        guard let row = rows.first, try !row.bool(0) else { return }
        throw StoreError(
            .unavailable,
            "The journal in PostgreSQL (\(place)) has an older schema than this program needs, and the user \(try row.text(1)) does not own it. Run \"mvi-server migrate\" as its owner."
        )
    }

    /// Creates a missing schema, whose tables nobody uses yet.
    private func make(_ connection: PostgresConnection) throws {
        try transaction(connection) {
            // An existing schema needs no right to create one.
            let there = try run(
                connection, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", [.text(sql.plainSchema)])
            if try there.first?.bool(0) != true { _ = try run(connection, "CREATE SCHEMA \(sql.schema)") }
            for (place, migration) in options.migrations.enumerated() {
                try connection.script(replacing(migration.sql), deadline: Self.never)
                for index in migration.indexes {
                    _ = try run(connection, "\(index.creation) \(index.name) \(replacing(index.definition))")
                }
                guard place == 0 else { continue }
                let secret = JournalSecret.random()
                _ = try run(
                    connection,
                    "INSERT INTO \(sql.schema).meta (version, place, key, generation) VALUES (1, '', $1, $2)",
                    [.bytea(secret.key), .bytea(secret.generation)])
            }
            try note(connection, latest)
        }
    }

    /// Migrates from one version to the next.
    private func migrate(_ connection: PostgresConnection, from version: Int) throws {
        let (number, migration) = (version + 1, options.migrations[version])
        // A migration with indexes is noted only after they are complete, since it may be started again.
        let isMade = try !migration.indexes.isEmpty && isBegun(connection, number)
        try transaction(connection) {
            if !isMade { try connection.script(replacing(migration.sql), deadline: Self.never) }
            if migration.indexes.isEmpty { try note(connection, number) } else { try noteBegun(connection, number) }
        }
        guard !migration.indexes.isEmpty else { return }
        for index in migration.indexes { try make(index, connection) }
        try transaction(connection) { try note(connection, number) }
    }

    /// Notes in the comment of the schema's `meta` table that a migration's indexes are being created.
    private func noteBegun(_ connection: PostgresConnection, _ number: Int) throws {
        _ = try run(connection, "COMMENT ON TABLE \(sql.schema).meta IS 'migration \(number) is begun'")
    }

    private func isBegun(_ connection: PostgresConnection, _ number: Int) throws -> Bool {
        let comment = try run(
            connection, "SELECT coalesce(obj_description($1::regclass, 'pg_class'), '')", [.text("\(sql.schema).meta")])
        return try comment.first?.text(0) == "migration \(number) is begun"
    }

    private func note(_ connection: PostgresConnection, _ number: Int) throws {
        _ = try run(connection, "UPDATE \(sql.schema).meta SET version = $1", [.int4(Int32(number))])
        // The column exists since the fifth version.
        guard number >= 5 else { return }
        let minimum = PostgresSchema.minimum(of: Array(options.migrations.prefix(number)))
        // The first space has raised it.
        _ = try run(
            connection, "UPDATE \(sql.schema).meta SET minimum = greatest(minimum, $1)", [.int4(Int32(minimum))])
    }

    /// Creates an index concurrently with writes. An invalid one of an earlier attempt is created again.
    private func make(_ index: PostgresSchema.Index, _ connection: PostgresConnection) throws {
        let name = "\(sql.schema).\(index.name)"
        let there = try run(
            connection, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)", [.text(name)])
        if let row = there.first {
            if try row.bool(0) { return }
            _ = try run(connection, "DROP INDEX CONCURRENTLY \(name)")
        }
        _ = try run(connection, "\(index.creation) CONCURRENTLY \(index.name) \(replacing(index.definition))")
    }

    private func replacing(_ text: String) -> String {
        text.split(separator: "@", omittingEmptySubsequences: false).joined(separator: sql.schema)
            .split(separator: "#", omittingEmptySubsequences: false)
            .joined(separator: "'\(sql.quotedText(sql.plainSchema))'")
    }

    // MARK: Running

    private func run(
        _ connection: PostgresConnection, _ text: String, _ values: [PostgresValue] = []
    ) throws -> PostgresRows {
        try connection.run([PostgresStatement(text, values)], deadline: Self.never).rows[0]
    }

    private func transaction(_ connection: PostgresConnection, _ body: () throws -> Void) throws {
        let zero = PostgresValue.milliseconds(.zero)
        _ = try connection.run(
            [
                PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"),
                PostgresStatement(sql.limits, [zero, .milliseconds(Self.lockTime), zero, zero]),
            ], deadline: .now + options.transactionTime)
        do { try body() } catch {
            _ = try? run(connection, "ROLLBACK")
            throw error
        }
        _ = try run(connection, "COMMIT")
    }
}

/// The number of migrations applied to a database, and the number that a program must know to use it.
struct SchemaVersion {
    let version: Int
    let minimum: Int

    /// Nil if there is no journal.
    static func read(
        _ connection: PostgresConnection, _ sql: Statements, deadline: ContinuousClock.Instant
    ) throws -> SchemaVersion? {
        func run(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
            try connection.run([PostgresStatement(text, values)], deadline: deadline).rows[0]
        }
        // Not `to_regclass`, which may not see changes that were committed while this transaction waited for its lock.
        let there = try run(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                WHERE n.nspname = $1 AND c.relname = 'meta')
            """, [.text(sql.plainSchema)])
        guard try there.first?.bool(0) == true else { return nil }
        guard let version = try run("SELECT version FROM \(sql.schema).meta").first?.int4(0) else {
            throw StoreError(.unavailable, "The schema \(sql.plainSchema) is not that of a journal.")
        }
        guard version >= 5 else { return SchemaVersion(version: Int(version), minimum: Int(version)) }
        let minimum = try run("SELECT minimum FROM \(sql.schema).meta").first?.int4(0)
        return SchemaVersion(version: Int(version), minimum: Int(minimum ?? version))
    }

    /// Returns the version if a program that knows this number of migrations may use it.
    ///
    /// - Throws: `JournalOpenError` otherwise.
    func checked(known: Int, place: String) throws -> Int {
        guard version > known, minimum > known else { return version }
        throw JournalOpenError(
            "The journal in \(place) was updated by a newer version of this program: its schema is \(version), this one knows \(known). Use that version."
        )
    }
}
