#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Files, and folders with everything in them. No link is followed.
enum FileTree {
    /// Makes a folder for its owner only.
    static func makeFolder(_ path: String) throws(CommandFailure) {
        if mkdir(path, 0o700) == 0 { return }
        guard errno == EEXIST else {
            throw CommandFailure("The folder '\(path)' cannot be created: \(FilePath.reason(errno)).")
        }
        throw CommandFailure(
            "'\(path)' exists already: another backup is in progress, or one was interrupted. Remove it if none is running."
        )
    }

    /// Removes whatever exists.
    static func remove(_ path: String) {
        visit(path) { path, kind in _ = kind == S_IFDIR ? rmdir(path) : unlink(path) }
    }

    /// Returns the size of all files.
    static func size(of path: String) -> Int {
        var sum = 0
        visit(path) { path, kind in if kind == S_IFREG { sum += FilePath.size(of: path) ?? 0 } }
        return sum
    }

    /// Syncs what is complete, and gives it its name, which must be free.
    static func publish(_ partial: String, as path: String) throws(CommandFailure) {
        var code: Int32 = 0
        visit(partial) { path, kind in
            if code == 0, kind == S_IFREG || kind == S_IFDIR { code = sync(path) }
        }
        guard code == 0 else { throw CommandFailure("'\(partial)' cannot be synced: \(FilePath.reason(code)).") }
        guard try !FilePath.isThere(path) else { throw CommandFailure("'\(path)' exists meanwhile.") }
        guard rename(partial, path) == 0 else {
            throw CommandFailure("'\(path)' cannot be created: \(FilePath.reason(errno)).")
        }
        let parent = FilePath.parent(of: path)
        code = sync(parent)
        guard code == 0 else { throw CommandFailure("'\(parent)' cannot be synced: \(FilePath.reason(code)).") }
    }

    /// Calls a function with each path and its kind, a folder after its content.
    private static func visit(_ path: String, _ body: (_ path: String, _ kind: mode_t) -> Void) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        let kind = status.st_mode & S_IFMT
        if kind == S_IFDIR { for name in names(in: path) { visit("\(path)/\(name)", body) } }
        body(path, kind)
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns 0, or the errno.
    private static func sync(_ path: String) -> Int32 {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return errno }
        defer { close(descriptor) }
        return fsync(descriptor) == 0 ? 0 : errno
    }
}
