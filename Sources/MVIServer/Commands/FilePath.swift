#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Queries of the file system.
///
/// A C border: buffers are passed as pointers that are valid for the call.
enum FilePath {
    /// Returns the absolute path: the server's own working folder is another one.
    static func absolute(_ path: String) throws -> String {
        guard !path.hasPrefix("/") else { return path }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard getcwd(&buffer, buffer.count) != nil else {
            throw CommandFailure("The working folder does not exist (errno \(errno)). Give an absolute path.")
        }
        let folder = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
    }

    /// Returns true if a path exists, also if it is a broken link. Throws without permission to check.
    static func isThere(_ path: String) throws(CommandFailure) -> Bool {
        var status = stat()
        if lstat(path, &status) == 0 { return true }
        let code = errno
        guard code != ENOENT, code != ENOTDIR else { return false }
        throw CommandFailure(
            "'\(path)' cannot be read: \(reason(code)). Run this as the server's user.")
    }

    /// Returns the system's text for an errno.
    static func reason(_ code: Int32) -> String { strerror(code).map { String(cString: $0) } ?? "errno \(code)" }

    /// Writes a file for its owner only, under a temporary name, and renames it. Replaces a regular file; a link or pipe of
    /// that name, which another user may have planted, is an error.
    static func writePrivately(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        func failure() -> CommandFailure { CommandFailure("'\(path)' cannot be written: \(reason(errno)).") }
        var status = stat()
        guard lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure("'\(path)' exists and is not a regular file. Remove it, or give another folder.")
        }
        let temporary = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        do throws(CommandFailure) {
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes {
                    pwrite(descriptor, $0.baseAddress, $0.count, off_t(written))
                }
                guard count > 0 else { throw failure() }
                written += count
            }
            guard rename(temporary, path) == 0 else { throw failure() }
        } catch {
            unlink(temporary)
            throw error
        }
    }

    static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Returns the parent folder of a path.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Returns the size of a file; nil if it does not exist.
    static func size(of path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }
}
