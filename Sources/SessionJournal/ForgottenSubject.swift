import LibCrypto
import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A subject whose data was deleted, as an HMAC (RFC 2104) with a key of its own: it names nobody, but a restored backup
/// can be searched for the subject.
///
/// Kept in the journal, so that each backup has those before it, and in a file outside of it, so that a restore of an older
/// backup finds the later ones.
package struct ForgottenSubject: Hashable, Sendable {
    /// The time since 1970 at which the data was deleted.
    package let time: Duration
    package let key: [UInt8]
    package let code: [UInt8]

    package init(_ subject: Subject, at time: Duration) {
        var generator = SystemRandomNumberGenerator()
        key = (0..<32).map { _ in .random(in: .min ... .max, using: &generator) }
        code = HMACKey(key).code(for: Self.message(subject))
        self.time = time
    }

    private static func message(_ subject: Subject) -> [UInt8] {
        Array(subject.issuer.utf8) + [0] + Array(subject.id.utf8)
    }

    package func isOf(_ subject: Subject) -> Bool { HMACKey(key).isCode(code, for: Self.message(subject)) }

    // MARK: The file

    /// A line of the list, with its end.
    package var line: [UInt8] {
        let time = time.nanoseconds
        return Array("{\"time\":\(time),\"key\":\"\(Self.hex(key))\",\"code\":\"\(Self.hex(code))\"}\n".utf8)
    }

    /// Nil for a line that this program did not write.
    package init?(line: some StringProtocol) {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        guard parts.count == 11, parts[1] == "time", parts[3] == "key", parts[7] == "code",
            let time = Int64(parts[2].dropFirst().dropLast()), let key = Self.bytes(parts[5]),
            let code = Self.bytes(parts[9])
        else { return nil }
        (self.time, self.key, self.code) = (.nanoseconds(time), key, code)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func bytes(_ hex: some StringProtocol) -> [UInt8]? {
        let digits = hex.compactMap(\.hexDigitValue)
        guard digits.count == 64, hex.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    package init(time: Duration, key: [UInt8], code: [UInt8]) {
        (self.time, self.key, self.code) = (time, key, code)
    }
}

/// A file with deleted subjects, one a line. Each is durable before the subject's data is deleted.
package struct ForgottenList: Sendable {
    package let path: String

    package init(_ path: String) { self.path = path }

    /// Adds deleted subjects, durably. Creates the file for its owner only. Blocks on the disk.
    package func append(_ subjects: [ForgottenSubject]) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(errno, "\(path) could not be opened") }
        defer { close(descriptor) }
        // A line that a crash cut stays one of its own.
        var last: UInt8 = 10
        let size = lseek(descriptor, 0, SEEK_END)
        if size > 0 { _ = pread(descriptor, &last, 1, size - 1) }
        let lines = (last == 10 ? [] : [10]) + subjects.flatMap(\.line)
        guard write(descriptor, lines, lines.count) == lines.count, fsync(descriptor) == 0, syncFolder() else {
            throw StoreError(errno, "\(path) could not be written")
        }
    }

    private func syncFolder() -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return fsync(descriptor) == 0
    }

    /// Returns the subjects of the list, none without a file. Blocks on the disk.
    package func subjects() throws(StoreError) -> [ForgottenSubject] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return [] }
            throw StoreError(errno, "\(path) could not be opened")
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &part, part.count)
            guard count >= 0 else { throw StoreError(errno, "\(path) could not be read") }
            if count == 0 { break }
            bytes += part[..<count]
        }
        var subjects: [ForgottenSubject] = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            if let subject = ForgottenSubject(line: line) {
                subjects.append(subject)
            } else if line.first != "{" || line.last == "}" {
                throw StoreError(.invalid, "\(path) has a line that is not a deleted subject's: \(line)")
            }
            // Else a crash cut the line, before anything was deleted.
        }
        return subjects
    }
}
