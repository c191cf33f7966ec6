import Logging
import MVI
import SessionJournal
import Testing

@testable import PostgresJournal

/// A schema of its own, in the shared server or another one.
struct TestSchema: Sendable {
    let cluster: Cluster
    let name = "test_\(UInt64.random(in: 0 ... .max))"

    init(in cluster: Cluster? = nil) async throws {
        if let cluster { self.cluster = cluster } else { self.cluster = try await Cluster.shared.value }
    }

    /// Opens a journal in it. Each call opens another one, like another server.
    ///
    /// - Parameter url: A pooler's; nil for the server's own.
    func journal(
        user: String = "mvi", url: String? = nil,
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ change: (inout PostgresOptions) -> Void = { _ in }
    ) async throws -> PostgresJournal {
        var options = PostgresOptions()
        options.schema = name
        options.firstRetry = .milliseconds(5)
        options.lastRetry = .milliseconds(50)
        // Bounds on a hang only: a slow machine is no fault of the database. Tests of a deadline set it.
        let patience = Duration.seconds(120)
        (options.connectTime, options.readTime, options.heartbeatTime) = (patience, patience, patience)
        options.silentTime = patience
        (options.transactionTime, options.statementTime, options.idleTransactionTime) = (patience, patience, patience)
        change(&options)
        return try await PostgresJournal.open(
            database: url ?? cluster.url(user: user), logger: logger, options: options)
    }

    /// The same, when its schema is the newest that it knows. A migration waits 0.2 s for a lock and then tries again, so on
    /// a busy machine a journal may begin with trouble.
    func migrated(_ change: (inout PostgresOptions) -> Void = { _ in }) async throws -> PostgresJournal {
        let journal = try await journal(change)
        try await journal.waitForTrouble(false)
        return journal
    }

    /// The journal in it for tools.
    func tool() throws -> PostgresJournalDatabase {
        try #require(PostgresJournalDatabase(database: cluster.url(user: "mvi"), schema: name))
    }

    /// Returns the number that a query selects.
    func number(_ sql: String) async throws -> Int64 {
        try #require(try await cluster.run(sql.replacing("@", with: name)).first).int8(0)
    }

    /// Deletes all data of journals in it, if it exists.
    func empty() async throws {
        try await run(
            """
            DO $$ DECLARE name text; BEGIN
                FOR name IN SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                    WHERE n.nspname = '@' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                        AND c.relname NOT IN ('meta', 'eras')
                LOOP EXECUTE format('DELETE FROM @.%I', name); END LOOP;
            END $$
            """)
    }

    /// Runs a statement in which `@` stands for the schema's name.
    func run(_ sql: String) async throws { try await cluster.run(sql.replacing("@", with: name)) }
}
