import MVI
import SQLite
import SessionJournal
import TestSupport
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.timeLimit(.minutes(10))) struct BackupTests {
    @Test func `nobody but its owner may read the journal, its log or a backup`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        try await journal.commit(["1"], of: try await journal.newSession())
        try folder.file().backup(to: folder.path + "/backup")
        for name in try folder.names() {
            var status = stat()
            try #require(stat("\(folder.path)/\(name)", &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name)")
        }
        #expect(try folder.names().contains("journal.sqlite-wal"))
        await journal.close()
    }

    @Test func `a backup under load is a whole journal, and appends go on while it is made`() async throws {
        let folder = try TemporaryFolder()
        let target = try TemporaryFolder()
        let journal = try await folder.journal()
        var sessions: [TestSession] = []
        for _ in 0..<50 {
            let session = try await journal.newSession()
            sessions.append(session)
            try await journal.commit([String(repeating: "x", count: 20_000)], of: session)
        }
        let busy = try await journal.newSession()
        async let backup: Void = offThePool { try folder.file().backup(to: target.database) }
        try await journal.commit((1...30).map(String.init), of: busy)
        try await backup
        #expect(try target.names() == ["journal.sqlite"])
        let copy = try await target.journal()
        for session in sessions { #expect(try await copy.state(session)?.count == 20_000) }
        // A snapshot of some moment: the store's number and the session's are equal.
        let state = try await copy.state(busy)
        #expect(try await copy.load(busy).found?.head.number == state.map { UInt64($0) ?? 0 } ?? 0)
        await copy.close()
        var connection = try Connection(.file(target.database))
        #expect(try connection.first("PRAGMA integrity_check") { row in try row.text(0) } == "ok")
        await journal.close()
    }

    @Test func `a file that is there is not overwritten`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        try write([1, 2, 3], to: folder.path + "/backup")
        let error = #expect(throws: StoreError.self) { try folder.file().backup(to: folder.path + "/backup") }
        #expect(error?.detail == "\(folder.path)/backup exists already; a backup overwrites nothing.")
        #expect(try contents(folder.path + "/backup") == [1, 2, 3])
        await journal.close()
    }

    @Test func `a folder that is not there is an error, and nothing is left behind`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let error = #expect(throws: StoreError.self) {
            try folder.file().backup(to: folder.path + "/no/file")
        }
        #expect(error?.detail.contains("could not be written") == true)
        try await journal.commit(["1"], of: try await journal.newSession())
        await journal.close()
        #expect(try folder.names() == ["journal.lock", "journal.sqlite"])
    }

    @Test func `another backup of the same name, one that was cut short, or a person's file is left alone`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let path = folder.path + "/backup"
        let partial = path + ".partial"
        try write(Array("half a backup".utf8), to: partial)
        let error = #expect(throws: StoreError.self) { try folder.file().backup(to: path) }
        #expect(error?.code == .invalid)
        #expect(error?.detail.hasPrefix("\(partial) exists already: another backup is in progress, ") == true)
        #expect(JournalFiles.size(of: partial) == 13)
        try #require(unlink(partial) == 0)
        var begun: [String] = []
        try folder.file().backup(to: path) { begun.append($0) }
        #expect(try begun == [partial] && !folder.names().contains("backup.partial"))
        await journal.close()
    }
}
