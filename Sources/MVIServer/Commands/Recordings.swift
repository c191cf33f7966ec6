#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Exported sessions in files: one in a `.json`, one in each line of an `.ndjson`. In memory there is one at a time.
enum Recordings {
    /// The size of the longest document in bytes.
    static let longest = 1 << 28

    /// Calls `take` for each document of a file, or of the files in a folder by name. `place` is a path, with a line for
    /// `.ndjson`.
    ///
    /// - Throws: `CommandFailure` for a path that cannot be read, is no regular file or has a document that is too long.
    static func forEach(
        at path: String, longest: Int = longest, _ take: (_ place: String, _ document: [UInt8]) throws -> Void
    ) throws {
        guard let folder = opendir(path) else {
            if errno == ENOTDIR { return try forEach(in: path, longest, take) }
            throw CommandFailure("'\(path)' cannot be read: \(FilePath.reason(errno)).")
        }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".json") || name.hasSuffix(".ndjson") { names.append(name) }
        }
        closedir(folder)
        guard !names.isEmpty else { throw CommandFailure("The folder '\(path)' has no .json or .ndjson file.") }
        for name in names.sorted() { try forEach(in: "\(path)/\(name)", longest, take) }
    }

    private static func forEach(
        in path: String, _ longest: Int, _ take: (_ place: String, _ document: [UInt8]) throws -> Void
    ) throws {
        // Does not wait for the writer of a pipe.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandFailure("'\(path)' cannot be read: \(FilePath.reason(errno)).") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw CommandFailure("'\(path)' is not a regular file. Give a .json or .ndjson file.")
        }
        let hasLines = path.hasSuffix(".ndjson")
        var (document, line) = ([UInt8](), 1)
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        func end() throws {
            if !document.isEmpty { try take(hasLines ? "\(path):\(line)" : path, document) }
            document = []
            line += 1
        }
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count >= 0 else { throw CommandFailure("'\(path)' cannot be read: \(FilePath.reason(errno)).") }
            if count == 0 { break }
            var part = buffer[..<count]
            while hasLines, let lineEnd = part.firstIndex(of: UInt8(ascii: "\n")) {
                document += part[..<lineEnd]
                part = part[(lineEnd + 1)...]
                try end()
            }
            document += part
            guard document.count <= longest else {
                throw CommandFailure(
                    "'\(path)'\(hasLines ? " in line \(line)" : "") has more than \(longest) bytes: it is no export.")
            }
        }
        try end()
    }
}
