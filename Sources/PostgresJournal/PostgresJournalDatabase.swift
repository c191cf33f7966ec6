import MVI
import PostgreSQL
import SessionJournal

/// A journal in PostgreSQL for tools. Each call opens a connection.
package struct PostgresJournalDatabase: JournalMaintenance {
    let target: ConnectionTarget
    let sql: Statements

    /// The journal in a schema of a database; see `PostgresJournal.open` for the names.
    ///
    /// - Returns: Nil if libpq cannot parse `database`.
    package init?(database: String, schema: String = "mvi") {
        guard let target = ConnectionTarget(database, applicationName: "mvi-server tool") else { return nil }
        (self.target, sql) = (target, Statements(schema: schema))
    }

    /// Host, port, database, user and schema, without a password.
    package var place: String { "\(target.description), schema \(sql.plainSchema)" }

    package func sessions(after session: SessionKey? = nil, limit: Int) throws(StoreError) -> [SessionOverview] {
        try read([SessionReads.list(sql, after: session, limit: limit)]) { results in
            try results.first?.map { try $0.overview() } ?? []
        }
    }

    package func export(_ id: String) throws(StoreError) -> SessionExport? {
        let reads = SessionReads(sql, export: id)
        return try read(reads.statements) { results in try reads.results(results).first?.export() }
    }

    package func rotateKey(now: Duration, tokenLife: Duration) throws(StoreError) {
        try change { run in
            let rows = try run([PostgresStatement(sql.secret)])
            let secret = try rows.first.map { try JournalSecret($0) }
            guard let secret else { throw StoreError(.unavailable, "The journal's secret is gone.") }
            // Each server must know the key before one of them proves tokens with it.
            let since = now + JournalSecret.spread
            guard let rotated = secret.rotated(now: now, since: since, tokenLife: tokenLife) else {
                let rest = (secret.since - now).components.seconds + 1
                throw StoreError(
                    .contended,
                    "The key was changed a moment ago, and servers may not know it yet. Try again in \(rest) seconds.")
            }
            _ = try run(sql.replaceSecret(by: rotated))
        }
    }

    package func signOutAll() throws(StoreError) -> Int {
        try change { run in
            let recent = "seen > now() - interval '\(Self.silence.components.seconds) seconds'"
            let running = try run([PostgresStatement("SELECT count(*) FROM \(sql.schema).nodes WHERE \(recent)")])
            if let count = try running.first?.first?.int8(0), count > 0 {
                throw StoreError(
                    .contended,
                    "\(count) servers used the journal in the last \(Self.silence.components.seconds) seconds. Stop all of them first: they have sessions in memory."
                )
            }
            return try run(sql.signOutAll)[2].affected
        }
    }

    /// A server without a renewal for this time is not running: servers renew every three seconds.
    static let silence: Duration = .seconds(30)

    /// Changes the journal in one transaction that excludes servers' connection setups.
    private func change<Value>(
        _ body: ((_ statements: [PostgresStatement]) throws -> [PostgresRows]) throws -> Value
    ) throws(StoreError) -> Value {
        do {
            // Practically no limit, since there may be many sessions.
            let deadline = ContinuousClock.now + .seconds(24 * 3600)
            let connection = try PostgresConnection(target, deadline: .now + .seconds(10))
            func run(_ statements: [PostgresStatement]) throws -> [PostgresRows] {
                try connection.run(statements, deadline: deadline).rows
            }
            _ = try run([
                PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"),
                PostgresStatement("SET LOCAL statement_timeout = 0"),
                PostgresStatement("SELECT 1 FROM \(sql.schema).meta FOR UPDATE"),
            ])
            let version = try run([PostgresStatement("SELECT version FROM \(sql.schema).meta")]).first?.first?.int4(0)
            guard version.map({ Int($0) }) == PostgresSchema.migrations.count else {
                throw StoreError(
                    .unavailable,
                    "The journal in \(place) has the schema \(version ?? 0), and this program knows \(PostgresSchema.migrations.count). Use the version of the servers; a server that connects updates an older schema."
                )
            }
            let value = try body(run)
            _ = try run([PostgresStatement("COMMIT")])
            return value
        } catch {
            throw StoreError(error, at: place)
        }
    }

    private func read<Value>(
        _ statements: [PostgresStatement], _ body: (ArraySlice<PostgresRows>) throws -> Value
    ) throws(StoreError) -> Value {
        do {
            let deadline = ContinuousClock.now + .seconds(60)
            let connection = try PostgresConnection(target, deadline: .now + .seconds(10))
            let begin = PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            let results = try connection.run([begin] + statements + [PostgresStatement("COMMIT")], deadline: deadline)
            return try body(results.rows[1..<(results.rows.count - 1)])
        } catch {
            throw StoreError(error, at: place)
        }
    }
}
