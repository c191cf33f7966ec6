import MVI
import SQLite
import SessionJournal

/// A snapshot of a program's own SQLite database, of the same moment as the journal's.
package final class OwnDatabaseSnapshot {
    /// The time for which a backup waits for a transaction of the program.
    private static let patience = Duration.seconds(30)

    private let path: String
    /// Keeps the program from writing; nil once the snapshot exists.
    private var lock: Connection?
    private var reader: Connection

    /// Opens the database, and keeps its program from writing until `begin`.
    package init(of path: String) throws(StoreError) {
        guard JournalFiles.isRegular(path) else {
            throw StoreError(.unavailable, "The program's database \(path) does not exist or is not a file.")
        }
        self.path = path
        do {
            var writer = try Connection(.file(path), busyTimeout: Self.patience)
            try writer.execute(Connection.TransactionKind.immediate.rawValue)
            reader = try Connection(.file(path), access: .readOnly)
            lock = consume writer
        } catch {
            throw StoreError(error, of: "The program's database \(path) cannot be locked for a moment")
        }
    }

    /// Begins the snapshot, and lets the program write again.
    package func begin() throws(StoreError) {
        do {
            try reader.beginSnapshot()
            lock = nil
        } catch {
            throw StoreError(error, of: "The program's database \(path) cannot be read")
        }
    }

    /// Copies the snapshot into a new file.
    package func copy(to target: String) throws(StoreError) {
        do { try reader.copyPrivately(to: target) } catch {
            throw StoreError(error, of: "\(target) could not be written")
        }
    }
}

/// Copies of a program's own SQLite database that a restore makes.
package enum OwnDatabaseCopy {
    /// Copies a backup into a new file, which only its owner may read. Throws if the backup is damaged.
    package static func make(of backup: String, at path: String) throws(StoreError) {
        guard JournalFiles.isRegular(backup) else { throw StoreError(.invalid, "\(backup) is not a file.") }
        if (JournalFiles.size(of: backup + "-wal") ?? 0) > 0 {
            throw StoreError(.invalid, "\(backup)-wal has changes that \(backup) lacks: it is not a backup.")
        }
        do {
            var source = try Connection(.file(backup), access: .immutable)
            try source.distrustSchema()
            let fault = try source.first("PRAGMA quick_check(1)") { row in try row.text(0) }
            guard fault == "ok" else {
                throw StoreError(.invalid, "The backup \(backup) is damaged: \(fault ?? "it is empty"). Use another.")
            }
            try source.copyPrivately(to: path)
        } catch {
            throw StoreError(error, of: "The backup \(backup) cannot be copied")
        }
    }

    /// Writes a copy anew, without what was deleted from it, and into one file.
    package static func clean(_ path: String) throws(StoreError) {
        do {
            var connection = try Connection(.file(path))
            try connection.script("VACUUM")
            try connection.checkpoint(.truncate)
        } catch {
            throw StoreError(error, of: "\(path) could not be written anew")
        }
        guard (JournalFiles.size(of: "\(path)-wal") ?? 0) == 0 else {
            throw StoreError(.unavailable, "\(path) is still open; close it where people are deleted from it.")
        }
    }
}

extension Connection {
    /// Begins a transaction that reads the database as it is now.
    mutating func beginSnapshot() throws {
        if !isInTransaction { try execute(TransactionKind.deferred.rawValue) }
        // A transaction has no snapshot before it reads.
        _ = try first("SELECT count(*) FROM sqlite_schema") { row in try row.integer(0) }
    }

    /// Copies the database into a new file that only its owner may read, and removes the file after an error.
    mutating func copyPrivately(to path: String, made: () -> Void = {}) throws {
        try JournalFiles.makePrivate(path)
        made()
        do {
            var target = try Connection(.file(path), busyTimeout: .zero)
            try target.distrustSchema()
            // Synced once, at the end.
            try target.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE")
            try backUp(to: &target)
        } catch {
            JournalFiles.remove(path)
            throw error
        }
    }
}

extension StoreError {
    /// An error of a copy, with a text for operators.
    fileprivate init(_ error: any Error, of what: String) {
        if let failure = error as? StoreError {
            self = failure
        } else {
            self.init((error as? SQLiteError)?.storeCode ?? .unavailable, "\(what): \(error)")
        }
    }
}
