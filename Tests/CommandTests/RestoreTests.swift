import Locking
import SQLite
import SQLiteJournal
import SessionJournal
import Testing

@testable import MVIServer
@testable import mvi_server

#if canImport(Glibc)
    import Glibc
#endif

@Suite("mvi-server restore", .timeLimit(.minutes(10)))
struct RestoreTests {
    /// Creates a backup of three sessions.
    private func backup() async throws -> (temporary: TemporaryFolder, file: String) {
        let temporary = try TemporaryFolder()
        let data = try temporary.folder("data")
        let journal = try await KeptSessions.open(data)
        try await KeptSessions.add(1...3, to: journal)
        await journal.close()
        let file = "\(temporary.path)/backup.sqlite"
        try Backup.make(at: file, ofFolder: data)
        return (temporary, file)
    }

    private func epoch(ofSession number: Int, inFolder folder: String) throws -> String? {
        try SQLiteJournalFile(directory: folder).export("session-\(number)")?.session.record.epoch
    }

    @Test func `every session is back, under a new epoch`() async throws {
        let (temporary, file) = try await backup()
        let folder = "\(temporary.path)/new/folder"
        #expect(try Restore.run(from: file, toFolder: folder) == 3)
        var epochs: Set<String> = []
        let journal = try await KeptSessions.open(folder)
        for number in 1...3 {
            #expect(try KeptSessions.count(ofSession: number, inFolder: folder) == "{\"count\":\(number)}")
            let epoch = try #require(try epoch(ofSession: number, inFolder: folder))
            #expect(epoch.utf8.count == 16 && epoch != "k\(number)")
            epochs.insert(epoch)
        }
        #expect(epochs.count == 3)
        // A server continues with it.
        try await KeptSessions.add(4...4, to: journal)
        await journal.close()
        #expect(try KeptSessions.count(ofSession: 4, inFolder: folder) == "{\"count\":4}")
        // The backup is unchanged and can be restored again.
        #expect(try Restore.run(from: file, toFolder: "\(temporary.path)/other") == 3)
    }

    @Test func `of a backup only rows are restored, so that its triggers, views and tables do nothing`() async throws {
        let (temporary, file) = try await backup()
        do {
            var connection = try Connection(.file(file))
            try connection.script(
                """
                CREATE TABLE old AS SELECT * FROM sessions;
                CREATE TRIGGER undo AFTER UPDATE OF token ON sessions
                BEGIN UPDATE sessions SET token = (SELECT token FROM old WHERE old.key = NEW.key) WHERE key = NEW.key; END;
                CREATE TRIGGER spy AFTER INSERT ON stores BEGIN INSERT INTO old (id) VALUES (NEW.state); END;
                CREATE VIEW seen AS SELECT * FROM sessions;
                """)
        }
        let folder = "\(temporary.path)/new"
        #expect(try Restore.run(from: file, toFolder: folder, signingOut: true) == 3)
        let journal = try await KeptSessions.open(folder)
        for number in 1...3 {
            let load = try await awaitResult { journal.load(KeptSessions.token(number), now: .zero, done: $0) }.get()
            guard case .unknown = load else {
                Issue.record("the token of session \(number) is still valid: \(load)")
                continue
            }
            #expect(try KeptSessions.count(ofSession: number, inFolder: folder) == "{\"count\":\(number)}")
        }
        await journal.close()
        var connection = try Connection(.file("\(folder)/journal.sqlite"))
        let strange = try connection.query(
            "SELECT name FROM sqlite_schema WHERE type IN ('trigger', 'view') OR name = 'old'"
        ) { row in try row.text(0) }
        #expect(strange.isEmpty)
    }

    @Test func `a trigger in a journal's own file does not run`() async throws {
        let (temporary, _) = try await backup()
        let data = "\(temporary.path)/data"
        do {
            var connection = try Connection(.file("\(data)/journal.sqlite"))
            try connection.script(
                """
                CREATE TABLE stolen (state BLOB);
                CREATE TRIGGER spy AFTER INSERT ON stores BEGIN INSERT INTO stolen VALUES (NEW.state); END;
                """)
        }
        let journal = try await KeptSessions.open(data)
        try await KeptSessions.add(4...4, to: journal)
        await journal.close()
        #expect(try KeptSessions.count(ofSession: 4, inFolder: data) == "{\"count\":4}")
        var connection = try Connection(.file("\(data)/journal.sqlite"))
        #expect(try connection.first("SELECT count(*) FROM stolen") { row in try row.integer(0) } == 0)
    }

    @Test(arguments: [
        ("CREATE VIEW garbage AS SELECT 1 AS session", "has no table garbage"),
        ("CREATE TABLE garbage (other INTEGER)", "no such column"),
        ("CREATE TABLE garbage (session); INSERT INTO garbage VALUES ('a')", "damaged or not a backup"),
        ("SELECT 1", "has no table garbage"),
    ])
    func `a backup whose tables are not those of a journal is refused`(_ change: String, _ reason: String) async throws
    {
        let (temporary, file) = try await backup()
        do {
            var connection = try Connection(.file(file))
            try connection.script("DROP TABLE garbage; \(change)")
        }
        let folder = "\(temporary.path)/new"
        let error = #expect(throws: CommandFailure.self) { try Restore.run(from: file, toFolder: folder) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        #expect(!TemporaryFolder.isThere("\(folder)/journal.sqlite"))
        #expect(!TemporaryFolder.isThere("\(folder)/journal.sqlite.partial"))
    }

    @Test func `keys of sessions that were deleted before the backup are not used again`() async throws {
        let (temporary, file) = try await backup()
        do {
            var connection = try Connection(.file(file))
            try connection.script("UPDATE sqlite_sequence SET seq = 70")
        }
        let folder = "\(temporary.path)/new"
        #expect(try Restore.run(from: file, toFolder: folder) == 3)
        let journal = try await KeptSessions.open(folder)
        try await KeptSessions.add(4...4, to: journal)
        await journal.close()
        #expect(try SQLiteJournalFile(directory: folder).sessions(limit: 9).last?.key.number == 71)
    }

    @Test func `an existing journal is left unchanged, and so is one in use`() async throws {
        let (temporary, file) = try await backup()
        let data = "\(temporary.path)/data"
        let error = #expect(throws: CommandFailure.self) { try Restore.run(from: file, toFolder: data) }
        #expect(error?.description.contains("exists already; first move it away") == true)
        #expect(try epoch(ofSession: 1, inFolder: data) == "k1")
        let used = try temporary.folder("used")
        let journal = try await KeptSessions.open(used)
        #expect(throws: CommandFailure.self) { try Restore.run(from: file, toFolder: used) }
        await journal.close()
    }

    @Test func `a copy with a separate write-ahead log is refused`() async throws {
        let (temporary, file) = try await backup()
        let descriptor = open(file + "-wal", O_WRONLY | O_CREAT, 0o600)
        try #require(write(descriptor, "a log", 5) == 5)
        close(descriptor)
        let error = #expect(throws: CommandFailure.self) {
            try Restore.run(from: file, toFolder: "\(temporary.path)/new")
        }
        #expect(error?.description.contains("has changes that") == true)
    }

    @Test func `a file that is not a backup is refused, and leaves no files`() throws {
        let temporary = try TemporaryFolder()
        let text = "\(temporary.path)/text"
        let descriptor = open(text, O_WRONLY | O_CREAT, 0o600)
        try #require(write(descriptor, "no database", 11) == 11)
        close(descriptor)
        let pipe = "\(temporary.path)/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        let reasons = [
            (text, "The backup \(text) is damaged or not a backup: "),
            ("\(temporary.path)/nothing", "/nothing' does not exist."),
            (temporary.path, "\(temporary.path) is not a file."), (pipe, "\(pipe) is not a file."),
        ]
        for (number, (path, reason)) in reasons.enumerated() {
            let folder = try temporary.folder("target-\(number)")
            let error = #expect(throws: CommandFailure.self) { try Restore.run(from: path, toFolder: folder) }
            #expect(error?.description.contains(reason) == true)
            #expect(throws: (any Error).self) { try SQLiteJournalFile(directory: folder).sessions(limit: 1) }
            #expect(access("\(folder)/journal.sqlite.partial", F_OK) != 0)
        }
    }
}
