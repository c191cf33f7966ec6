import Glibc
import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

/// The view of tools on a journal.
@Suite(.timeLimit(.minutes(10))) struct FileTests {
    @Test func `beside a server a tool sees what was committed just now`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        let file = SQLiteJournalFile(directory: folder.path)
        var head = SessionHead.empty
        for state in ["1", "2", "3"] {
            head = try await journal.commit([state], of: session, after: head)
            let export = try #require(try file.export(session.record.id))
            #expect(export.stores.map(\.state) == [Array(state.utf8)])
        }
        #expect(try file.export("nobody") == nil)
        await journal.close()
    }

    @Test func `without a server a tool reads the file and leaves nothing behind`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        try await journal.commit(["1"], of: session)
        await journal.close()
        let before = try contents(folder.database)
        let file = SQLiteJournalFile(directory: folder.path)
        #expect(try file.export(session.record.id)?.session.head.number == 1)
        #expect(try folder.names() == ["journal.lock", "journal.sqlite"])
        #expect(try contents(folder.database) == before)
    }

    @Test(arguments: [true, false])
    func `after a kill a tool reads what is in the log, and leaves it there`(hasIndex: Bool) async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        try await journal.commit(["1", "2"], of: session)
        let killed = try folder.copyAsAfterKill()
        await journal.close()
        try write([], to: killed.path + "/journal.lock")
        if !hasIndex { try killed.remove("journal.sqlite-shm") }
        let before = try ["", "-wal"].map { try contents(killed.database + $0) }
        let index = hasIndex ? try contents(killed.database + "-shm") : nil
        let file = SQLiteJournalFile(directory: killed.path)
        #expect(try file.export(session.record.id)?.stores.map(\.state) == [Array("2".utf8)])
        #expect(try ["", "-wal"].map { try contents(killed.database + $0) } == before)
        if let index { #expect(try contents(killed.database + "-shm") == index) }
        let again = try await killed.journal()
        #expect(try await again.state(session) == "2")
        await again.close()
    }

    @Test(arguments: [(UInt16(0o700), false), (0o750, true), (0o701, true), (0o777, true)])
    func `a folder that others can get at is noticed`(mode: UInt16, isOpen: Bool) throws {
        let folder = try TemporaryFolder()
        #expect(chmod(folder.path, mode_t(mode)) == 0)
        let exposure = JournalFiles.exposure(of: folder.path)
        #expect((exposure != nil) == isOpen)
        if let exposure { #expect(exposure.contains(String(mode, radix: 8)) && exposure.contains("chmod")) }
        #expect(JournalFiles.exposure(of: folder.path + "/nothing") == nil)
    }

    @Test func `sessions are listed page by page`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        var sessions: [TestSession] = []
        for number in 0..<7 {
            let session = try await journal.newSession(lastSeen: .seconds(100))
            sessions.append(session)
            guard number == 2 else { continue }
            let turn = session.turn(state: "12345", time: .seconds(150))
            #expect(await journal.append(turn).isCommitted)
        }
        let file = SQLiteJournalFile(directory: folder.path)
        var listed: [SessionOverview] = []
        while true {
            let page = try file.sessions(after: listed.last?.key, limit: 3)
            listed += page
            if page.isEmpty { break }
        }
        #expect(listed.map(\.id) == sessions.map(\.record.id))
        #expect(listed.map(\.stores) == [0, 0, 1, 0, 0, 0, 0])
        #expect(listed[2].bytes == "12345".utf8.count + "v12345".utf8.count)
        #expect(listed[2].created == .seconds(100) && listed[2].lastSeen == .seconds(150))
        await journal.close()
    }

    @Test func `a folder without a journal is an error that says so`() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: StoreError.self) {
            _ = try SQLiteJournalFile(directory: folder.path).sessions(limit: 1)
        }
        #expect(error?.detail == "There is no journal in \(folder.path).")
        #expect(try folder.names() == [])
    }
}
