import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Small files for their owner only.
package enum PrivateFile {
    /// Returns the contents of a file; nil without one.
    package static func read(_ path: String) throws(StoreError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(errno, "\(path) could not be opened")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = systemRead(descriptor, &part, part.count)
            guard count >= 0 else { throw StoreError(errno, "\(path) could not be read") }
            if count == 0 { return bytes }
            bytes += part[..<count]
        }
    }

    /// Writes a file under another name, durably, and then gives it its own: whole or not at all.
    ///
    /// - Parameter replacing: True to replace a regular file. Anything else of that name, such as a link or a pipe that
    ///   another user may have planted, is an error.
    package static func write(_ bytes: [UInt8], to path: String, replacing: Bool = false) throws(StoreError) {
        var status = stat()
        guard !replacing || lstat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw StoreError(
                .invalid, "'\(path)' exists and is not a regular file. Remove it, or give another folder.")
        }
        let new = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno, "\(path) could not be created") }
        defer {
            close(descriptor)
            unlink(new)
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = systemWrite(descriptor, rest)
            guard count > 0 else { throw StoreError(errno, "\(path) could not be written") }
            rest = rest.dropFirst(count)
        }
        // Unlike `rename`, `link` does not replace a file that another process has made meanwhile.
        guard fsync(descriptor) == 0, (replacing ? rename(new, path) : link(new, path)) == 0, syncFolder(of: path)
        else {
            throw StoreError(errno, "\(path) could not be created")
        }
    }

    /// Makes the names of a file's folder durable.
    static func syncFolder(of path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }
}

private func systemRead(_ descriptor: Int32, _ bytes: inout [UInt8], _ count: Int) -> Int {
    read(descriptor, &bytes, count)
}

private func systemWrite(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
    bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
}
