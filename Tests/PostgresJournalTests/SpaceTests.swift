import Locking
import MVI
import SessionJournal
import Testing

@testable import PostgresJournal

@Suite struct SpaceTests {
    @Test func `spaces have a limit of their own, and take no place of a session`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal { ($0.sessionLimit, $0.spaceLimit) = (3, 2) }
        func code(_ record: SessionRecord, _ journal: PostgresJournal) async -> StoreError.Code? {
            let result = await awaitResult { journal.create(record, credential: nil, done: $0) }
            if case .failure(let error) = result { return error.code }
            return nil
        }
        for name in ["board:a", "board:b"] { #expect(await code(TestSession.space(name), journal) == nil) }
        for _ in 0..<3 { #expect(await code(TestSession.record(), journal) == nil) }
        await journal.close()
        let again = try await schema.journal { ($0.sessionLimit, $0.spaceLimit) = (4, 2) }
        // Counted before it opened.
        #expect(await code(TestSession.space("board:c"), again) == .tooManySpaces)
        #expect(await code(TestSession.record(), again) == nil)
        #expect(await code(TestSession.record(), again) == .tooManySessions)
        try await awaitResult { again.remove(SessionKey(1), tombstoneUntil: .zero, done: $0) }.get()
        #expect(await code(TestSession.record(), again) == .tooManySessions)
        #expect(await code(TestSession.space("board:a"), again) == nil)
        #expect(await code(TestSession.space("board:c"), again) == .tooManySpaces)
        await again.close()
    }

    @Test func `a program that does not know spaces goes on until the first one is made, and is refused then`()
        async throws
    {
        let schema = try await TestSchema()
        let version = PostgresSchema.spacesVersion
        let before = Array(PostgresSchema.migrations.prefix(version - 1))
        let journal = try await schema.journal()
        let older = try await schema.migrated { $0.migrations = before }
        let session = try await older.newSession()
        let turn = session.turn()
        #expect(await older.append(turn).isCommitted)
        #expect(try await schema.number("SELECT minimum::bigint FROM @.meta") < version)

        _ = try await awaitResult { journal.create(TestSession.space("board:a"), credential: nil, done: $0) }.get()
        #expect(try await schema.number("SELECT minimum::bigint FROM @.meta") == version)
        #expect(await older.append(session.turn(after: turn.head, state: "2")).failure == .unavailable)
        await older.close()
        await #expect(throws: JournalOpenError.self) { _ = try await schema.journal { $0.migrations = before } }
        #expect(await journal.append(session.turn(after: turn.head, state: "2")).isCommitted)
        await journal.close()
        // An additive migration later does not let it in again.
        let added = PostgresSchema.Migration(sql: "ALTER TABLE @.stores ADD COLUMN more text;", isAdditive: true)
        await (try await schema.migrated { $0.migrations = PostgresSchema.migrations + [added] }).close()
        #expect(try await schema.number("SELECT minimum::bigint FROM @.meta") == version)
    }

    @Test func `a program that does not note visits is excluded from spaces that it made`() async throws {
        let schema = try await TestSchema()
        let before = Array(PostgresSchema.migrations.prefix(16))
        let older = try await schema.migrated { $0.migrations = before }
        #expect(try await schema.number("SELECT version::bigint FROM @.meta") == 16)
        // That program's statements name no column of later migrations, but those of this build do.
        let tables = ["sessions", "credentials"]
        for table in tables { try await schema.run("ALTER TABLE @.\(table) ADD COLUMN client text") }
        try await schema.run(
            """
            INSERT INTO @.sessions (token, id, credential, created, noted, shared, space)
            VALUES ('t', 'i', 'bearer', 0, 0, false, 'board:a')
            """)
        try await schema.run("UPDATE @.meta SET minimum = 16")
        let session = try await older.newSession()
        #expect(await older.append(session.turn()).isCommitted)
        for table in tables { try await schema.run("ALTER TABLE @.\(table) DROP COLUMN client") }
        await (try await schema.journal()).close()
        #expect(await older.append(session.turn()).failure == .unavailable)
        await older.close()
        await #expect(throws: JournalOpenError.self) { _ = try await schema.journal { $0.migrations = before } }
    }

    @Test func `the names of spaces are unique in the database itself`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        _ = try await awaitResult { journal.create(TestSession.space("board:a"), credential: nil, done: $0) }.get()
        await #expect(throws: (any Error).self) {
            try await schema.run(
                """
                INSERT INTO @.sessions (token, id, credential, created, noted, shared, space)
                SELECT 'other', 'other', credential, created, noted, shared, space FROM @.sessions
                """)
        }
        await journal.close()
    }
}
