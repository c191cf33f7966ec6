import Foundation
import Testing

@testable import SQLite

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite struct LogTests {
    private final class File {
        let path = "/tmp/sqlite-tests-\(UInt64.random(in: 0 ... .max)).sqlite"

        deinit { for end in ["", "-wal", "-shm", "-copy"] { unlink(path + end) } }

        func open(_ access: Connection.Access = .create) throws -> Connection {
            try Connection(.file(path), access: access, busyTimeout: .zero)
        }

        func make() throws -> Connection {
            var connection = try open()
            try connection.takeOverCheckpoints()
            try connection.script("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
            return connection
        }

        func exists(_ end: String) -> Bool { access(path + end, F_OK) == 0 }
    }

    @Test func `the log's length is known, and a checkpoint says how far it came`() throws {
        let file = File()
        var connection = try file.make()
        let pages = connection.logPages
        #expect(pages > 0)
        #expect(try connection.checkpoint(.passive) == CheckpointProgress(pages: pages, copied: pages))
        // The next commit restarts the log.
        try connection.script("INSERT INTO t VALUES (2)")
        let again = connection.logPages
        #expect(again < pages)
        try connection.checkpoint(.truncate)
    }

    @Test func `closing leaves the log alone, unless it is told to copy it`() throws {
        let file = File()
        do { _ = try file.make() }
        #expect(file.exists("-wal"))
        do {
            var connection = try file.open()
            try connection.takeOverCheckpoints()
            try connection.setCheckpointOnClose(true)
            #expect(try connection.first("SELECT a FROM t") { row in try row.int(0) } == 1)
        }
        #expect(!file.exists("-wal"))
    }

    @Test(arguments: [Connection.Access.readOnly, .readOnlyIndex, .immutable])
    func `a connection for reading refuses to write`(access: Connection.Access) throws {
        let file = File()
        var writer = try file.make()
        try writer.checkpoint(.passive)
        var connection = try file.open(access)
        #expect(try connection.first("SELECT a FROM t") { row in try row.int(0) } == 1)
        let error = #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES (2)") }
        #expect(error?.code == .readOnly)
        #expect(writer.logPages > 0)
    }

    @Test func `a read-only connection creates no file`() throws {
        let file = File()
        #expect(throws: SQLiteError.self) { _ = try file.open(.readOnly) }
        #expect(!file.exists(""))
    }

    @Test func `a copy is of the moment when it is made, also by a connection that only reads`() throws {
        let file = File()
        var connection = try file.make()
        try connection.script(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO t SELECT randomblob(3000) FROM n"
        )
        let count = try connection.first("SELECT count(*) FROM t") { row in try row.int(0) }
        var reader = try file.open(.readOnly)
        var copy = try Connection(.file(file.path + "-copy"))
        try reader.transaction(.deferred) { reader in
            _ = try reader.first("SELECT count(*) FROM t") { row in try row.int(0) }
            try connection.script("INSERT INTO t VALUES ('late')")
            try reader.backUp(to: &copy)
        }
        #expect(try copy.first("SELECT count(*) FROM t") { row in try row.int(0) } == count)
    }

    @Test(arguments: ["", "PRAGMA page_size = 65536", "PRAGMA auto_vacuum = FULL"])
    func `copies that moved rows leave in pages are overwritten`(pragma: String) throws {
        let file = File()
        var found: [Bool] = []
        for isOverwriting in [false, true] {
            unlink(file.path)
            var connection = try file.open()
            try connection.script(pragma)
            if isOverwriting { try connection.overwriteDeletedRows() }
            try connection.script(
                """
                CREATE TABLE t (a TEXT, b TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID;
                CREATE INDEX i ON t (a);
                WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29999)
                INSERT OR IGNORE INTO t SELECT
                    CASE i * 101 / 7 % 2 WHEN 0 THEN 'marker ' ELSE 'harmless ' END || (i * 101 % 99991), i * 101 / 7 % 4
                FROM n;
                PRAGMA secure_delete = ON;
                DELETE FROM t WHERE a LIKE 'marker%'
                """)
            #expect(try connection.first("PRAGMA integrity_check") { try $0.text(0) } == "ok")
            #expect(try connection.first("SELECT count(*) FROM t") { try $0.int(0) } ?? 0 > 10_000)
            found.append(try Data(contentsOf: URL(fileURLWithPath: file.path)).range(of: Data("marker".utf8)) != nil)
        }
        // Other pages could be taken for pages with rows if there is auto_vacuum.
        #expect(found == [true, pragma.contains("auto_vacuum")])
    }
}
