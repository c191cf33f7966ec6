import Locking
import MVI
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// Connections that an idle timeout, a pooler or a restart closes.
struct IdleConnectionTests {
    @Test func `connections that the database closed while they were idle cost no write`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { $0.probeInterval = .seconds(3_600) }
        func closeAll() async throws {
            let closed = try await schema.cluster.run(
                "SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mvi-server'")
            let list = try closed.map { row in "\(try row.int4(0))" }.joined(separator: ", ")
            let deadline = ContinuousClock.now + .seconds(60)
            while try await schema.number("SELECT count(*) FROM pg_stat_activity WHERE pid IN (\(list))") > 0 {
                try #require(ContinuousClock.now < deadline, "the connections stay")
            }
        }
        var sessions: [TestSession] = []
        for _ in 0..<4 { sessions.append(try await journal.newSession()) }
        try await closeAll()
        // Of both lanes.
        for session in sessions { #expect(await journal.append(session.turn()).isCommitted) }
        try await closeAll()
        sessions.append(try await journal.newSession())
        try await closeAll()
        for session in sessions {
            try await awaitResult { journal.remove(session.key, tombstoneUntil: .zero, done: $0) }.get()
        }
        #expect(journal.figures.connectionsLost >= 4)
        await journal.close()
    }
}
