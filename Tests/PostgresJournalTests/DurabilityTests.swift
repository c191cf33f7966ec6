import TestSupport
import Testing

@testable import PostgresJournal

/// Settings with which the database may lose confirmed data.
@Suite struct DurabilityTests {
    @Test func `a role whose commits do not wait for standbys is logged at the start`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        try await schema.cluster.run("ALTER ROLE mvi SET synchronous_commit = local")
        let log = LogKeeper()
        let journal = try await schema.journal(logger: log.logger)
        let warnings = log.messages.filter { $0.contains("synchronous_commit") }
        #expect(warnings.count == 1)
        #expect(
            warnings[0].hasPrefix(
                "warning PostgreSQL's synchronous_commit is local for the journal: commits do not wait for a standby"))
        await journal.close()
    }

    @Test
    func `settings that may lose commits are logged once at the start, and when a new connection has other settings`()
        async throws
    {
        let schema = try await TestSchema(in: Cluster.make(settings: "full_page_writes = off"))
        let cluster = schema.cluster
        try await cluster.run("CREATE ROLE hasty LOGIN")
        try await cluster.run("GRANT CREATE ON DATABASE postgres TO hasty")
        try await cluster.run("ALTER ROLE hasty SET synchronous_commit = off")
        let log = LogKeeper()
        let journal = try await schema.journal(user: "hasty", logger: log.logger)
        // The tests' servers have fsync off, too.
        let warnings = log.messages.filter { $0.contains("is off for the journal") }
        #expect(warnings.count == 3)
        #expect(
            warnings.contains {
                $0.hasPrefix(
                    "warning PostgreSQL's synchronous_commit is off for the journal: when PostgreSQL or its machine")
                    && $0.contains("Set it to on in postgresql.conf, and where it is set for the user")
            })

        try await cluster.run("ALTER ROLE hasty RESET synchronous_commit")
        // One setting was changed, and each of the connections is made anew.
        let connections = journal.statistics.connections
        try await cluster.run(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'hasty'")
        let end = ContinuousClock.now + .seconds(60)
        while journal.statistics.connections < connections + 2 || journal.trouble != nil {
            try #require(ContinuousClock.now < end, "the journal does not connect again")
            _ = try? await journal.newSession()
            await Task.yield()
        }
        await journal.close()
        let settings = log.messages.filter { $0.contains("for the journal") }
        #expect(settings.count == 4)
        #expect(settings.last == "notice PostgreSQL's synchronous_commit is on for the journal again.")
    }
}
