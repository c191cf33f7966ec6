import MVI
import SQLiteJournal
import SessionJournal

/// A file of the program itself that `backup` and `restore` copy together with the journal.
///
/// ```swift
/// func ownFiles(_ settings: ServerSettings) throws -> [OwnFile] {
///     [.sqlite("shop.sqlite") { path, deleted in
///         var shop = try Connection(.file(path))
///         for customer in try customers(of: &shop) where deleted.contains(customer) { try forget(customer, in: &shop) }
///     }]
/// }
/// ```
public struct OwnFile: Sendable {
    /// Deletes people from a restored copy, whose path it gets, before the copy is used. It must close what it opens.
    public typealias Forget = @Sendable (_ path: String, _ deleted: DeletedSubjects) throws -> Void
    /// Copies a file or a folder to a path that does not exist.
    public typealias Copy = @Sendable (_ path: String, _ target: String) throws -> Void

    let path: String
    let forget: Forget?
    /// Nil for a SQLite database.
    let copy: Copy?

    /// A SQLite database, of which a backup has the same moment as of the journal. While the snapshots begin, the program
    /// cannot write; while they are copied it can, if the database uses a write-ahead log (`PRAGMA journal_mode = WAL`).
    ///
    /// - Parameters:
    ///   - path: The database's file.
    ///   - forget: Deletes people whose data was deleted after the backup was made, as the server's `onForget` did.
    public static func sqlite(_ path: String, forget: Forget?) -> OwnFile {
        OwnFile(path: path, forget: forget, copy: nil)
    }

    /// Another file, or a folder. A backup copies it after the moment that it has of the journal.
    ///
    /// - Parameters:
    ///   - path: The file or folder.
    ///   - copy: Copies it into a backup, while the program may run, and from a backup.
    ///   - forget: Deletes people whose data was deleted after the backup was made, as the server's `onForget` did.
    public static func other(_ path: String, copy: @escaping Copy, forget: Forget?) -> OwnFile {
        OwnFile(path: path, forget: forget, copy: copy)
    }

    /// Its name in a backup.
    var name: String { String(path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]) }
    /// Its path until a restore is complete.
    var partial: String { "\(path).partial" }
    /// The paths that must not exist before a restore.
    var paths: [String] { copy == nil ? ["", "-wal", "-shm", "-journal"].map { path + $0 } : [path] }
}

/// The people whose data was deleted after a backup was made.
public struct DeletedSubjects: Sendable {
    let finder: ForgottenFinder
    var isEmpty: Bool { finder.isEmpty }

    /// True for a subject whose data was deleted.
    public func contains(_ subject: Subject) -> Bool { finder.time(of: subject) != nil }
}

extension ServerProgram {
    /// The command's own files, with absolute paths.
    func ownFiles() throws -> [OwnFile] {
        let (settings, command) = try settings()
        var names: Set = ["journal.sqlite"]
        return try command.ownFiles(settings).map { file in
            let file = OwnFile(path: try FilePath.absolute(file.path), forget: file.forget, copy: file.copy)
            guard names.insert(file.name).inserted else {
                throw CommandFailure("Two files of a backup would be named '\(file.name)': rename one in `ownFiles`.")
            }
            return file
        }
    }
}
