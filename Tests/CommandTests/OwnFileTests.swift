import MVI
import SQLite
import SQLiteJournal
import SessionJournal
import Testing

@testable import MVIServer
@testable import mvi_server

#if canImport(Glibc)
    import Glibc
#endif

/// Tests backup and restore of a program's own database beside the journal.
@Suite("backup and restore of own files", .timeLimit(.minutes(10)))
struct OwnFileTests {
    private struct Failure: Error {}

    private let temporary: TemporaryFolder
    private let data: String
    private var shop: String { "\(data)/shop.sqlite" }
    private var backup: String { "\(temporary.path)/backup" }
    private static let ann = Subject(issuer: "test", id: "ann")

    init() async throws {
        temporary = try TemporaryFolder()
        data = try temporary.folder("data")
        let journal = try await KeptSessions.open(data)
        try await KeptSessions.add(1...3, to: journal)
        await journal.close()
        var connection = try Connection(.file(shop))
        try connection.script(
            """
            PRAGMA journal_mode = WAL; CREATE TABLE orders (customer TEXT);
            INSERT INTO orders VALUES ('ann'), ('ann'), ('bob');
            """)
    }

    private func own(_ path: String, forget: OwnFile.Forget? = nil) -> [OwnFile] { [.sqlite(path, forget: forget)] }

    private func customers(_ path: String) throws -> [String] {
        var connection = try Connection(.file(path))
        return try connection.query("SELECT customer FROM orders ORDER BY rowid") { row in try row.text(0) }
    }

    /// Runs a restore to another folder, and expects that it fails and leaves nothing.
    private func expectNothingRestored(_ own: [OwnFile], _ reason: String) throws {
        let folder = try temporary.folder("failed")
        defer { FileTree.remove(folder) }
        let error = #expect(throws: CommandFailure.self) { try Restore.run(from: backup, toFolder: folder, with: own) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        for name in ["journal.sqlite", "journal.sqlite.partial", "shop.sqlite", "shop.sqlite.partial", "notes"] {
            #expect(!TemporaryFolder.isThere("\(folder)/\(name)"), "\(name)")
        }
    }

    @Test func `a backup has the database of the moment of the journal's, and restores both`() throws {
        let (notes, shop) = ("\(data)/notes", shop)
        try #require(symlink("some text", notes) == 0)
        // This copy runs after the snapshots and before the database's copy: writers are free, and too late.
        let late = OwnFile.other(
            notes,
            copy: { path, target in
                var connection = try Connection(.file(shop), busyTimeout: .zero)
                try connection.script("INSERT INTO orders VALUES ('late')")
                guard symlink("copy of \(path)", target) == 0 else { throw Failure() }
            }, forget: nil)
        try Backup.make(at: backup, ofFolder: data, with: [late] + own(shop))
        #expect(try customers(shop) == ["ann", "ann", "bob", "late"])
        #expect(!TemporaryFolder.isThere("\(backup).partial"))
        #expect(try TemporaryFolder.mode(of: backup) == 0o700)
        #expect(try TemporaryFolder.mode(of: "\(backup)/shop.sqlite") == 0o600)

        let folder = "\(temporary.path)/new"
        let elsewhere = OwnFile.other(
            "\(folder)/notes",
            copy: { _, target in guard symlink("restored", target) == 0 else { throw Failure() } }, forget: nil)
        #expect(
            try Restore.run(from: backup, toFolder: folder, with: [elsewhere] + own("\(folder)/shop.sqlite")) == 3)
        #expect(try customers("\(folder)/shop.sqlite") == ["ann", "ann", "bob"])
        #expect(try KeptSessions.count(ofSession: 3, inFolder: folder) == "{\"count\":3}")
        #expect(try FilePath.isThere("\(folder)/notes"))
        #expect(!TemporaryFolder.isThere("\(folder)/shop.sqlite.partial"))
    }

    @Test func `a program cannot write between the lock of its database and the snapshot, and then it can`() throws {
        let snapshot = try OwnDatabaseSnapshot(of: shop)
        var connection = try Connection(.file(shop), busyTimeout: .zero)
        #expect(throws: SQLiteError.self) { try connection.script("INSERT INTO orders VALUES ('early')") }
        try snapshot.begin()
        try connection.script("INSERT INTO orders VALUES ('late')")
        try snapshot.copy(to: backup)
        #expect(try customers(backup) == ["ann", "ann", "bob"])
    }

    @Test func `a backup without one of its files leaves nothing`() throws {
        let missing = own("\(data)/none.sqlite")
        let text = #expect(throws: CommandFailure.self) { try Backup.make(at: backup, ofFolder: data, with: missing) }
        #expect(text?.description.contains("'\(data)/none.sqlite' does not exist") == true)
        let failing = OwnFile.other(
            shop,
            copy: { _, target in
                mkdir(target, 0o700); throw Failure()
            }, forget: nil)
        #expect(throws: CommandFailure.self) { try Backup.make(at: backup, ofFolder: data, with: [failing]) }
        #expect(!TemporaryFolder.isThere(backup) && !TemporaryFolder.isThere("\(backup).partial"))
        // Another one may be in progress.
        let partial = try temporary.folder("backup.partial")
        let busy = #expect(throws: CommandFailure.self) {
            try Backup.make(at: backup, ofFolder: data, with: own(shop))
        }
        #expect(busy?.description.contains("another backup is in progress") == true)
        #expect(TemporaryFolder.isThere(partial))
    }

    @Test func `a restore that would overwrite a file, or lacks one, changes nothing`() throws {
        try Backup.make(at: backup, ofFolder: data, with: own(shop))
        let folder = try temporary.folder("new")
        for name in ["shop.sqlite", "shop.sqlite-wal"] {
            try #require(symlink("nowhere", "\(folder)/\(name)") == 0)
            let error = #expect(throws: CommandFailure.self) {
                try Restore.run(from: backup, toFolder: folder, with: own("\(folder)/shop.sqlite"))
            }
            #expect(error?.description.contains("'\(folder)/\(name)' exists already") == true)
            #expect(!TemporaryFolder.isThere("\(folder)/journal.sqlite"))
            unlink("\(folder)/\(name)")
        }
        try expectNothingRestored(own("\(temporary.path)/failed/other.sqlite"), "lacks 'other.sqlite'")
        let file = "\(temporary.path)/file"
        try Backup.make(at: file, ofFolder: data)
        let error = #expect(throws: CommandFailure.self) {
            try Restore.run(from: file, toFolder: folder, with: own("\(folder)/shop.sqlite"))
        }
        #expect(error?.description.contains("It must be a folder with journal.sqlite") == true)
    }

    @Test func `a copy that fails, a damaged database and a deletion that fails leave nothing half restored`() throws {
        let notes = "\(data)/notes"
        try #require(mkdir(notes, 0o700) == 0)
        try Backup.make(
            at: backup, ofFolder: data,
            with: own(shop) + [.other(notes, copy: { mkdir($1, 0o700) }, forget: nil)])
        let target = "\(temporary.path)/failed"
        let failing = OwnFile.other(
            "\(target)/notes",
            copy: { _, path in
                mkdir(path, 0o700); throw Failure()
            }, forget: nil)
        try expectNothingRestored(own("\(target)/shop.sqlite") + [failing], "The restore failed")
        try #require(truncate("\(backup)/shop.sqlite", 4_096 + 100) == 0)
        try expectNothingRestored(own("\(target)/shop.sqlite"), "\(backup)/shop.sqlite")
    }

    @Test func `people who were deleted after the backup are deleted from the restored database, with their bytes`()
        throws
    {
        try Backup.make(at: backup, ofFolder: data, with: own(shop))
        let folder = try temporary.folder("new")
        _ = try ForgottenList("\(folder)/forgotten.jsonl").note(Self.ann, at: KeptSessions.start)
        let restored = "\(folder)/shop.sqlite"
        let failing = own(restored) { _, _ in throw Failure() }
        let error = #expect(throws: CommandFailure.self) {
            try Restore.run(from: backup, toFolder: folder, with: failing)
        }
        #expect(error?.description.contains("could not be deleted") == true)
        #expect(!TemporaryFolder.isThere(restored) && !TemporaryFolder.isThere("\(folder)/journal.sqlite"))

        let forgetting = own(restored) { path, deleted in
            var connection = try Connection(.file(path))
            // Debian's SQLite has it on.
            try connection.script("PRAGMA secure_delete = OFF")
            for name in ["ann", "bob"] where deleted.contains(Subject(issuer: "test", id: name)) {
                try connection.execute("DELETE FROM orders WHERE customer = ?", [.text(name)])
            }
        }
        #expect(try Restore.run(from: backup, toFolder: folder, with: forgetting) == 3)
        #expect(!TemporaryFolder.isThere("\(restored)-wal"))
        #expect(!Self.bytes(of: restored).contains(Array("ann".utf8)), "not in a free page either")
        #expect(try customers(restored) == ["bob"])
        // The next backup knows of the deletion, and the person may have come back meanwhile.
        var connection = try Connection(.file(restored))
        try connection.script("INSERT INTO orders VALUES ('ann')")
        let next = "\(temporary.path)/next"
        try Backup.make(at: next, ofFolder: folder, with: own(restored))
        for name in ["shop.sqlite", "shop.sqlite-wal", "shop.sqlite-shm", "journal.sqlite"] {
            unlink("\(folder)/\(name)")
        }
        #expect(try Restore.run(from: next, toFolder: folder, with: forgetting) == 3)
        #expect(try customers(restored) == ["bob", "ann"])
    }

    private static func bytes(of path: String) -> [UInt8] {
        guard let file = fopen(path, "r") else { return [] }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        return Array(bytes.prefix(fread(&bytes, 1, bytes.count, file)))
    }

    @Test func `two files of one name are refused`() throws {
        struct Twice: FeatureServerCommand {
            func ownFiles(_ settings: ServerSettings) throws -> [OwnFile] {
                [.sqlite("a/shop.sqlite", forget: nil), .sqlite("b/shop.sqlite", forget: nil)]
            }
        }
        let program = try ServerProgram<Twice>.parse([])
        #expect(throws: CommandFailure.self) { try program.ownFiles() }
    }
}
