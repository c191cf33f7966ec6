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
        await (try await schema.migrated { $0.migrations = Array(PostgresSchema.migrations.prefix(1)) }).close()
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == 1)
        // A session with a turn, as the first version stored it.
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
        // The value with which an older build repeated the answer to a sign-in.
        let revoked = PostgresValue.bytea([UInt8](repeating: 7, count: 32))
        try await run("INSERT INTO @.tokens (token, session) VALUES ($1, 1)", [revoked])
        try await run(
            "INSERT INTO @.credentials VALUES (1, 1, $1, 'bearer', 0, 5, '\\x0123', '{}')", [revoked])
        let session = TestSession(key: SessionKey(1), record: record)

        let journal = try await schema.migrated()
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == Int64(PostgresSchema.migrations.count))
        let news = try #require(try await journal.news(session))
        #expect(news.head == SessionHead(number: 7, nonce: 70) && news.owner == nil && news.accessChanges == 0)
        #expect(news.record == record)
        #expect(news.credentials.map(\.revokedUntil) == [.nanoseconds(5)])
        // A device that was in use before the upgrade is not signed out by it.
        #expect(news.credentials.map(\.lastSeen) == [TestSession.start])
        #expect(try await schema.number("SELECT count(*) FROM @.credentials WHERE proof <> ''") == 0)
        let node = NodeRecord(id: .random(), address: "a")
        let claimed = try await awaitResult {
            journal.claimAlarms(dueAt: .seconds(1), by: node.id, for: .seconds(60), limit: 5, done: $0)
        }.get()
        #expect(claimed.due == [Alarm(token: record.tokenHash, session: session.key, due: .nanoseconds(5))])
        #expect(await journal.append(session.turn(after: news.head, state: "8")).isCommitted)
        // Its reminder has no pause, and can have one.
        var reminder = try #require(news.reminders.first)
        #expect(reminder.notBefore == .zero)
        reminder.notBefore = .nanoseconds(9)
        let touch = SessionTouch(session: session.key, lastSeen: .zero, written: [], reminders: [reminder])
        try await awaitResult { journal.touch([touch], done: $0) }.get()
        let alarms = try await awaitResult { journal.alarms(after: nil, limit: 5, done: $0) }.get()
        #expect(alarms.map(\.due) == [.nanoseconds(9)])
        await journal.close()

        let error = await #expect(throws: JournalOpenError.self) {
            _ = try await schema.journal { $0.migrations = Array(PostgresSchema.migrations.prefix(1)) }
        }
        #expect(error?.description.contains("this one knows 1") == true)
    }

    @Test
    func
        `a program that does not know an additive migration goes on with the schema, and one that lacks another does not`()
        async throws
    {
        let schema = try await TestSchema()
        let known = PostgresSchema.migrations
        let added = PostgresSchema.Migration(sql: "ALTER TABLE @.stores ADD COLUMN more text;", isAdditive: true)
        await (try await schema.migrated { $0.migrations = known + [added] }).close()
        let older = try await schema.migrated()
        #expect(older.trouble == nil)
        let session = try await older.newSession()
        let turn = session.turn()
        #expect(await older.append(turn).isCommitted)
        let other = PostgresSchema.Migration(sql: "ALTER TABLE @.stores ADD COLUMN most text;")
        await (try await schema.migrated { $0.migrations = known + [added, other] }).close()
        // Nor does one with connections from before.
        #expect(await older.append(session.turn(after: turn.head, state: "2")).failure == .unavailable)
        #expect(try await schema.number("SELECT number FROM @.heads") == 1)
        try await older.waitForTrouble(true)
        #expect(older.trouble?.detail.contains("Use that version") == true)
        await older.close()
        await #expect(throws: JournalOpenError.self) { _ = try await schema.journal() }
    }

    @Test func `a schema without the functions of appends gets them, and programs that do not call them go on`()
        async throws
    {
        let schema = try await TestSchema()
        var options = PostgresOptions()
        (options.schema, options.migrations) = (schema.name, Array(PostgresSchema.migrations.prefix(5)))
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "migrate"))
        #expect(try Migrator(target, options).migrate())
        let journal = try await schema.migrated()
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == Int64(PostgresSchema.migrations.count))
        #expect(try await schema.number("SELECT minimum::bigint FROM @.meta") < 6)
        #expect(await journal.append(try await journal.newSession().turn()).isCommitted)
        #expect(try Migrator(target, options).migrate())
        await journal.close()
    }

    @Test func `a migration waits for a transaction in its way without keeping others from appending`() async throws {
        let schema = try await TestSchema()
        let old = try await schema.migrated()
        let turn = try await old.newSession().turn()
        #expect(await old.append(turn).isCommitted)
        let target = try #require(ConnectionTarget(schema.cluster.url(user: "mvi"), applicationName: "report"))
        let report = try PostgresConnection(target, deadline: .now + .seconds(30))
        _ = try report.run(
            [
                PostgresStatement("BEGIN ISOLATION LEVEL REPEATABLE READ"),
                PostgresStatement("SELECT count(*) FROM \(schema.name).heads"),
            ], deadline: .now + .seconds(30))
        let index = PostgresSchema.Index(name: "heads_by_seen", definition: "ON @.heads (seen) WHERE seen < 0")
        let next = PostgresSchema.Migration(
            sql: "ALTER TABLE @.heads ADD COLUMN more integer;", indexes: [index], isAdditive: true)
        let newer = try await schema.journal { $0.migrations = PostgresSchema.migrations + [next] }
        #expect(newer.trouble != nil)
        var head = turn.head
        for count in 1...20 {
            let next = TestSession(key: turn.session, record: TestSession.record()).turn(after: head, state: "\(count)")
            #expect(await old.append(next).isCommitted)
            head = next.head
        }
        _ = try report.run([PostgresStatement("COMMIT")], deadline: .now + .seconds(30))
        try await newer.waitForTrouble(false)
        #expect(
            try await schema.number(
                "SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid = to_regclass('@.heads_by_seen')") == 1)
        #expect(await old.append(try await old.newSession().turn()).isCommitted)
        await newer.close()
        await old.close()
    }

    @Test func `a role that owns nothing runs a server, and says what to do about an older schema`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        try await schema.run("CREATE ROLE runner LOGIN")
        var options = PostgresOptions()
        options.schema = schema.name
        let target = try #require(ConnectionTarget(schema.cluster.url(user: "mvi"), applicationName: "migrate"))
        let migrator = Migrator(target, options)
        #expect(try migrator.migrate())
        try migrator.grant(to: "runner")
        try await schema.run("DELETE FROM @.eras")
        try await schema.run(
            """
            DO $$ DECLARE name text; BEGIN
                FOR name IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent IN
                    ('@.labels'::regclass, '@.receipts'::regclass)
                LOOP EXECUTE 'DROP TABLE ' || name; END LOOP;
            END $$
            """)
        let journal = try await schema.journal(user: "runner")
        #expect(journal.trouble == nil)
        #expect(await journal.append(try await journal.newSession().turn(labels: ["a"])).isCommitted)
        #expect(try await schema.number("SELECT count(*) FROM @.eras") == 3)
        await journal.close()
        let added = PostgresSchema.Migration(sql: "ALTER TABLE @.stores ADD COLUMN more text;")
        let newer = try await schema.journal(user: "runner") { $0.migrations = PostgresSchema.migrations + [added] }
        #expect(newer.trouble != nil)
        await newer.close()
        let error = #expect(throws: StoreError.self) {
            options.migrations.append(added)
            let user = try #require(ConnectionTarget(schema.cluster.url(user: "runner"), applicationName: "migrate"))
            _ = try Migrator(user, options).migrate()
        }
        #expect(error?.detail.contains("mvi-server migrate") == true)
    }

    @Test func `a schema that is dropped under a running server is made anew`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.migrated()
        let (token, turn) = (TestSession.record().tokenHash, try await journal.newSession().turn())
        #expect(await journal.append(turn).isCommitted)
        try await schema.run("DROP SCHEMA @ CASCADE")
        _ = await journal.append(turn)
        try await journal.waitForTrouble(false)
        _ = token
        var (isKept, tries) = (false, 0)
        while !isKept, tries < 2_000 {
            tries += 1
            if let session = try? await journal.newSession() {
                isKept = await journal.append(session.turn()).isCommitted
            }
        }
        #expect(isKept)
        await journal.close()
    }
}
