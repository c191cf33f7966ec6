import Logging
import MVI
import PostgreSQL
import SessionJournal

extension PostgresJournalDatabase: SharedJournalMaintenance {
    package func takeOver(_ contents: some JournalContents) throws(StoreError) -> JournalCounts {
        var counts = JournalCounts()
        var transfer: Import?
        try contents.forEachPart { part in
            do {
                if case .beginning(let secret, let lastKey) = part {
                    transfer = try Import(to: target, sql, place: place, secret: secret, lastKey: lastKey)
                }
                try transfer?.add(part)
            } catch {
                // Otherwise it would be treated as an error of the other journal.
                throw StoreError(error, at: place)
            }
            counts.add(part)
        }
        do { try transfer?.commit() } catch { throw StoreError(error, at: place) }
        return counts
    }
}

/// A transaction that fills a journal with the contents of another one. Without a commit it leaves nothing.
private final class Import {
    private let connection: PostgresConnection
    private let sql: Statements
    private let place: String
    private var rows = ImportRows(offset: 0, era: 0, past: 0)
    /// Practically no limit, since there may be many sessions.
    private let deadline = ContinuousClock.now + .seconds(24 * 3_600)

    /// The size of rows that are sent together, in bytes.
    private static let batch = 4 << 20

    /// Creates the schema if it is missing, and begins the transaction.
    ///
    /// - Parameter lastKey: A key that is not below that of any session.
    init(to target: ConnectionTarget, _ sql: Statements, place: String, secret: JournalSecret, lastKey: SessionKey)
        throws
    {
        (self.sql, self.place) = (sql, place)
        connection = try PostgresConnection(target, deadline: .now + .seconds(10))
        // Before anything is created or changed.
        let there = try run("SELECT to_regclass($1) IS NOT NULL", [.text("\(sql.schema).meta")])
        if try there.first?.bool(0) == true { try checkUnused() }
        try makeSchema(target)
        _ = try run("BEGIN ISOLATION LEVEL READ COMMITTED")
        for (name, value) in [
            ("statement_timeout", "0"), ("lock_timeout", "10s"), ("idle_in_transaction_session_timeout", "0"),
        ] {
            _ = try run("SELECT set_config($1, $2, true)", [.text(name), .text(value)])
        }
        // A server that starts now waits here, and then reads the new secret.
        _ = try run("LOCK TABLE \(sql.schema).meta IN ACCESS EXCLUSIVE MODE")
        try checkUnused()
        for statement in sql.replaceSecret(by: secret) { _ = try run(statement.sql, statement.values) }
        // Labels and receipts of removed sessions may remain, so no key is used again.
        let keys = "pg_get_serial_sequence('\(sql.quotedText(sql.schema + ".sessions"))', 'key')::regclass"
        guard let offset = try run("SELECT nextval(\(keys))").first?.int8(0),
            let row = try run("SELECT past, \(Statements.era) FROM \(sql.schema).meta").first
        else { throw StoreError(.unavailable, "The journal in \(place) is damaged: its table meta is empty.") }
        _ = try run("SELECT setval(\(keys), $1)", [.int8(offset + lastKey.number)])
        rows = ImportRows(offset: offset, era: Int64(try row.int4(1)), past: Int64(try row.int4(0)))
    }

    func add(_ part: JournalPart) throws {
        switch part {
        case .beginning, .damaged: break
        case .session(let export): try rows.add(export) { rows in try send(&rows, atLeast: Self.batch) }
        case .endedToken(let token, let until):
            rows.add(endedToken: token, until: until)
            try send(&rows, atLeast: Self.batch)
        }
    }

    func commit() throws {
        try send(&rows, atLeast: 1)
        if rows.hasSpaces { _ = try run(sql.raiseMinimum) }
        guard try run("COMMIT").command == "COMMIT" else {
            throw StoreError(.unavailable, "The database \(place) rolled back the transaction.")
        }
    }

    private func send(_ rows: inout ImportRows, atLeast bytes: Int) throws {
        guard rows.bytes >= bytes else { return }
        let tokens = rows.tokenCount
        let results = try connection.run(rows.take(into: sql.schema), deadline: deadline).rows
        guard tokens == 0 || results.first?.affected == tokens else {
            throw StoreError(.invalid, "Two sessions have the same token: the journal that is read is damaged.")
        }
    }

    /// Creates the schema like a connecting server.
    private func makeSchema(_ target: ConnectionTarget) throws {
        var options = PostgresOptions()
        options.schema = sql.plainSchema
        let logger = Logger(label: "import") { _ in SwiftLogNoOpLogHandler() }
        guard let engine = PostgresEngine(target, listen: target, options: options, logger: logger) else {
            throw StoreError(.unavailable, "The system has no thread for it.")
        }
        // Counts for the end of its threads.
        engine.threadStarted()
        defer { engine.threadEnded() }
        try Migrator(target, options).finish()
        let setup = DatabaseSetup(connection, engine: engine, deadline: .now + .seconds(60))
        try setup.prepare()
        try setup.makePartitions()
    }

    private func checkUnused() throws {
        let recent = "seen > now() - interval '\(PostgresJournalDatabase.silence.components.seconds) seconds'"
        let row = try run(
            """
            SELECT EXISTS (SELECT FROM \(sql.schema).sessions), EXISTS (SELECT FROM \(sql.schema).writers WHERE \(recent))
            """
        ).first
        guard let row else { return }
        if try row.bool(1) {
            throw StoreError(
                .contended,
                "A server used the journal in \(place) in the last \(PostgresJournalDatabase.silence.components.seconds) seconds. Stop all of them first."
            )
        }
        if try row.bool(0) {
            throw StoreError(
                .invalid,
                "The journal in \(place) has sessions, but an import needs one without any. Choose another schema with --journal-schema; or, if its sessions are not needed, remove this one with DROP SCHEMA \(sql.schema) CASCADE."
            )
        }
    }

    private func run(_ text: String, _ values: [PostgresValue] = []) throws -> PostgresRows {
        try connection.run([PostgresStatement(text, values)], deadline: deadline).rows[0]
    }
}
