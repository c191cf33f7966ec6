import SessionJournal

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Keeps a second server off the same folder: a lock on a file in it, which the system lets go of when the process ends,
/// however it ends.
final class FolderLock: Sendable {
    /// What came of a try.
    enum Attempt {
        case held(FolderLock)
        /// Another process has it, or this one a second time.
        case taken
        /// Errno.
        case failed(Int32)
    }

    /// Who else may have the lock at the same time.
    enum Kind {
        /// Nobody: a server.
        case exclusive
        /// Others of its kind: a tool that looks at the files while no server runs.
        case shared
    }

    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    static func take(_ kind: Kind, in folder: String) -> Attempt {
        let path = folder + "/journal.lock"
        // A tool makes nothing; on a read-only disk a file that is there can be locked all the same.
        var descriptor = kind == .exclusive ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) : -1
        if descriptor < 0 {
            let code = errno
            descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return .failed(kind == .exclusive ? code : errno) }
        }
        // A tool holds it for moments only, and a server that starts meanwhile is not to fail for that.
        for _ in 0..<200 {
            if flock(descriptor, (kind == .exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 {
                return .held(FolderLock(descriptor))
            }
            let code = errno
            guard code == EWOULDBLOCK || code == EINTR else {
                close(descriptor)
                return .failed(code)
            }
            // Does a tool have it? Then this is granted.
            guard kind == .exclusive, flock(descriptor, LOCK_SH | LOCK_NB) == 0 else { break }
            flock(descriptor, LOCK_UN)
            usleep(10_000)
        }
        close(descriptor)
        return .taken
    }

    /// Makes a folder, with those above it that are missing; for its owner alone. Errno if that fails.
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
}

/// The sentence for an errno.
func systemText(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "error \(code)" }
