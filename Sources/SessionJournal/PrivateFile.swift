import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Small files for their owner only.
enum PrivateFile {
    /// Returns the contents of a file; nil without one.
    static func read(_ path: String) throws(StoreError) -> [UInt8]? {
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

    /// Writes a new file, whole or not at all, and durably.
    static func write(_ bytes: [UInt8], to path: String) throws(StoreError) {
        let new = "\(path).new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno, "\(new) could not be created") }
        defer {
            close(descriptor)
            unlink(new)
        }
        guard systemWrite(descriptor, bytes, bytes.count) == bytes.count, fsync(descriptor) == 0 else {
            throw StoreError(errno, "\(new) could not be written")
        }
        // Unlike `rename`, it does not replace a file that another process has made meanwhile.
        guard link(new, path) == 0, syncFolder(of: path) else {
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

private func systemWrite(_ descriptor: Int32, _ bytes: [UInt8], _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
