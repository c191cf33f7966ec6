#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Exported sessions in files: one in a `.json`, one in each line of an `.ndjson`.
enum Recordings {
    /// Returns the documents of a file, or of the files in a folder by name. `place` is a path, with a line for `.ndjson`.
    static func documents(at path: String) throws(CommandFailure) -> [(place: String, document: [UInt8])] {
        guard let folder = opendir(path) else {
            if errno == ENOTDIR { return documents(of: path, try bytes(of: path)) }
            throw CommandFailure("'\(path)' cannot be read: \(FilePath.reason(errno)).")
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".json") || name.hasSuffix(".ndjson") { names.append(name) }
        }
        guard !names.isEmpty else { throw CommandFailure("The folder '\(path)' has no .json or .ndjson file.") }
        var all: [(String, [UInt8])] = []
        for name in names.sorted() { all += documents(of: "\(path)/\(name)", try bytes(of: "\(path)/\(name)")) }
        return all
    }

    private static func documents(of path: String, _ bytes: [UInt8]) -> [(String, [UInt8])] {
        guard path.hasSuffix(".ndjson") else { return [(path, bytes)] }
        return bytes.split(separator: 10, omittingEmptySubsequences: false).enumerated().compactMap { index, line in
            line.isEmpty ? nil : ("\(path):\(index + 1)", Array(line))
        }
    }

    private static func bytes(of path: String) throws(CommandFailure) -> [UInt8] {
        do throws(SettingFile.Unreadable) { return try SettingFile.bytes(path, longest: 1 << 30) } catch {
            throw CommandFailure("'\(path)' is needed, but \(error.reason).")
        }
    }
}
