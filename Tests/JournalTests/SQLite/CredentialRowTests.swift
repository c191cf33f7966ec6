import Locking
import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

/// The tables of credentials and reminders: the effect of damage, and the plans of queries.
@Suite(.timeLimit(.minutes(10))) struct CredentialRowTests {
    private static let subject = Subject(issuer: "issuer", id: "ada")

    /// A folder with two sessions of one subject, each with two credentials, one of them revoked, and a reminder.
    private func folder() async throws -> (TemporaryFolder, [Kept]) {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        var all: [Kept] = []
        for number in 1...2 {
            var record = TestSession.record()
            record.subject = Self.subject
            record.isShared = number == 1
            let (first, second) = (Self.credential(1), Self.credential(2, isRevoked: true))
            let key = try await journal.create(record, first)
            try await awaitResult { done in
                journal.change(
                    CredentialChange(
                        session: key, expecting: Self.subject, subject: Self.subject, kept: [second]), done: done)
            }.get()
            let session = TestSession(key: key, record: record)
            var turn = session.turn()
            turn.reminders = [.set(Self.reminder(number))]
            #expect(await journal.append(turn).isCommitted)
            all.append(Kept(session: session, credentials: [first, second], head: turn.head))
        }
        await journal.close()
        return (folder, all)
    }

    private struct Kept {
        let session: TestSession
        let credentials: [StoredCredential]
        let head: SessionHead
        var tokens: [TokenHash] { [session.record.tokenHash] + credentials.map(\.token) }
    }

    private static func credential(_ number: Int, isRevoked: Bool = false) -> StoredCredential {
        StoredCredential(
            token: TokenHash((0..<32).map { _ in .random(in: 0...255) }), kind: .bearer, number: number,
            principal: Array("{}".utf8), made: TestSession.start,
            revokedUntil: isRevoked ? TestSession.start : nil)
    }

    private static func reminder(_ number: Int) -> StoredReminder {
        StoredReminder(
            feature: TestSession.counter, id: "late", due: .seconds(2_000_000 + number), number: 1,
            action: Array("{}".utf8))
    }

    @Test func `the proofs that an older build kept are gone when the file is opened, and the credentials stay`()
        async throws
    {
        let (folder, sessions) = try await folder()
        do {
            var connection = try Connection(.file(folder.database))
            // As that build left it.
            try connection.script(
                """
                DROP INDEX sessions_by_life;
                DROP INDEX reminders_by_next;
                ALTER TABLE reminders DROP COLUMN next;
                ALTER TABLE reminders DROP COLUMN not_before;
                ALTER TABLE sessions DROP COLUMN client;
                ALTER TABLE credentials DROP COLUMN client;
                DROP TABLE visits;
                DROP TABLE heard;
                DROP TABLE scrub;
                DROP TABLE forgotten;
                ALTER TABLE sessions DROP COLUMN life;
                DROP INDEX sessions_by_space;
                ALTER TABLE sessions DROP COLUMN space;
                CREATE INDEX sessions_by_last_seen ON sessions (last_seen) WHERE reminded = 0;
                ALTER TABLE credentials DROP COLUMN seen;
                ALTER TABLE credentials ADD COLUMN proof BLOB;
                DROP TABLE recordings;
                CREATE TABLE recordings (
                    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, number INTEGER NOT NULL, feature TEXT NOT NULL,
                    time INTEGER NOT NULL, body BLOB NOT NULL, UNIQUE (session, number)) STRICT;
                PRAGMA user_version = 4;
                """)
            #expect(try connection.execute("UPDATE credentials SET proof = x'0123456789' WHERE number = 2") == 2)
            try connection.execute("UPDATE sessions SET last_seen = ?", [.time(TestSession.start + .seconds(9))])
        }
        let journal = try await folder.journal()
        for kept in sessions {
            var credentials = kept.credentials
            // A device that was in use before the upgrade is not signed out by it.
            for index in credentials.indices { credentials[index].lastSeen = TestSession.start + .seconds(9) }
            #expect(try await journal.load(kept.tokens[0]).found?.credentials == credentials)
        }
        await journal.close()
        var connection = try Connection(.file(folder.database))
        let columns = try connection.query("SELECT name FROM pragma_table_info('credentials')", []) { try $0.text(0) }
        #expect(columns.contains("principal") && !columns.contains("proof"))
    }

    @Test(arguments: [
        "UPDATE credentials SET token = x'00' WHERE session = 1 AND number = 1",
        "UPDATE credentials SET kind = 'fingerprint' WHERE session = 1",
        "UPDATE reminders SET feature = 'No Feature' WHERE session = 1",
        "UPDATE sessions SET issuer = NULL WHERE key = 1",
    ])
    func `a damaged row is damage of its session alone, which can be removed`(_ damage: String) async throws {
        let (folder, sessions) = try await folder()
        do {
            var connection = try Connection(.file(folder.database))
            #expect(try connection.execute(damage) > 0)
        }
        let journal = try await folder.journal()
        let (damaged, sound) = (sessions[0], sessions[1])
        for token in [damaged.session.record.tokenHash, damaged.credentials[1].token] {
            guard case .damaged(damaged.session.key, _) = try await journal.load(token) else {
                Issue.record("it was not found to be damaged")
                continue
            }
        }
        await #expect(throws: StoreError.self) {
            try await journal.news(damaged.session, since: .empty)
        }
        for token in sound.tokens { #expect(try await journal.load(token).found?.key == sound.session.key) }
        let found = try await journal.find(.subject(Self.subject))
        #expect(found.contains { $0.id == sound.session.record.id })
        #expect(try await journal.alarms().contains { $0.session == sound.session.key })

        try await journal.remove(damaged.session.key)
        for token in [damaged.session.record.tokenHash, damaged.credentials[1].token] {
            #expect(try await journal.load(token).isEnded)
        }
        #expect(try await journal.alarms().map(\.session) == [sound.session.key])
        #expect(try await journal.find(.subject(Self.subject)).map(\.id) == [sound.session.record.id])
        await journal.close()
    }

    @Test(arguments: [
        "UPDATE sessions SET token = x'00' WHERE key = 1",
        "UPDATE sessions SET credential = 'fingerprint' WHERE key = 1",
    ])
    func `a session whose own row is damaged is not found, and those beside it are`(_ damage: String) async throws {
        let (folder, sessions) = try await folder()
        do {
            var connection = try Connection(.file(folder.database))
            #expect(try connection.execute(damage) == 1)
        }
        let journal = try await folder.journal()
        let sound = sessions[1].session
        #expect(try await journal.find(.id(sessions[0].session.record.id)) == [])
        #expect(try await journal.find(.shared(Self.subject)) == [])
        #expect(try await journal.find(.subject(Self.subject)).map(\.id) == [sound.record.id])
        #expect(try await journal.alarms().contains { $0.session == sound.key })
        guard case .damaged = try await journal.load(sessions[0].credentials[0].token) else {
            Issue.record("it was not found to be damaged")
            return
        }
        await journal.close()
    }

    @Test func `nothing of a removed session is left in any table`() async throws {
        let (folder, sessions) = try await folder()
        let journal = try await folder.journal()
        for kept in sessions { try await journal.remove(kept.session.key) }
        try await journal.wait("no garbage") { _ in
            guard var connection = try? Connection(.file(folder.database), access: .readOnly) else { return false }
            return (try? connection.first("SELECT count(*) FROM garbage") { try $0.int(0) }) == 0
        }
        await journal.close()
        var connection = try Connection(.file(folder.database))
        for table in ["sessions", "stores", "credentials", "reminders"] {
            #expect(try connection.first("SELECT count(*) FROM \(table)") { try $0.int(0) } == 0, "\(table)")
        }
        #expect(try connection.first("SELECT count(*) FROM tombstones") { try $0.int(0) } == 6)
    }

    @Test func `a backup has credentials and reminders, and a restored journal finds them`() async throws {
        let (folder, sessions) = try await folder()
        let (copy, backup) = (try TemporaryFolder(), folder.path + "/backup")
        try folder.file().backup(to: backup)
        #expect(try copy.file().restore(from: backup) == 2)
        let (old, journal) = (try await folder.journal(), try await copy.journal())
        for kept in sessions {
            for token in kept.tokens {
                let session = try #require(try await journal.load(token).found)
                #expect(session.credentials == kept.credentials)
                #expect(session.reminders.map(\.id) == ["late"])
                #expect(session.record.subject == Self.subject)
            }
        }
        #expect(try await journal.alarms().count == 2)
        let secrets = try await (
            awaitResult { old.secret(done: $0) }.get(), awaitResult { journal.secret(done: $0) }.get()
        )
        #expect(secrets.0.key == secrets.1.key && secrets.0.generation != secrets.1.generation)
        await old.close()
        await journal.close()
    }

    /// In 3.40, a plan with SCAN reads a whole table or index, and one with TEMP B-TREE collects and sorts rows.
    @Test(arguments: [
        Connection.findSQL(.id("")), Connection.findSQL(.subject(subject)), Connection.findSQL(.shared(subject)),
        Connection.findSQL(.spaces(group: "board", after: nil)),
        Connection.alarmsSQL, JournalDatabase.unusedSQL,
    ])
    func `a query goes through an index in its order`(_ sql: String) async throws {
        let (folder, _) = try await folder()
        var connection = try Connection(.file(folder.database))
        let values: [SQLiteValue] = sql.filter { $0 == "?" }.map { _ in .integer(Int64(1)) }
        let plan = try connection.query("EXPLAIN QUERY PLAN \(sql)", values) { row in try row.text(3) }
        #expect(!plan.isEmpty)
        for step in plan { #expect(!step.contains("SCAN") && !step.contains("TEMP"), "\(plan)") }
        #expect(plan.contains { $0.contains("INDEX") })
    }

    @Test func `an alarm's page among 100,000 reminders reads few of them`() async throws {
        let (folder, sessions) = try await folder()
        do {
            var connection = try Connection(.file(folder.database))
            try connection.execute(
                """
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000)
                INSERT INTO reminders SELECT 1, 'counter', 'r' || n, n, 1, x'', 0 FROM numbers
                """)
        }
        var connection = try Connection(.file(folder.database))
        let place = Alarm(
            token: sessions[0].session.record.tokenHash, session: SessionKey(1), due: .nanoseconds(90_000))
        let clock = ContinuousClock()
        var alarms: [Alarm] = []
        let fast = try clock.measure { alarms = try connection.alarms(after: place, limit: 10) }
        #expect(alarms.map(\.due) == (90_001...90_010).map { .nanoseconds($0) })
        let all = try clock.measure { alarms = try connection.alarms(after: nil, limit: 200_000) }
        #expect(alarms.count == 100_002)
        // A page of 10 that read all of them would take as long.
        #expect(fast < all / 4, "a page took \(fast), all of them \(all)")
    }
}

extension SQLiteJournal {
    fileprivate func create(_ record: SessionRecord, _ credential: StoredCredential) async throws -> SessionKey {
        try await awaitResult { create(record, credential: credential, done: $0) }.get()
    }

    fileprivate func load(_ token: TokenHash) async throws -> SessionLoad {
        try await awaitResult { load(token, now: TestSession.start, done: $0) }.get()
    }

    fileprivate func find(_ query: SessionQuery) async throws -> [SessionRecord] {
        try await awaitResult { find(query, limit: 100, done: $0) }.get()
    }

    fileprivate func alarms() async throws -> [Alarm] {
        try await awaitResult { alarms(after: nil, limit: 100, done: $0) }.get()
    }
}
