import Locking
import MVI
import PostgreSQL
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// A database that takes questions and sends nothing, as behind a cut wire.
struct SilenceTests {
    @Test func `questions of a silent database are refused together, long before a long read would be`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        // Its patience with a read is two minutes.
        let journal = try await schema.journal { ($0.readers, $0.silentTime) = (1, .seconds(1)) }
        let session = try await journal.newSession()
        #expect(await journal.append(session.turn()).isCommitted)
        #expect(try await journal.news(session) != nil)
        let holder = try PostgresConnection(
            try #require(ConnectionTarget(schema.cluster.url(user: "mvi"), applicationName: "holder")),
            deadline: .now + .seconds(60))
        let lock = "LOCK TABLE @.sessions IN ACCESS EXCLUSIVE MODE".replacing("@", with: schema.name)
        _ = try holder.run([PostgresStatement("BEGIN"), PostgresStatement(lock)], deadline: .now + .seconds(60))
        async let first = awaitResult { journal.marks(of: [session.key], done: $0) }
        let asked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = 'mvi'"
        let deadline = ContinuousClock.now + .seconds(60)
        while try await schema.number(asked) == 0 {
            try #require(ContinuousClock.now < deadline, "no question waits")
            await Task.yield()
        }
        // It waits for the only reader.
        async let second = awaitResult { journal.marks(of: [session.key], done: $0) }
        for marks in await [first, second] {
            #expect(throws: StoreError.self) { try marks.get() }
            if case .failure(let error) = marks { #expect(error.code == .unavailable) }
        }
        #expect(journal.statistics.connectionsLost == 1)
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(60))
        while (try? await journal.news(session)) == nil {
            try #require(ContinuousClock.now < deadline, "the journal does not come back")
        }
        await journal.close()
    }
}
