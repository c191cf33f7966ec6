import Locking
import MVI
import PostgreSQL
import SessionJournal
import Testing

@testable import PostgresJournal

@Suite struct MigrationTests {
    @Test
    func `a database of the first version is brought up to date with its sessions, and an older program refuses it`()
        async throws
    {
        let schema = try await TestSchema()
        await (try await schema.journal { $0.migrations = Array(Schema.migrations.prefix(1)) }).close()
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == 1)
        // A session with a turn, as the first version kept it.
        let record = TestSession.record()
        let token = PostgresValue.bytea(record.tokenHash.bytes)
        let time = PostgresValue.time(TestSession.start)
        func run(_ sql: String, _ values: [PostgresValue] = []) async throws {
            try await schema.cluster.run(sql.replacing("@", with: schema.name), values)
        }
        try await run(
            """
            INSERT INTO @.sessions (token, id, credential, created, noted, shared, reminded)
            VALUES ($1, $2, 'bearer', $3, $3, false, true)
            """, [token, .utf8(record.id), time])
        try await run("INSERT INTO @.tokens (token, session) VALUES ($1, 1)", [token])
        try await run(
            """
            INSERT INTO @.heads (key, number, nonce, recent, seen, epoch, past) SELECT 1, 7, 70, '', $1, 'e', past FROM @.meta
            """, [time])
        try await run(
            """
            INSERT INTO @.stores (session, feature, number, version, made, replaced, schema, state, view)
            VALUES (1, 'counter', 7, 7, 1, 0, 1, '7', 'v7')
            """)
        try await run(
            "INSERT INTO @.reminders (session, feature, name, due, number, action) VALUES (1, 'counter', 'a', 5, 7, '{}')"
        )
        // What an older build needed to answer a sign-in anew.
        let revoked = PostgresValue.bytea([UInt8](repeating: 7, count: 32))
        try await run("INSERT INTO @.tokens (token, session) VALUES ($1, 1)", [revoked])
        try await run(
            "INSERT INTO @.credentials VALUES (1, 1, $1, 'bearer', 0, 5, '\\x0123', '{}')", [revoked])
        let session = TestSession(key: SessionKey(1), record: record)

        let journal = try await schema.journal()
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == Int64(Schema.migrations.count))
        let news = try #require(try await journal.news(session))
        #expect(news.head == SessionHead(number: 7, nonce: 70) && news.owner == nil && news.accessChanges == 0)
        #expect(news.record == record)
        #expect(news.credentials.map(\.revokedUntil) == [.nanoseconds(5)])
        #expect(try await schema.number("SELECT count(*) FROM @.credentials WHERE proof <> ''") == 0)
        let node = NodeRecord(id: .random(), address: "a")
        let claimed = try await awaitResult {
            journal.claimAlarms(dueAt: .seconds(1), by: node.id, for: .seconds(60), limit: 5, done: $0)
        }.get()
        #expect(claimed.due == [Alarm(token: record.tokenHash, session: session.key, due: .nanoseconds(5))])
        #expect(await journal.append(session.turn(after: news.head, state: "8")).isCommitted)
        await journal.close()

        let error = await #expect(throws: JournalOpenError.self) {
            _ = try await schema.journal { $0.migrations = Array(Schema.migrations.prefix(1)) }
        }
        #expect(error?.description.contains("this one knows 1") == true)
    }
}
