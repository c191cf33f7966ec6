import Locking
import MVI
import PostgreSQL
import SessionJournal
import Testing

@testable import PostgresJournal

@Suite struct HeardTests {
    /// Returns the turn in which a new session received the first messages of these senders.
    private func turn(_ journal: PostgresJournal, _ senders: Range<Int>) async throws -> JournalBatch {
        var turn = try await journal.newSession().turn()
        turn.rare = RareBatch(
            heard: senders.map {
                HeardMessage(sender: [UInt8](repeating: 255, count: 14) + [UInt8($0 >> 8), UInt8($0 & 255)], number: 1)
            })
        try #require(await journal.append(turn).isCommitted)
        return turn
    }

    private func expire(_ journal: PostgresJournal, seen: Duration, now: Duration) async throws -> Int {
        try await awaitResult {
            journal.expire(lastSeenBefore: PerLifeClass(seen), now: now, tombstoneUntil: .zero, limit: 9, done: $0)
        }.get()
    }

    @Test func `the senders of removed and expired sessions are deleted in pages, those of others stay`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let removed = try await turn(journal, 0..<2_500)
        try await awaitResult { journal.remove(removed.session, tombstoneUntil: .zero, done: $0) }.get()
        let expired = try await turn(journal, 0..<2_500)
        let far = TestSession.start + .seconds(1)
        #expect(try await expire(journal, seen: far, now: far) == 1)
        for turn in [removed, expired] {
            let rest = "FROM @.heard WHERE session = \(turn.session.number)"
            #expect(try await schema.number("SELECT count(*) \(rest)") == 1_500)
        }
        _ = try await turn(journal, 0..<3)
        let other = Subject(issuer: "issuer", id: "ada")
        try await awaitResult { journal.purge(other, now: .zero, tombstoneUntil: .zero, done: $0) }.get()
        #expect(try await schema.number("SELECT count(*) FROM @.removed") == 0)
        #expect(try await schema.number("SELECT count(*) FROM @.heard") == 3)
        await journal.close()
    }

    @Test func `expiry waits for no append that writes an old sender`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        _ = try await turn(journal, 0..<3)
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "append"))
        let connection = try PostgresConnection(target, deadline: .now + .seconds(30))
        _ = try connection.run(
            [
                PostgresStatement("BEGIN"),
                PostgresStatement(
                    "UPDATE \(schema.name).heard SET number = 2 WHERE sender = (SELECT sender FROM \(schema.name).heard LIMIT 1)"
                ),
            ], deadline: .now + .seconds(30))
        let late = TestSession.start + HeardMessage.life + .seconds(1)
        #expect(try await expire(journal, seen: .zero, now: late) == 0)
        #expect(try await schema.number("SELECT count(*) FROM @.heard") == 1)
        _ = try connection.run([PostgresStatement("COMMIT")], deadline: .now + .seconds(30))
        #expect(try await expire(journal, seen: .zero, now: late) == 0)
        #expect(try await schema.number("SELECT count(*) FROM @.heard") == 0)
        await journal.close()
    }

    @Test func `programs that receive no messages go on with the schema`() async throws {
        let schema = try await TestSchema()
        let before = Array(PostgresSchema.migrations.prefix(18))
        let older = try await schema.migrated { $0.migrations = before }
        let session = try await older.newSession()
        let first = session.turn()
        #expect(await older.append(first).isCommitted)
        let journal = try await schema.journal()
        var second = session.turn(after: first.head, state: "2")
        second.rare = RareBatch(heard: [HeardMessage(sender: Array(0..<16), number: 1)])
        #expect(await journal.append(second).isCommitted)
        #expect(await older.append(session.turn(after: second.head, state: "3")).isCommitted)
        await older.close()
        let again = try await schema.migrated { $0.migrations = before }
        #expect(again.trouble == nil)
        await again.close()
        await journal.close()
    }
}
