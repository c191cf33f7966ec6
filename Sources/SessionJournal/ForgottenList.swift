import MVI

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file with deleted subjects, one a line. Each is durable before the subject's data is deleted.
package struct ForgottenList: Sendable {
    package let path: String
    /// The file of the installation's key.
    package var keyPath: String { "\(path).key" }

    package init(_ path: String) { self.path = path }

    /// Adds a deleted subject, durably. Blocks on the disk.
    package func note(_ subject: Subject, at time: Duration) throws(StoreError) -> ForgottenSubject {
        let key = try key()
        _ = try subjects(key)
        let noted = key.subject(subject, at: time)
        try append([noted])
        return noted
    }

    /// Returns the installation's key. Makes one for a list without subjects that need it. Blocks on the disk.
    package func key() throws(StoreError) -> ForgottenKey {
        if let key = try ForgottenKey.read(keyPath) { return key }
        guard try subjects().allSatisfy(\.isPlain) else {
            throw StoreError(
                .invalid,
                "\(keyPath) is missing, the key of the deleted subjects in \(path). Put it back; or move both away, and what a restore brings back of these subjects stays."
            )
        }
        try ForgottenKey.make(keyPath)
        guard let key = try ForgottenKey.read(keyPath) else { throw StoreError(ENOENT, "\(keyPath) was removed") }
        return key
    }

    /// Returns the subjects of the list, and first seals those whose keys stand beside them. Blocks on the disk.
    package func subjects(_ key: ForgottenKey) throws(StoreError) -> [ForgottenSubject] {
        let found = try subjects()
        guard found.allSatisfy(key.isOwn) else {
            throw StoreError(
                .invalid,
                "\(path) has deleted subjects of another key than that in \(keyPath). Put the right one there.")
        }
        guard found.contains(where: \.isPlain) else { return found }
        let sealed = found.map { key.sealed($0) }
        let partial = "\(path).partial"
        unlink(partial)
        try PrivateFile.write(sealed.flatMap(\.line), to: partial)
        guard rename(partial, path) == 0, PrivateFile.syncFolder(of: path) else {
            throw StoreError(errno, "\(path) could not be replaced")
        }
        return sealed
    }

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
        guard write(descriptor, lines, lines.count) == lines.count, fsync(descriptor) == 0,
            PrivateFile.syncFolder(of: path)
        else {
            throw StoreError(errno, "\(path) could not be written")
        }
    }

    /// Returns the subjects of the list, none without a file. Blocks on the disk.
    package func subjects() throws(StoreError) -> [ForgottenSubject] {
        guard let bytes = try PrivateFile.read(path) else { return [] }
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
