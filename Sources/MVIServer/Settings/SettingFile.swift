#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Reads the files that settings and commands name.
///
/// A C border: the buffer is passed as a pointer that is valid for the call, and the descriptor is closed where it was
/// opened.
enum SettingFile {
    /// An error of reading a file.
    struct Unreadable: Error {
        /// The reason, as the end of "but …".
        let reason: String
    }

    /// Returns a file's bytes. A longer file is refused.
    static func bytes(_ path: String, longest: Int = 1 << 20) throws(Unreadable) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Unreadable(reason: "it cannot be opened (errno \(errno))") }
        defer { close(descriptor) }
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
            guard count >= 0 else { throw Unreadable(reason: "it cannot be read (errno \(errno))") }
            if count == 0 { return bytes }
            bytes += part.prefix(count)
            guard bytes.count <= longest else { throw Unreadable(reason: "it has more than \(longest) bytes") }
        }
    }

    /// Returns a file's text, without the line end that editors and `echo` add.
    static func text(_ path: String) throws(Unreadable) -> String {
        var bytes = try bytes(path)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else {
            throw Unreadable(reason: bytes.isEmpty ? "it is empty" : "it is not UTF-8")
        }
        return text
    }
}
