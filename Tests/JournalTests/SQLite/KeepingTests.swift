import Logging
import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Data that outlives a process, and the checks at the next start.
@Suite(.timeLimit(.minutes(10))) struct KeepingTests {
    @Test func `everything is there after closing and opening, and nothing lies beside the database`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        let head = try await journal.commit(["1", "2", "3"], of: session)
        await journal.close()
        #expect(try folder.names() == ["journal.lock", "journal.sqlite"])
        let again = try await folder.journal()
        let found = try #require(try await again.load(session).found)
        #expect(found.head == head && head.number == 3)
        #expect(found.labels.map(\.id.number) == [1, 2, 3])
        #expect(try await again.state(session) == "3")
        await again.close()
    }

    @Test func `rows of labels are as they were, and those of directed labels name a feature that no server has`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        var turn = session.turn(labels: [#"{"type":"a"}"#, #"{"type":"b"}"#])
        turn.labels[1].to = .subject(Subject(issuer: "i", id: "ann"))
        #expect(await journal.append(turn).isCommitted)
        await journal.close()
        var connection = try Connection(.file(folder.database))
        let rows = try connection.query("SELECT feature, json FROM labels ORDER BY place") { row in
            "\(try row.text(0)) \(String(decoding: try row.blob(1), as: UTF8.self))"
        }
        #expect(
            rows == [
                #"counter {"type":"a"}"#,
                "mvi-directed-label counter 14\nsubject 1 iann" + #"{"type":"b"}"#,
            ])
    }

    @Test func `what was answered is there after a kill`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.checkpointPages = 20 }
        let sessions = try await (0..<5).asyncMap { _ in try await journal.newSession() }
        for session in sessions { try await journal.commit((1...20).map(String.init), of: session) }
        let copy = try folder.copyAsAfterKill()
        await journal.close()
        let again = try await copy.journal()
        for session in sessions {
            #expect(try await again.state(session) == "20")
            #expect(try await again.load(session).found?.head.number == 20)
        }
        await again.close()
        var connection = try Connection(.file(copy.database))
        #expect(try connection.first("PRAGMA integrity_check") { row in try row.text(0) } == "ok")
    }

    @Test func `a log's numbers go on when a store is gone, over a restart`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        var disposal = session.turn(after: try await journal.commit(["1", "2"], of: session))
        disposal.stores[0].kind = .disposed
        #expect(await journal.append(disposal).isCommitted)
        await journal.close()
        let again = try await folder.journal()
        #expect(try await again.load(session).found?.head == disposal.head)
        #expect(try await again.load(session).found?.stores.isEmpty == true)
        var turn = session.turn(after: disposal.head)
        turn.stores[0].kind = .made
        #expect(await again.append(turn).isCommitted)
        #expect(turn.head.number == 4)
        await again.close()
    }

    @Test func `a session's number is never used again, also not after a restart`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let old = try await journal.newSession()
        try await journal.remove(old.key)
        await journal.close()
        let again = try await folder.journal()
        let new = try await again.newSession()
        #expect(new.key != old.key)
        #expect(await again.append(old.turn()).failure == .gone)
        await again.close()
    }

    @Test func `a second journal in the same folder is refused`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let error = await #expect(throws: JournalOpenError.self) { _ = try await folder.journal() }
        #expect(error?.description.contains("Another server uses the journal in \(folder.path)") == true)
        await journal.close()
        await (try await folder.journal()).close()
    }

    /// A process that is being spawned has copies of all descriptors until its program is loaded.
    @Test func `a folder is free when its journal is closed, also while a copy of the lock's descriptor is open`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let copy = try folder.copyLockDescriptor()
        defer { close(copy) }
        await journal.close()
        await (try await folder.journal()).close()
    }

    @Test func `a server that starts while a tool looks waits for it`() async throws {
        let folder = try TemporaryFolder()
        await (try await folder.journal()).close()
        var lock = try FolderLock.held(.shared, in: folder)
        async let journal = folder.journal()
        withExtendedLifetime(lock) {}
        lock = nil
        await (try await journal).close()
    }

    @Test func `tools do not keep each other out, but keep a server from working in the same moment`() throws {
        let folder = try TemporaryFolder()
        var server = try FolderLock.held(.exclusive, in: folder)
        #expect(throws: (any Error).self) { try FolderLock.held(.shared, in: folder) }
        withExtendedLifetime(server) {}
        server = nil
        let tools = [try FolderLock.held(.shared, in: folder), try FolderLock.held(.shared, in: folder)]
        #expect(throws: (any Error).self) { try FolderLock.held(.exclusive, in: folder) }
        withExtendedLifetime(tools) {}
    }

    @Test func `a folder is made with those above it, for its owner alone`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/a/b"
        let journal = try await SQLiteJournal.open(directory: path, logger: Logger(label: "test"))
        await journal.close()
        #expect(try contents(path + "/journal.sqlite").count > 0)
    }

    @Test func `a folder that cannot be made is an error that says so`() async throws {
        let folder = try TemporaryFolder()
        try write([], to: folder.path + "/file")
        let error = await #expect(throws: JournalOpenError.self) {
            _ = try await SQLiteJournal.open(directory: folder.path + "/file", logger: Logger(label: "test"))
        }
        #expect(error?.description == "The journal folder \(folder.path)/file cannot be created: Not a directory.")
    }

    @Test func `an older schema is brought up to date, step by step`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        try await journal.commit(["1"], of: session)
        await journal.close()
        let steps = SQLiteSchema.migrations + ["CREATE TABLE later (a)", "ALTER TABLE later ADD COLUMN b"]
        let again = try await folder.journal { $0.migrations = steps }
        #expect(try await again.state(session) == "1")
        await again.close()
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("PRAGMA user_version") { row in try row.int(0) } == steps.count)
        #expect(try connection.query("SELECT a, b FROM later") { _ in 0 } == [])
    }

    @Test func `a schema from the future is an error, and is left alone`() async throws {
        let folder = try TemporaryFolder()
        await (try await folder.journal { $0.migrations = SQLiteSchema.migrations + ["CREATE TABLE later (a)"] })
            .close()
        let before = try contents(folder.database)
        let error = await #expect(throws: JournalOpenError.self) { _ = try await folder.journal() }
        #expect(error?.description.contains("written by a newer version") == true)
        #expect(try contents(folder.database) == before)
    }
}

extension Sequence {
    func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}

extension FolderLock {
    fileprivate static func held(_ kind: Kind, in folder: TemporaryFolder) throws -> FolderLock? {
        try FolderLock(kind, in: folder.path)
    }
}
