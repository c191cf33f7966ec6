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
        try await journal.commit(to: session)
        let before = try #require(try await journal.news(session))
        try await schema.cluster.copyFiles()
        for _ in 0..<3 { try await journal.commit(to: session) }
        try await schema.cluster.putFilesBack()
        var after: StoredSession?
        let deadline = ContinuousClock.now + .seconds(60)
        while after == nil {
            try #require(ContinuousClock.now < deadline, "the journal does not come back")
            after = try? await journal.news(session)
        }
        #expect(after?.head == before.head)
        #expect(after?.record.epoch != before.record.epoch)
        #expect(try await schema.number("SELECT past::bigint FROM @.meta") == 1)
        await journal.close()
    }

    @Test func `a loss that several servers prove counts once, and the next one again`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journals = [try await schema.journal(), try await schema.journal(), try await schema.journal()]
        var sessions: [TestSession] = []
        for journal in journals { sessions.append(try await journal.newSession()) }
        try await schema.cluster.copyFiles()
        for past in 1...2 {
            for (journal, session) in zip(journals, sessions) { try await journal.commit(to: session) }
            try await schema.cluster.putFilesBack()
            for (journal, session) in zip(journals, sessions) { try await journal.commit(to: session) }
            #expect(try await schema.number("SELECT past::bigint FROM @.meta") == past)
        }
        for journal in journals { await journal.close() }
    }
}

extension PostgresJournal {
    /// Appends a turn as soon as the database answers again.
    fileprivate func commit(to session: TestSession) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while true {
            if let head = try? await news(session)?.head, await append(session.turn(after: head)).isCommitted { return }
            try #require(ContinuousClock.now < deadline, "the journal does not come back")
        }
    }
}
