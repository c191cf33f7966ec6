import MVI
import MVIServer
import SQLite
import SQLiteJournal
import SessionJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension FuzzTarget {
    /// Changes of a backup, one per line, which a disk, another program or an attacker made before it is restored:
    ///
    ///     set|TABLE|COLUMN|VALUE       of all rows; i5 is an integer, tabc a text, xff00 a blob, r0.5 a real, n NULL
    ///     loose|TABLE                  a copy without types, constraints and indexes, so that each value fits
    ///     drop|TABLE
    ///     rename|TABLE|COLUMN|NEW
    ///     trigger|TABLE                which changes what is restored
    ///     view|TABLE                   in the place of a table
    ///     version|5
    ///     bytes|4096|ff00              at an offset
    ///     cut|4096                     the length
    static let backup = FuzzTarget(name: "backup") { input throws(BrokenProperty) in
        let folder = try succeed("a folder") { try ScratchFolder() }
        let file = "\(folder.path)/backup"
        try succeed("the backup") { try ScratchFolder.write(SampleBackup.bytes.get(), to: file) }
        for line in String(decoding: input, as: UTF8.self).utf8.split(separator: 0x0A).prefix(16) {
            // A change that SQLite refuses changes nothing.
            try? SampleBackup.change(file, String(Substring(line)))
        }
        let journal = SQLiteJournalFile(directory: "\(folder.path)/data")
        _ = attempt { () throws(StoreError) in try OwnDatabaseCopy.make(of: file, at: "\(folder.path)/own") }
        guard let count = try? journal.restore(from: file, signingOut: input.count.isMultiple(of: 2)) else {
            for name in ["journal.sqlite", "journal.sqlite.partial"] {
                try hold(access("\(journal.place)/\(name)", F_OK) != 0, "a failed restore leaves \(name)")
            }
            return
        }
        let schema = try succeed("the schema") { try SampleBackup.schema(of: "\(journal.place)/journal.sqlite") }
        try hold(schema == SampleBackup.schema, "the restored schema differs: \(schema)")
        if case .success(let sessions) = attempt({ () throws(StoreError) in try journal.sessions(limit: 10) }) {
            try hold(sessions.count == min(count, 10), "\(sessions.count) of \(count) sessions are listed")
            for session in sessions {
                guard case .success(let export?) = attempt({ () throws(StoreError) in try journal.export(session.id) })
                else { continue }
                _ = SessionDocument.line(export)
            }
        }
        _ = attempt { () throws(StoreError) in try journal.forEachPart { _ in } }
    }
}

/// A folder in memory, if the system has one, that is removed with its files.
private final class ScratchFolder {
    let path: String

    init() throws {
        let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/mvi-fuzz-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw BrokenProperty("mkdtemp: errno \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        mkdir("\(path)/data", 0o700)
    }

    deinit {
        for folder in ["\(path)/data", path] {
            if let stream = opendir(folder) {
                while let entry = readdir(stream) {
                    let name = withUnsafeBytes(of: entry.pointee.d_name) {
                        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                    }
                    unlink("\(folder)/\(name)")
                }
                closedir(stream)
            }
            rmdir(folder)
        }
    }

    static func write(_ bytes: [UInt8], to path: String) throws { try PrivateFile.write(bytes, to: path) }
}

/// The backup that inputs change.
private enum SampleBackup {
    static let bytes = Result { try make() }
    static let schema = (try? made { try schema(of: "\($0)/journal.sqlite") }) ?? []

    /// The statements of a database's tables, indexes, triggers and views.
    static func schema(of path: String) throws -> [String] {
        var connection = try Connection(.file(path))
        return try connection.query("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name") { row in
            try row.text(0)
        }
    }

    private static func make() throws -> [UInt8] {
        try made { folder in
            do {
                var connection = try Connection(.file("\(folder)/journal.sqlite"))
                try connection.script(rows)
            }
            try SQLiteJournalFile(directory: folder).backup(to: "\(folder)/backup")
            guard let bytes = try PrivateFile.read("\(folder)/backup") else { throw BrokenProperty("no backup") }
            return bytes
        }
    }

    /// Calls a function with the folder of an empty journal.
    private static func made<Value>(_ body: (_ folder: String) throws -> Value) throws -> Value {
        let folder = try ScratchFolder()
        defer { withExtendedLifetime(folder) {} }
        try ScratchFolder.write([], to: "\(folder.path)/data/journal.sqlite")
        try SQLiteJournalFile(directory: "\(folder.path)/data").rotateKey(now: .zero, tokenLife: .seconds(60))
        return try body("\(folder.path)/data")
    }

    private static let rows = """
        INSERT INTO sessions (key, token, id, epoch, credential, created, last_seen, head, nonce, issuer, subject, shared)
            VALUES (1, zeroblob(32), 's1', 'e1', 'bearer', 1, 2, 5, 7, 'issuer', 'ann', 1);
        INSERT INTO sessions (key, token, id, epoch, credential, created, last_seen, head, nonce)
            VALUES (2, CAST('0123456789abcdef0123456789abcdef' AS BLOB), 's2', 'e2', 'cookie', 1, 2, 0, 0);
        INSERT INTO stores (id, feature, number, time, version, nonce, head, made, schema, view_intent, state, view)
            VALUES (65536, 'desk', 5, 3, 5, 7, 5, 1, 1, 'i5', CAST('{"count":5}' AS BLOB), CAST('{}' AS BLOB));
        INSERT INTO labels VALUES (1, 4, 0, 'desk', 4, 'i4', 9223372036854775807, 0, CAST('{"type":"said"}' AS BLOB));
        INSERT INTO receipts VALUES (1, 'kdesk', 'k1', 3, 3, 'i3', 3, NULL, zeroblob(32), NULL);
        INSERT INTO receipts VALUES (1, 'se', 7, 5, 3, 'i5', NULL, 422, zeroblob(32), CAST('{}' AS BLOB));
        INSERT INTO set_aside VALUES (1, 1, 2, 'old', 3, 'unreadable', 1, CAST('{}' AS BLOB));
        INSERT INTO tombstones VALUES (zeroblob(32), 9);
        INSERT INTO garbage VALUES (3);
        INSERT INTO credentials (session, number, token, kind, made, principal)
            VALUES (1, 1, zeroblob(32), 'bearer', 3, CAST('{"issuer":"issuer","subject":"ann"}' AS BLOB));
        INSERT INTO reminders (session, feature, name, due, number, action)
            VALUES (1, 'desk', 'late', 9, 4, CAST('{"type":"said"}' AS BLOB));
        INSERT INTO recordings VALUES (1048576, 4, 'desk', 3, CAST('{"action":{}}' AS BLOB));
        INSERT INTO forgotten VALUES (5, zeroblob(32), zeroblob(32));
        """

    static func change(_ path: String, _ line: String) throws {
        let parts = line.utf8.split(separator: UInt8(ascii: "|"), maxSplits: 3, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        let names = parts.dropFirst().prefix(3).map { $0.filter { $0.isLetter || $0 == "_" } }
        guard let first = names.first else { return }
        func execute(_ sql: String, _ values: [SQLiteValue] = []) throws {
            var connection = try Connection(.file(path))
            for statement in sql.split(separator: ";") { try connection.execute(String(statement), values) }
        }
        switch (parts[0], parts.count) {
        case ("set", 4): try execute("UPDATE \(first) SET \(names[1]) = ?", [value(parts[3])])
        case ("loose", 2):
            try execute(
                "ALTER TABLE \(first) RENAME TO strict; CREATE TABLE \(first) AS SELECT * FROM strict; DROP TABLE strict"
            )
        case ("drop", 2): try execute("DROP TABLE \(first)")
        case ("rename", 4): try execute("ALTER TABLE \(first) RENAME COLUMN \(names[1]) TO \(names[2])")
        case ("trigger", 2):
            var connection = try Connection(.file(path))
            try connection.script(
                "CREATE TRIGGER undo AFTER UPDATE ON \(first) BEGIN DELETE FROM sessions; END;"
                    + "CREATE TRIGGER spy AFTER INSERT ON \(first) BEGIN DELETE FROM stores; END;")
        case ("view", 2):
            try execute("ALTER TABLE \(first) RENAME TO hidden; CREATE VIEW \(first) AS SELECT * FROM hidden")
        case ("version", 2): try execute("PRAGMA user_version = \(Int32(parts[1]) ?? 0)")
        case ("bytes", 3): try overwrite(path, at: parts[1], with: parts[2])
        case ("cut", 2): truncate(path, off_t(max(0, Int32(parts[1]) ?? 0)))
        default: break
        }
    }

    private static func value(_ text: String) -> SQLiteValue {
        let rest = String(text.dropFirst())
        return switch text.first {
        case "i": .integer(Int64(rest) ?? 0)
        case "r": .real(Double(rest) ?? 0)
        case "t": .text(rest)
        case "x": .blob(bytes(rest))
        default: .null
        }
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap { $0.hexDigitValue.map(UInt8.init) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    private static func overwrite(_ path: String, at offset: String, with hex: String) throws {
        guard var file = try PrivateFile.read(path), let offset = Int(offset) else { return }
        for (index, byte) in bytes(hex).enumerated() {
            guard file.indices.contains(offset &+ index) else { break }
            file[offset + index] = byte
        }
        unlink(path)
        try ScratchFolder.write(file, to: path)
    }
}
