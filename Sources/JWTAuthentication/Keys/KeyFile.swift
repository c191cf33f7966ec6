#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

import Locking

/// A file with a key set. It is read again if it was replaced or changed.
final class KeyFile: Sendable {
    /// The attributes that change with a file's content.
    private struct Stamp: Equatable {
        let device: UInt64
        let node: UInt64
        let size: Int64
        /// The file's `mtime` and `ctime`, in seconds and nanoseconds.
        let times: [Int]
    }

    private let path: String
    private let stamp = Lock<Stamp?>(nil)

    init(_ path: String) { self.path = path }

    /// A source for the cache. It reads on a thread of its own, since a disk may be slow.
    var source: KeySource {
        KeySource(name: path, pace: .file) { afterFailure throws(KeyReadError) in
            let result: Result<KeySource.Content, KeyReadError> = await awaitResult { done in
                let thread = SystemThread { [self] in
                    done(Result { () throws(KeyReadError) in try read(afterFailure) })
                }
                if let thread {
                    thread.detach()
                } else {
                    done(.failure(KeyReadError("the system could not create a thread")))
                }
            }
            return try result.get()
        }
    }

    /// Blocks the calling thread while the disk reads.
    func read(_ afterFailure: Bool) throws(KeyReadError) -> KeySource.Content {
        // Does not wait for the writer of a pipe.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw KeyReadError("it cannot be opened (errno \(errno))") }
        defer { close(descriptor) }
        let found = try Self.stamp(descriptor)
        if !afterFailure, stamp.withLock({ $0 }) == found { return .unchanged }
        let bytes = try Self.content(descriptor)
        // Taken before the content, so the next read notices a change in between.
        stamp.withLock { $0 = found }
        return .document(bytes)
    }

    private static func stamp(_ descriptor: Int32) throws(KeyReadError) -> Stamp {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw KeyReadError("it cannot be examined (errno \(errno))") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw KeyReadError("it is not a regular file") }
        guard status.st_size <= KeySetDocument.longest else {
            throw KeyReadError("it has more than \(KeySetDocument.longest) bytes")
        }
        #if canImport(Darwin)
            let (changed, described) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (changed, described) = (status.st_mtim, status.st_ctim)
        #endif
        return Stamp(
            device: UInt64(truncatingIfNeeded: status.st_dev), node: UInt64(status.st_ino), size: Int64(status.st_size),
            times: [Int(changed.tv_sec), Int(changed.tv_nsec), Int(described.tv_sec), Int(described.tv_nsec)])
    }

    private static func content(_ descriptor: Int32) throws(KeyReadError) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            #if canImport(Glibc)
                let count = Glibc.read(descriptor, &part, part.count)
            #elseif canImport(Musl)
                let count = Musl.read(descriptor, &part, part.count)
            #else
                let count = Darwin.read(descriptor, &part, part.count)
            #endif
            guard count >= 0 else { throw KeyReadError("it cannot be read (errno \(errno))") }
            if count == 0 { return bytes }
            bytes += part.prefix(count)
            guard bytes.count <= KeySetDocument.longest else {
                throw KeyReadError("it has more than \(KeySetDocument.longest) bytes")
            }
        }
    }
}
