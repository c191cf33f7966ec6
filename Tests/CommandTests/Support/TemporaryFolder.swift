import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A folder that is removed with its content when its owner is released.
final class TemporaryFolder: Sendable {
    let path: String

    init(in parent: String = "/tmp") throws {
        path = "\(parent)/mvi-commands-\(UInt64.random(in: .min ... .max))"
        try #require(mkdir(path, 0o700) == 0)
    }

    deinit { Self.remove(path) }

    /// Creates a subfolder.
    func folder(_ name: String) throws -> String {
        try #require(mkdir("\(path)/\(name)", 0o700) == 0)
        return "\(path)/\(name)"
    }

    static func mode(of path: String) throws -> mode_t {
        var status = stat()
        try #require(lstat(path, &status) == 0)
        return status.st_mode & 0o777
    }

    static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private static func remove(_ path: String) {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) {
                    String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != "..", unlink("\(path)/\(name)") != 0 { remove("\(path)/\(name)") }
            }
            closedir(folder)
        }
        rmdir(path)
    }
}
