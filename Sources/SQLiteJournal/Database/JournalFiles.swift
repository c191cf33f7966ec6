import MVI
import SessionJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of a journal in the file system.
///
/// The database itself is never opened here: closing its descriptor would release the locks that SQLite holds on it in
/// this process (https://sqlite.org/howtocorrupt.html, 2.2).
struct JournalFiles: Sendable {
    let folder: String

    var database: String { folder + "/journal.sqlite" }
    var log: String { database + "-wal" }

    /// The file that a path refers to now.
    struct Identity: Equatable {
        let device: UInt64
        let number: UInt64
    }

    /// Returns the file's identity, or nil if there is none.
    static func identity(of path: String) -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino))
    }

    /// Returns the size of a file, or nil if there is none.
    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Returns the errno if a path cannot be examined, or nil.
    static func fault(of path: String) -> Int32? {
        var status = stat()
        return stat(path, &status) == 0 ? nil : errno
    }

    /// True if a path refers to a regular file, not a folder or pipe.
    static func isRegular(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Creates an empty file that only its owner may read.
    static func makePrivate(_ path: String) throws(StoreError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno, "\(path) could not be written") }
        close(descriptor)
    }

    static func remove(_ path: String) { unlink(path) }

    /// The list of deleted subjects, which stays when the journal is moved away.
    var forgotten: ForgottenList { ForgottenList("\(folder)/forgotten.jsonl") }

    /// Creates a folder and its missing parents, for its owner only. Returns the errno if that fails.
    static func makeFolder(_ path: String) -> Int32? {
        if mkdir(path, 0o700) == 0 { return nil }
        let code = errno
        if code == ENOENT, let slash = path.dropLast().lastIndex(of: "/"), slash != path.startIndex {
            if let code = makeFolder(String(path[..<slash])) { return code }
            return mkdir(path, 0o700) == 0 ? nil : errno
        }
        guard code == EEXIST else { return code }
        var status = stat()
        guard stat(path, &status) == 0 else { return errno }
        return status.st_mode & S_IFMT == S_IFDIR ? nil : ENOTDIR
    }

    /// Returns a sentence for an operator if other users can access a file or folder, or nil. It contains the data of
    /// users.
    static func exposure(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        if status.st_uid != geteuid(), geteuid() != 0 {
            return "\(path) belongs to the user \(status.st_uid), who can change it; this process is \(geteuid())"
        }
        let others = status.st_mode & 0o077
        guard others != 0 else { return nil }
        let mode = String(status.st_mode & 0o777, radix: 8)
        return "\(path) has the mode \(mode): other users of this machine can access it. Run chmod go= on it"
    }

    /// Refuses files that SQLite would silently replace: it deletes a log beside an empty database as a leftover.
    func check() throws(StoreError) {
        if Self.size(of: database) == 0, let size = Self.size(of: log), size > 0 {
            throw StoreError(
                .unavailable,
                "The journal \(database) is empty, but its log holds \(size) bytes: it is damaged. It is unchanged; replace it with a backup."
            )
        }
    }

    /// Ensures that the log's contents are on the disk.
    ///
    /// After a failed sync, Linux marks unwritten pages as clean and still returns them to readers
    /// (https://wiki.postgresql.org/wiki/Fsync_Errors). After that, in this process or an earlier one, SQLite's
    /// recovery could find a commit in the log that is gone after a power cut, with all later ones. So each byte is
    /// rewritten in place.
    func restoreLog() throws(StoreError) {
        func failure(_ what: String) -> StoreError {
            StoreError(errno, "The journal's log \(log) could not be \(what)")
        }
        let descriptor = open(log, O_RDWR | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return }
            throw failure("opened")
        }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        var offset = 0
        while true {
            let count = buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read") }
            if count == 0 { break }
            var written = 0
            while written < count {
                let result = buffer.withUnsafeBytes {
                    pwrite(descriptor, $0.baseAddress.map { $0 + written }, count - written, off_t(offset + written))
                }
                if result < 0, errno == EINTR { continue }
                guard result > 0 else { throw failure("written") }
                written += result
            }
            offset += count
        }
        guard offset == 0 || fsync(descriptor) == 0 else { throw failure("synced") }
    }

    /// Syncs a complete backup and gives it its name. Blocks on the disk.
    static func publish(_ partial: String, as path: String) -> Result<Void, StoreError> {
        func failed(_ what: String) -> Result<Void, StoreError> {
            let failure = StoreError(errno, "The backup \(path) could not be \(what)")
            unlink(partial)
            return .failure(failure)
        }
        guard sync(partial) else { return failed("synced") }
        // Unlike a rename, this never overwrites a file that appeared in the meantime.
        guard link(partial, path) == 0 else { return failed("given its name") }
        unlink(partial)
        return sync(path.lastIndex(of: "/").map { String(path[...$0]) } ?? ".") ? .success(()) : failed("synced")
    }

    private static func sync(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        let code = fsync(descriptor) == 0 ? 0 : errno
        close(descriptor)
        // Closing must not hide the sync's error.
        errno = code
        return code == 0
    }
}

/// Excludes a second server from the same folder by a lock on a file in it. The system releases the lock when the
/// process ends in any way.
final class FolderLock: Sendable {
    enum Kind {
        /// For a server: no other process has the lock.
        case exclusive
        /// For a tool that reads the files while no server runs.
        case shared
    }

    private let descriptor: Int32

    /// - Throws: `JournalOpenError` if another process has the lock, or this process a second time.
    init(_ kind: Kind, in folder: String) throws {
        let path = folder + "/journal.lock"
        // A tool creates nothing. On a read-only disk, an existing file can still be locked.
        var descriptor = kind == .exclusive ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) : -1
        let code = errno
        if descriptor < 0 { descriptor = open(path, O_RDONLY | O_CLOEXEC) }
        func failure(_ code: Int32) -> StoreError { StoreError(code, "The lock file in \(folder) cannot be created") }
        guard descriptor >= 0 else { throw failure(kind == .exclusive ? code : errno) }
        self.descriptor = descriptor
        // A tool holds the lock only for moments, and a server that starts meanwhile must not fail.
        for _ in 0..<200 {
            if flock(descriptor, (kind == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 { return }
            guard errno == EWOULDBLOCK || errno == EINTR else { throw failure(errno) }
            // If a tool holds the lock, this succeeds.
            guard kind == .exclusive, flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { break }
            flock(descriptor, LOCK_UN)
            usleep(10_000)
        }
        throw JournalOpenError(
            "Another server uses the journal in \(folder). Stop that server, or choose another folder."
        )
    }

    deinit {
        // Closing is not enough: the lock lasts as long as any copy of the descriptor, and a process that is being
        // spawned has copies of all until its program is loaded.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// The number of threads that can run at the same time.
let processorCount = max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
