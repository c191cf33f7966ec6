import Logging
import SessionJournal
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A folder that goes with its owner.
final class TemporaryFolder: Sendable {
    let path: String

    init(in parent: String = "/tmp") throws {
        path = "\(parent)/sqlite-journal-\(UInt64.random(in: 0 ... .max))"
        try #require(mkdir(path, 0o700) == 0)
    }

    deinit { removeTree(path) }

    /// Its journal.
    func journal(_ change: (inout JournalOptions) -> Void = { _ in }) async throws -> SQLiteJournal {
        var logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        logger.logLevel = .critical
        var options = JournalOptions()
        options.probeInterval = .milliseconds(5)
        change(&options)
        return try await SQLiteJournal.open(directory: path, logger: logger, options: options)
    }
}

private func removeTree(_ path: String) {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != "..", unlink("\(path)/\(name)") != 0 { removeTree("\(path)/\(name)") }
    }
    closedir(folder)
    rmdir(path)
}
