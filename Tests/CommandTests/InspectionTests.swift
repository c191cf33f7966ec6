import Locking
import MVI
import MVITesting
import SQLiteJournal
import SessionJournal
import Testing
import WireJSON

#if canImport(Glibc)
    import Glibc
#endif

@testable import MVIServer
@testable import mvi_server

@Suite("mvi-server sessions and export", .timeLimit(.minutes(10)))
struct InspectionTests {
    private func list(_ folder: String, step: Int) throws -> String {
        var text: [UInt8] = []
        try SessionList.write(of: SQLiteJournalFile(directory: folder), step: step) {
            text += $0
            return true
        }
        return String(decoding: text, as: UTF8.self)
    }

    private func expectedList(_ numbers: ClosedRange<Int>) -> String {
        "id\tcreated\tlast seen\tstores\tbytes\n"
            + numbers.map { number in
                let lastSeen = Timestamp(sinceEpoch: KeptSessions.start + .seconds(number)).description
                return "session-\(number)\t2026-09-21T14:13:20.123Z\t\(lastSeen)\t1\t\(12 + "\(number)".count)\n"
            }.joined()
    }

    @Test(arguments: [1, 2, 5, 1_000])
    func `all sessions are listed, oldest first, with any page size`(step: Int) async throws {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        try await KeptSessions.add(1...5, to: journal)
        // While a server runs, and after it ended.
        #expect(try list(folder.path, step: step) == expectedList(1...5))
        await journal.close()
        #expect(try list(folder.path, step: step) == expectedList(1...5))
    }

    @Test func `the line of a space ends with its name`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        let space = SessionRecord(
            space: try #require(SpaceName("board:9")), id: "s", epoch: "k", created: KeptSessions.start)
        _ = try await awaitResult { journal.create(space, done: $0) }.get()
        await journal.close()
        #expect(try list(folder.path, step: 10).hasSuffix("\t0\t0\tboard:9\n"))
    }

    @Test func `the list ends when its reader stops`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        try await KeptSessions.add(1...3, to: journal)
        var pieces = 0
        try SessionList.write(of: SQLiteJournalFile(directory: folder.path), step: 1) { _ in
            pieces += 1
            return pieces < 2
        }
        #expect(pieces == 2)
        await journal.close()
    }

    @Test(arguments: [
        "../../escaped", "a/b", "a\u{1B}[2J\t\n\u{202E}\u{2028}b", "", "ä", String(repeating: "a", count: 108),
    ])
    func `a session whose id has not the form of ids is neither listed nor exported`(id: String) async throws {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        try await KeptSessions.add(2...2, to: journal)
        let record = SessionRecord(
            id: id, tokenHash: KeptSessions.token(1), epoch: "k", credential: .bearer, created: KeptSessions.start,
            lastSeen: KeptSessions.start)
        _ = try await awaitResult { journal.create(record, done: $0) }.get()
        await journal.close()
        #expect(try list(folder.path, step: 10) == expectedList(2...2))
        let file = SQLiteJournalFile(directory: folder.path)
        #expect(throws: StoreError.self) { try file.export(id) }
        let into = "\(folder.path)/a/b"
        try #require(mkdir("\(folder.path)/a", 0o700) == 0)
        #expect(try Export.write(sample: 10, of: file, into: into) == 1)
        #expect(TemporaryFolder.isThere("\(into)/session-2.json"))
    }

    @Test func `a file of the same name is replaced, and a link, a pipe or a folder is not written through`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        try await KeptSessions.add(1...1, to: journal)
        await journal.close()
        let file = SQLiteJournalFile(directory: folder.path)
        let (into, victim) = (try folder.folder("into"), "\(folder.path)/victim")
        let path = "\(into)/session-1.json"
        func keepVictim() throws {
            let descriptor = open(victim, O_WRONLY | O_CREAT | O_TRUNC, 0o640)
            try #require(write(descriptor, "precious", 8) == 8)
            close(descriptor)
        }
        for plant in [
            { symlink(victim, path) }, { symlink("nothing", path) }, { mkfifo(path, 0o600) }, { mkdir(path, 0o700) },
        ] {
            try keepVictim()
            try #require(plant() == 0)
            let error = #expect(throws: CommandFailure.self) { try Export.write(sample: 1, of: file, into: into) }
            #expect(
                error?.description == "'\(path)' exists and is not a regular file. Remove it, or give another folder.")
            try #require(remove(path) == 0)
        }
        // A second name of another file, and an earlier export.
        try #require(link(victim, path) == 0)
        for _ in 1...2 { #expect(try Export.write(sample: 1, of: file, into: into) == 1) }
        #expect(try FilePath.size(of: victim) == 8 && TemporaryFolder.mode(of: path) == 0o600)
        #expect(FilePath.size(of: path) ?? 0 > 100)
        try #require(unlink(path) == 0 && rmdir(into) == 0, "a temporary file is left")
    }

    @Test func `a journal without sessions is a list without lines`() async throws {
        let folder = try TemporaryFolder()
        await (try await KeptSessions.open(folder.path)).close()
        #expect(try list(folder.path, step: 10) == "id\tcreated\tlast seen\tstores\tbytes\n")
    }

    @Test func `an export is the session's document, with or without a server, and a fixture for tests`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        try await KeptSessions.add(1...2, to: journal)
        let live = try Export.document(of: "session-2", in: SQLiteJournalFile(directory: folder.path))
        await journal.close()
        let later = try Export.document(of: "session-2", in: SQLiteJournalFile(directory: folder.path))
        #expect(live == later)
        let export = try #require(try SQLiteJournalFile(directory: folder.path).export("session-2"))
        #expect(live == SessionDocument.write(export))
        let fixture = try Fixture(live)
        #expect(fixture.stores.map(\.feature) == ["counter"])
        #expect(fixture.stores.map(\.version) == [1])
    }

    @Test func `an unknown session is an error with advice`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await KeptSessions.open(folder.path)
        try await KeptSessions.add(1...1, to: journal)
        await journal.close()
        let error = #expect(throws: CommandFailure.self) {
            try Export.document(of: "session-9", in: SQLiteJournalFile(directory: folder.path))
        }
        #expect(
            error?.description
                == "There is no session 'session-9' in '\(folder.path)'. The command `sessions` lists all sessions."
        )
    }

    @Test func `a folder without a journal is an error that names it, and stays unchanged`() throws {
        let folder = try TemporaryFolder()
        let errors = [
            #expect(throws: CommandFailure.self) { try list(folder.path, step: 1) },
            #expect(throws: CommandFailure.self) {
                try Export.document(of: "s", in: SQLiteJournalFile(directory: folder.path))
            },
        ]
        #expect(errors.map { $0?.description } == Array(repeating: "There is no journal in \(folder.path).", count: 2))
        #expect(!TemporaryFolder.isThere("\(folder.path)/journal.sqlite"))
    }
}
