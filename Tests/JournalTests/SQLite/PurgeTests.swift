import FoundationEssentials
import Locking
import MVI
import SQLite
import SessionJournal
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@testable import SQLiteJournal

/// The complete deletion of a subject's data.
@Suite(.timeLimit(.minutes(10))) struct PurgeTests {
    private static let marker = "a-secret-of-ada"
    private let ada = Subject(issuer: "issuer", id: "ada \(marker)")

    /// Fills a session of the subject with the marker: in states of many sizes, old ones included, labels, recordings,
    /// reminders, a credential, and a state that was set aside.
    private func fill(
        _ journal: SQLiteJournal, _ subject: Subject, _ marker: String, created: Duration = TestSession.start
    ) async throws -> TestSession {
        var record = TestSession.record(lastSeen: created)
        record.subject = subject
        let credential = StoredCredential(
            token: TokenHash((0..<32).map { _ in .random(in: 0...255) }), kind: .bearer, number: 1,
            principal: Array(#"{"subject":"\#(marker)"}"#.utf8), made: TestSession.start)
        let key = try await awaitResult { journal.create(record, credential: credential, done: $0) }.get()
        let session = TestSession(key: key, record: record)
        var head = SessionHead.empty
        for (number, size) in [10, 3_000, 200_000, 50, 90_000, 5_000, 400_000, 20].enumerated() {
            let text = String(repeating: "\(marker) \(number) ", count: size / marker.utf8.count + 1)
            var turn = session.turn(
                after: head, state: #""\#(text)""#, labels: [#""\#(marker)""#])
            let recording = session.recording(after: head, #"{"a":"\#(text)"}"#)
            turn.reminders = [
                .set(
                    StoredReminder(
                        feature: TestSession.counter, id: "r\(number)", due: .seconds(3_000_000), number: 1,
                        action: Array(#""\#(marker)""#.utf8)))
            ]
            turn.receipts = [
                StoredReceipt(
                    key: .key("\(marker) \(number)", feature: TestSession.counter), number: turn.head.number,
                    bodyHash: [1],
                    intent: marker, outcome: .ran(version: 1), made: TestSession.start)
            ]
            if number == 5 { turn.stores[0].setsAside = "test \(marker)" }
            try #require(await journal.append(turn).isCommitted)
            try await journal.record([recording], of: session.key, keeping: 3)
            head = turn.head
        }
        return session
    }

    /// The names of the folder's files that contain the marker.
    private func found(_ folder: TemporaryFolder) throws -> [String] {
        let marker = Data(Self.marker.utf8)
        return try folder.names().filter { name in
            try Data(contents("\(folder.path)/\(name)")).range(of: marker) != nil
        }
    }

    private func purge(_ journal: SQLiteJournal) async throws {
        try await awaitResult {
            journal.purge(ada, now: .seconds(2_000_000), tombstoneUntil: .seconds(9_000_000), done: $0)
        }.get()
    }

    @Test func `nothing of a subject is left in any file, while the journal is open and after a kill`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let other = try await fill(journal, Subject(issuer: "issuer", id: "bob"), "harmless")
        _ = try await fill(journal, ada, Self.marker)
        let second = try await fill(journal, ada, Self.marker)
        // One that had ended already.
        try await journal.remove(second.key)
        try await journal.commit(["1", "2"], of: try await journal.newSession())
        #expect(try found(folder).contains("journal.sqlite-wal"))
        try await purge(journal)
        #expect(try found(folder).isEmpty)
        #expect(try found(try folder.copyAsAfterKill()).isEmpty)
        #expect(try await journal.state(other)?.contains("harmless 7") == true)
        // Again, as after a failure.
        try await purge(journal)
        await journal.close()
        #expect(try found(folder).isEmpty)
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("PRAGMA integrity_check") { try $0.text(0) } == "ok")
    }

    /// The tables with personal data, each with a number of its rows in an export. A new table belongs in one of the lists.
    private static let personal: [String: @Sendable (SessionExport) -> Int] = [
        "sessions": { _ in 1 }, "stores": \.stores.count, "labels": \.session.labels.count,
        "receipts": \.session.receipts.count, "credentials": \.session.credentials.count,
        "reminders": \.session.reminders.count, "recordings": \.turns.count, "set_aside": \.setAside.count,
    ]
    private static let others: Set = [
        // Hashes of tokens; numbers of sessions; the server's own; those by which a person's data in spaces is deleted.
        "tombstones", "garbage", "probe", "secrets", "scrub", "forgotten", "sqlite_sequence", "visits",
        // Hashes that name logs.
        "heard",
    ]

    @Test func `each table with personal data is exported and purged, and there is no other`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await fill(journal, ada, Self.marker)
        let exported = try #require(try await journal.exported(session))
        for (table, count) in Self.personal { #expect(count(exported) > 0, "\(table)") }
        try await purge(journal)
        #expect(try await journal.exported(session) == nil)
        await journal.close()
        var connection = try Connection(.file(folder.database))
        let tables = try connection.query("SELECT name FROM sqlite_master WHERE type = 'table'", []) { try $0.text(0) }
        #expect(Set(tables) == Set(Self.personal.keys).union(Self.others))
        for table in Self.personal.keys {
            #expect(try connection.first("SELECT count(*) FROM \(table)") { try $0.int(0) } == 0, "\(table)")
        }
    }

    @Test func `a restore of an older backup forgets again what was deleted later, and nothing that is newer`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await fill(journal, ada, Self.marker)
        let other = try await fill(journal, Subject(issuer: "issuer", id: "bob"), "harmless")
        let backups = try TemporaryFolder()
        try folder.file().backup(to: backups.path + "/before")
        try await purge(journal)
        // She signed in again: later than the time of the purge.
        let again = try await fill(journal, ada, Self.marker, created: .seconds(3_000_000))
        try folder.file().backup(to: backups.path + "/after")
        await journal.close()
        #expect(try found(backups) == ["after", "before"])
        for (backup, expected) in [("before", [other]), ("after", [other, again])] {
            for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] {
                unlink("\(folder.path)/\(name)")
            }
            #expect(try folder.file().restore(from: "\(backups.path)/\(backup)") == expected.count)
            #expect(try found(folder) == (backup == "before" ? [] : ["journal.sqlite"]))
            let restored = try await folder.journal()
            for session in expected { #expect(try await restored.load(session).found != nil) }
            await restored.close()
        }
        // In another folder only the backup's own list is known.
        let elsewhere = try TemporaryFolder()
        #expect(try elsewhere.file().restore(from: "\(backups.path)/after") == 2)
        for line in try String(decoding: contents(folder.path + "/forgotten.jsonl"), as: UTF8.self).split(
            separator: "\n")
        {
            let noted = try #require(ForgottenSubject(line: line))
            #expect(ForgottenFinder([noted], try folder.forgotten.key()).time(of: ada) != nil)
        }
    }

    @Test func `without the installation's key a list of names finds nobody in the list or a backup`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await fill(journal, ada, Self.marker)
        try await purge(journal)
        await journal.close()
        let noted = try folder.forgotten.subjects()
        #expect(noted.count == 1 && !noted.contains(where: \.isPlain))
        let other = try TemporaryFolder()
        let guessed = try other.forgotten.key()
        #expect(ForgottenFinder(noted, guessed).time(of: ada) == nil)
        #expect(ForgottenFinder(noted, try folder.forgotten.key()).time(of: ada) != nil)
        var status = stat()
        #expect(stat(folder.forgotten.keyPath, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test func `a list whose key is missing or another one is an error, not an empty list`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await fill(journal, ada, Self.marker)
        let backups = try TemporaryFolder()
        try folder.file().backup(to: backups.path + "/before")
        try await purge(journal)
        await journal.close()
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] { unlink("\(folder.path)/\(name)") }
        let key = try contents(folder.forgotten.keyPath)
        unlink(folder.forgotten.keyPath)
        func failure() -> StoreError? {
            #expect(throws: StoreError.self) { try folder.file().restore(from: backups.path + "/before") }
        }
        #expect("\(String(describing: failure()))".contains("is missing"))
        try write(Array(String(repeating: "ab", count: 32).utf8), to: folder.forgotten.keyPath)
        #expect("\(String(describing: failure()))".contains("another key"))
        try write(key, to: folder.forgotten.keyPath)
        #expect(try folder.file().restore(from: backups.path + "/before") == 0)
    }

    @Test func `a restore of 100,000 subjects looks each up among ten thousand deletions`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await fill(journal, ada, Self.marker)
        await journal.close()
        do {
            var connection = try Connection(.file(folder.database))
            try connection.execute(
                """
                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
                INSERT INTO sessions (token, id, epoch, credential, created, last_seen, issuer, subject)
                SELECT randomblob(32), 's' || i, 'e', credential, created, last_seen, 'issuer', 's' || i
                FROM n, (SELECT credential, created, last_seen FROM sessions LIMIT 1)
                """)
        }
        let backups = try TemporaryFolder()
        try folder.file().backup(to: backups.path + "/before")
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] { unlink("\(folder.path)/\(name)") }
        let key = try folder.forgotten.key()
        try folder.forgotten.append(
            (1...10_000).map { key.subject(Subject(issuer: "issuer", id: "s\($0)"), at: .seconds(1 << 32)) })
        let start = ContinuousClock.now
        #expect(try folder.file().restore(from: backups.path + "/before") == 90_001)
        print("SQLite, 10,000 deletions, 100,000 subjects: \(ContinuousClock.now - start)")
    }

    @Test func `a session whose rows are damaged goes, too`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await fill(journal, ada, Self.marker)
        await journal.close()
        do {
            var connection = try Connection(.file(folder.database))
            try connection.execute("UPDATE sessions SET credential = 'fingerprint'")
        }
        let again = try await folder.journal()
        #expect(try await awaitResult { again.find(.subject(ada), limit: 10, done: $0) }.get().isEmpty)
        try await purge(again)
        #expect(try await again.load(session).isEnded)
        #expect(try found(folder).isEmpty)
        await again.close()
    }

    @Test func `a purge that ended at any of its steps is completed by the next one, with other sessions in between`()
        async throws
    {
        var interrupted = 0
        for steps in 0..<12 {
            let folder = try TemporaryFolder()
            let journal = try await folder.journal { $0.stepTime = .zero }
            _ = try await fill(journal, ada, Self.marker)
            let other = try await fill(journal, Subject(issuer: "issuer", id: "bob"), "harmless")
            // Between its transactions the writer closes the journal after so many of them; accepted writes are completed.
            let last = journal.statistics.transactions + steps
            @Sendable func closeAfterLast(_ writer: Writer) {
                if journal.statistics.transactions >= last { return journal.engine.close() }
                _ = journal.engine.enqueue(closeAfterLast)
            }
            let ended = await awaitResult { done in
                journal.purge(ada, now: .seconds(2_000_000), tombstoneUntil: .seconds(9_000_000), done: done)
                _ = journal.engine.enqueue(closeAfterLast)
            }
            if case .failure = ended { interrupted += 1 }
            await journal.close()
            let again = try await folder.journal()
            try await purge(again)
            #expect(try found(folder).isEmpty, "after \(steps) steps")
            #expect(try await again.load(other).found != nil)
            await again.close()
        }
        #expect(interrupted > 3)
    }

    /// Runs a transaction on the connection that writes.
    private func change(_ journal: SQLiteJournal, _ body: @escaping @Sendable (inout Connection) throws -> Void)
        async throws
    {
        try await awaitResult { done in
            _ = journal.engine.enqueue { writer in
                done(Result { try writer.database?.connection.transaction(.immediate, body) })
            }
        }.get()
    }

    /// Receipts of both people in an order that makes SQLite leave copies of hers between those of his, when pages split.
    private func interleave(_ journal: SQLiteJournal) async throws {
        for subject in [ada, Subject(issuer: "issuer", id: "bob"), ada, Subject(issuer: "issuer", id: "bob")] {
            var record = TestSession.record()
            record.subject = subject
            _ = try await awaitResult { journal.create(record, credential: nil, done: $0) }.get()
        }
        try await change(journal) { connection in
            try connection.execute(
                """
                WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
                INSERT OR IGNORE INTO receipts (session, scope, name, number, made, intent, version, body_hash)
                SELECT 1 + i * 101 / 7 % 4, 'kcounter',
                    CASE i * 101 / 7 % 2 WHEN 0 THEN '\(Self.marker) ' ELSE 'harmless ' END || (i * 101 % 99991),
                    i, 1000000, 'i', 1, x'01'
                FROM n
                """)
        }
    }

    @Test func `copies of short rows that splits of pages left are gone, too`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        try await interleave(journal)
        try await purge(journal)
        #expect(try found(folder).isEmpty)
        #expect(try found(try folder.copyAsAfterKill()).isEmpty)
        // Pages that were in memory during the purge go into the log.
        try await change(journal) { connection in try connection.execute("UPDATE receipts SET made = made + 1") }
        #expect(try contents(folder.database + "-wal").count > 100_000)
        #expect(try found(folder).isEmpty)
        await journal.close()
        #expect(try found(folder).isEmpty)
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("PRAGMA integrity_check") { try $0.text(0) } == "ok")
        #expect(try connection.first("SELECT count(*) FROM receipts") { try $0.int(0) } ?? 0 > 1_000)
    }

    @Test func `the end of a page that another person's state took in the same transaction is overwritten`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await fill(journal, ada, Self.marker)
        let other = try await journal.newSession()
        try await journal.commit(["1"], of: other)
        try await change(journal) { connection in
            try connection.execute(
                "UPDATE stores SET state = zeroblob(9) WHERE id >> 16 IN (SELECT key FROM sessions WHERE subject NOT NULL)"
            )
            try connection.execute("UPDATE stores SET state = zeroblob(9900) WHERE feature = 'counter'")
        }
        try await purge(journal)
        #expect(try found(folder).isEmpty)
        await journal.close()
    }

    @Test func `a journal that closes while a purge waits to empty the log does so`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        try await interleave(journal)
        @Sendable func closeWhenItWaits(_ writer: Writer) {
            // As after another purge, which took long.
            writer.nextEmptying = .now + .seconds(600)
            if writer.emptying != nil { return journal.engine.close() }
            _ = journal.engine.enqueue(closeWhenItWaits)
        }
        _ = journal.engine.enqueue(closeWhenItWaits)
        try await purge(journal)
        await journal.close()
        #expect(try found(folder).isEmpty)
    }

    @Test func `others go on during a purge`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        for _ in 0..<3 { _ = try await fill(journal, ada, Self.marker) }
        let other = try await journal.newSession()
        async let purged: Void = purge(journal)
        try await journal.commit((1...100).map(String.init), of: other)
        try await purged
        #expect(try await journal.state(other) == "100")
        #expect(try found(folder).isEmpty)
        await journal.close()
    }

    @Test func `while another program reads the file a purge waits alone`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        _ = try await fill(journal, ada, Self.marker)
        let other = try await journal.newSession()
        var reader = try Connection(.file(folder.database), access: .readOnly)
        try reader.execute("BEGIN")
        _ = try reader.first("SELECT count(*) FROM sessions") { row in try row.int(0) }
        let isPurged = Lock(false)
        async let purged: Void = {
            try await purge(journal)
            isPurged.withLock { $0 = true }
        }()
        // More than a purge makes attempts: with each behind one, it would have given up.
        try await journal.commit((1...100).map(String.init), of: other)
        #expect(!isPurged.withLock { $0 })
        try reader.execute("COMMIT")
        try await purged
        #expect(try found(folder).isEmpty)
        await journal.close()
    }
}
