import MVI
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// A database whose files or standby lack commits that clients know.
struct LostCommitTests {
    @Test func `a database that has lost an acknowledged commit is another one, whatever the operator declares`()
        async throws
    {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { $0.failoverLosesNothing = true }
        let session = try await journal.newSession()
        var turn = session.turn()
        #expect(await journal.append(turn).isCommitted)
        let before = try #require(try await journal.news(session))
        try await schema.cluster.copyFiles()
        let deadline = ContinuousClock.now + .seconds(60)
        for _ in 0..<3 {
            turn = session.turn(after: turn.head)
            var result = await journal.append(turn)
            while !result.isCommitted, ContinuousClock.now < deadline { result = await journal.append(turn) }
            #expect(result.isCommitted)
        }
        try await schema.cluster.putFilesBack()
        var after: StoredSession?
        while after == nil {
            try #require(ContinuousClock.now < deadline, "the journal does not come back")
            after = try? await journal.news(session)
        }
        #expect(after?.head == before.head)
        #expect(after?.record.epoch != before.record.epoch)
        #expect(try await schema.number("SELECT past::bigint FROM @.meta") == 1)
        await journal.close()
    }
}
