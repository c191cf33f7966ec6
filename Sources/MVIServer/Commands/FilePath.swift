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
