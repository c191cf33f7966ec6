import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of a journal, as the system sees them.
///
/// The database itself is never opened here: closing a descriptor of it would let go of the locks that SQLite holds on
/// it in this process (https://sqlite.org/howtocorrupt.html, 2.2).
struct JournalFiles: Sendable {
    let folder: String

    var database: String { folder + "/journal.sqlite" }
    var log: String { database + "-wal" }

    /// The size of a file; nil if it is not there.
    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Makes an empty database if there is none, which nobody but its owner may read; SQLite gives its log the same
    /// rights. Before any connection is open. That it cannot be made is for the connection to find.
    func createIfMissing() {
        guard Self.size(of: database) == nil, Self.size(of: log) == nil else { return }
        let descriptor = open(database, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    /// Refuses what SQLite would silently replace: beside an empty database it takes a log for a leftover and deletes it.
    func check() throws(StoreError) {
        if Self.size(of: database) == 0, let size = Self.size(of: log), size > 0 {
            throw StoreError(
                .unavailable,
                "The journal \(database) is empty, but its log holds \(size) bytes: it is damaged. It is left as it is; put a backup in its place."
            )
        }
    }

    /// Makes sure that what the log seems to hold is on the disk.
    ///
    /// When a sync fails, Linux takes what it could not write for written and still shows it to readers
    /// (https://wiki.postgresql.org/wiki/Fsync_Errors). After that, or when an earlier process met it, a commit in the
    /// log could be there for SQLite's recovery and gone after a power cut, with every later one that is chained to it.
    /// So each byte is written again where it is.
    func settleLog() throws(StoreError) {
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

    private func failure(_ what: String) -> StoreError {
        let code = errno
        return StoreError(
            code == ENOSPC || code == EDQUOT ? .full : .unavailable,
            "The journal's log \(log) could not be \(what): \(systemText(code)).")
    }
}
