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
