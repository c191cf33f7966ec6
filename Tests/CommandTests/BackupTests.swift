import MVITesting
import SQLiteJournal
import SessionJournal
import Testing

@testable import MVIServer
@testable import mvi_server

#if canImport(Glibc)
    import Glibc
#endif

@Suite("mvi-server backup", .timeLimit(.minutes(10)))
struct BackupTests {
    /// Restores a backup as the journal of a new folder.
    private func restored(_ backup: String, in temporary: TemporaryFolder) throws -> String {
        let folder = try temporary.folder("restored")
        try #require(rename(backup, "\(folder)/journal.sqlite") == 0)
        return folder
    }

    /// Returns a data folder with three sessions; its server has ended.
    private func stoppedServer() async throws -> (temporary: TemporaryFolder, data: String) {
        let temporary = try TemporaryFolder()
        let data = try temporary.folder("data")
        let journal = try await KeptSessions.open(data)
        try await KeptSessions.add(1...3, to: journal)
        await journal.close()
        return (temporary, data)
    }

    @Test func `a backup needs no server, and contains every session`() async throws {
        let (temporary, data) = try await stoppedServer()
        let file = "\(temporary.path)/backup.sqlite"
        try Backup.make(at: file, ofFolder: data)
        let copy = try restored(file, in: temporary)
        for number in 1...3 {
            #expect(try KeptSessions.count(ofSession: number, inFolder: copy) == "{\"count\":\(number)}")
        }
        // The folder is free again, and the copy is a usable journal.
        try await KeptSessions.add(4...4, to: try await KeptSessions.open(data))
        let again = try await KeptSessions.open(copy)
        try await KeptSessions.add(4...4, to: again)
        await again.close()
        #expect(try KeptSessions.count(ofSession: 4, inFolder: copy) == "{\"count\":4}")
    }

    @Test func `a backup beside a running server is consistent, and the server goes on`() async throws {
        let temporary = try TemporaryFolder()
        let data = try temporary.folder("data")
        let journal = try await KeptSessions.open(data)
        try await KeptSessions.add(1...3, to: journal)
        let file = "\(temporary.path)/name with blanks.sqlite"
        try Backup.make(at: file, ofFolder: data)
        try await KeptSessions.add(4...4, to: journal)
        await journal.close()
        let copy = try restored(file, in: temporary)
        #expect(try KeptSessions.count(ofSession: 3, inFolder: copy) == "{\"count\":3}")
        #expect(try KeptSessions.count(ofSession: 4, inFolder: copy) == nil, "it is of the moment when it was made")
        #expect(try KeptSessions.count(ofSession: 4, inFolder: data) == "{\"count\":4}")
    }

    @Test func `nothing is overwritten, neither by the command nor by the server`() async throws {
        let (temporary, data) = try await stoppedServer()
        let error = #expect(throws: CommandFailure.self) {
            try Backup.make(at: "\(data)/journal.sqlite", ofFolder: data)
        }
        #expect(
            error?.description == """
                '\(data)/journal.sqlite' exists, and a backup overwrites no file. Give another name, or remove the file.
                """)
        #expect(try KeptSessions.count(ofSession: 3, inFolder: data) == "{\"count\":3}")

        let file = "\(temporary.path)/backup.sqlite"
        try #require(symlink("/nonexistent/file", file) == 0)
        #expect(throws: CommandFailure.self) { try Backup.make(at: file, ofFolder: data) }
    }

    @Test func `a failed backup reports its reason and leaves no file`() async throws {
        let temporary = try TemporaryFolder()
        let data = try temporary.folder("data")
        let journal = try #require(fopen("\(data)/journal.sqlite", "w"))
        fputs(String(repeating: "no database ", count: 1_000), journal)
        fclose(journal)
        let file = "\(temporary.path)/backup.sqlite"
        let error = #expect(throws: CommandFailure.self) { try Backup.make(at: file, ofFolder: data) }
        #expect(error?.description.hasPrefix("The backup failed. ") == true)
        #expect(!TemporaryFolder.isThere(file) && !TemporaryFolder.isThere(file + ".partial"))
    }

    @Test func `a folder without a journal and a missing folder for the backup are errors that name them`()
        async throws
    {
        let temporary = try TemporaryFolder()
        let empty = try temporary.folder("empty")
        let nothing = #expect(throws: CommandFailure.self) {
            try Backup.make(at: "\(temporary.path)/b", ofFolder: empty)
        }
        #expect(
            nothing?.description == "There is no journal in '\(empty)'. Give the server's data folder.")
        #expect(!TemporaryFolder.isThere("\(empty)/journal.sqlite"), "a look makes nothing")
        let nowhere = #expect(throws: CommandFailure.self) {
            try Backup.make(at: "\(temporary.path)/none/b", ofFolder: empty)
        }
        #expect(nowhere?.description == "The backup's folder '\(temporary.path)/none' does not exist.")
    }

    @Test func `a path without a folder is relative to the current folder`() throws {
        #expect(try FilePath.absolute("/a/b") == "/a/b")
        let path = try FilePath.absolute("b")
        #expect(path.hasPrefix("/") && path.hasSuffix("/b"))
        #expect(FilePath.isFolder(FilePath.parent(of: path)))
        #expect(FilePath.parent(of: "/a") == "/" && FilePath.parent(of: "a") == ".")
    }
}
