import CFaultyDisk
import Locking
import Logging
import MVI
import SessionJournal
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A folder that is deleted with its owner.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = "/tmp/sqlite-journal-\(UInt64.random(in: 0 ... .max))"
        try #require(mkdir(path, 0o700) == 0)
    }

    /// A folder that is there.
    init(at path: String) { self.path = path }

    deinit { removeTree(path) }

    var database: String { path + "/journal.sqlite" }

    /// Its list of deleted subjects.
    var forgotten: ForgottenList { JournalFiles(folder: path).forgotten }

    /// Its journal for tools.
    func file() -> SQLiteJournalFile { SQLiteJournalFile(directory: path) }

    /// Its journal.
    func journal(
        logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
        _ change: (inout JournalOptions) -> Void = { _ in }
    ) async throws -> SQLiteJournal {
        var options = JournalOptions()
        options.probeInterval = .milliseconds(5)
        change(&options)
        return try await SQLiteJournal.open(directory: path, logger: logger, options: options)
    }

    /// Copies the files as the system shows them, which is the state after a kill.
    func copyAsAfterKill() throws -> TemporaryFolder {
        let copy = try TemporaryFolder()
        for name in try names() where name != "journal.lock" {
            try write(contents("\(path)/\(name)"), to: "\(copy.path)/\(name)")
        }
        return copy
    }

    /// A second descriptor of the lock that this process holds on the folder. The caller closes it.
    func copyLockDescriptor() throws -> Int32 {
        let held = try #require(list("/proc/self/fd")).compactMap(Int32.init).filter { descriptor in
            var target = [UInt8](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count)
            return count > 0 && String(decoding: target[..<count], as: UTF8.self) == path + "/journal.lock"
        }
        try #require(held.count == 1)
        let copy = dup(held[0])
        try #require(copy >= 0)
        return copy
    }

    /// The names of its files, sorted.
    func names() throws -> [String] { try #require(list(path)).sorted() }
}

/// The bytes of a file; nil if it is not there.
func contents(_ path: String) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = read(descriptor, &buffer, buffer.count)
        try #require(count >= 0)
        if count == 0 { return bytes }
        bytes += buffer[..<count]
    }
}

/// Creates a file, or overwrites the beginning of one.
func write(_ bytes: [UInt8], to path: String, at offset: Int = 0) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
        let count = pwrite(descriptor, Array(bytes[written...]), bytes.count - written, off_t(offset + written))
        try #require(count > 0)
        written += count
    }
}

private func list(_ path: String) -> [String]? {
    guard let folder = opendir(path) else { return nil }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

private func removeTree(_ path: String) {
    for name in list(path) ?? [] where unlink("\(path)/\(name)") != 0 { removeTree("\(path)/\(name)") }
    rmdir(path)
}

/// A session with one store, as tests need it.
struct TestSession: Sendable {
    static let counter = FeatureID(name: "counter", key: nil)
    static let start: Duration = .seconds(1_000_000)

    let key: SessionKey
    let record: SessionRecord

    static func record(lastSeen: Duration = start) -> SessionRecord {
        SessionRecord(
            id: "s\(UInt64.random(in: 0 ... .max))", tokenHash: TokenHash((0..<32).map { _ in .random(in: 0...255) }),
            epoch: "e", credential: .bearer, created: lastSeen, lastSeen: lastSeen)
    }

    /// A new space.
    static func space(_ name: String) -> SessionRecord {
        guard let name = SpaceName(name) else { preconditionFailure("'\(name)' is no name") }
        return SessionRecord(space: name, id: "s\(UInt64.random(in: 0 ... .max))", epoch: "e", created: start)
    }

    /// Returns the next turn of the store. The first one creates it.
    func turn(
        after head: SessionHead = .empty, of feature: FeatureID = counter, state: String = "1",
        time: Duration = start, labels: [String] = []
    ) -> JournalBatch {
        let number = head.number + 1
        return JournalBatch(
            session: key, expecting: head, head: SessionHead(number: number, nonce: .random(in: .min ... .max)),
            time: time,
            stores: [
                StoreChange(
                    feature: feature, kind: head == .empty || feature != Self.counter ? .made : .changed,
                    number: number, version: number, made: number, state: Array(state.utf8),
                    view: Array("v\(state)".utf8), viewIntent: "i")
            ],
            labels: labels.enumerated().map { index, text in
                StoredLabel(
                    id: LabelID(number: number, index: index), feature: feature, version: number, intent: nil,
                    json: Array(text.utf8), expiry: .seconds(2_000_000))
            })
    }

    /// Returns a recording of the turn after a head.
    func recording(after head: SessionHead, _ text: String) -> RecordedTurn {
        RecordedTurn(number: head.number + 1, feature: Self.counter, time: Self.start, recording: Array(text.utf8))
    }
}

/// The calls of a journal as `async` ones.
extension SQLiteJournal {
    func newSession(lastSeen: Duration = TestSession.start) async throws -> TestSession {
        let record = TestSession.record(lastSeen: lastSeen)
        return TestSession(key: try await create(record), record: record)
    }

    func create(_ record: SessionRecord) async throws -> SessionKey {
        try await awaitResult { create(record, done: $0) }.get()
    }

    func append(_ batch: JournalBatch) async -> AppendResult {
        await awaitResult { done in
            if let result = append(batch, done: done) { done(result) }
        }
    }

    /// Commits turns one after the other. Returns the last head.
    @discardableResult
    func commit(
        _ states: [String], of session: TestSession, after head: SessionHead = .empty
    ) async throws -> SessionHead {
        var head = head
        for state in states {
            let turn = session.turn(after: head, state: state, labels: ["\"\(state)\""])
            let result = await append(turn)
            guard case .committed = result else { throw NotCommitted(result: result) }
            head = turn.head
        }
        return head
    }

    func remove(_ session: SessionKey) async throws {
        try await awaitResult { remove(session, tombstoneUntil: .seconds(9_000_000), done: $0) }.get()
    }

    func expire(before: Duration, limit: Int) async throws -> Int {
        try await awaitResult {
            expire(
                lastSeenBefore: PerLifeClass(before), now: before, tombstoneUntil: .seconds(9_000_000), limit: limit,
                done: $0)
        }.get()
    }

    func load(_ session: TestSession) async throws -> SessionLoad {
        try await awaitResult { load(session.record.tokenHash, now: TestSession.start, done: $0) }.get()
    }

    func news(_ session: TestSession, since head: SessionHead) async throws -> StoredSession? {
        try await awaitResult { load(session.key, since: head, done: $0) }.get()
    }

    /// The state of a session's store; nil if the session is not there.
    func state(_ session: TestSession) async throws -> String? {
        let stores = try await awaitResult {
            loadStores([TestSession.counter], of: session.key, named: session.record.tokenHash, done: $0)
        }.get()
        return stores.stores.first.map { String(decoding: $0.state, as: UTF8.self) }
    }

    func exported(_ session: TestSession) async throws -> SessionExport? {
        try await awaitResult { export(session.record.id, done: $0) }.get()
    }

    /// Waits until it is in trouble, or no longer. Fails the test after a time limit.
    func waitForTrouble(_ isExpected: Bool) async throws {
        try await wait("trouble: \(isExpected)") { ($0.trouble != nil) == isExpected }
    }

    func wait(_ what: String, until holds: (SQLiteJournal) async -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while !(await holds(self)) {
            try #require(ContinuousClock.now < end, "it did not come to this: \(what); \(String(describing: trouble))")
            await Task.yield()
        }
    }
}

struct NotCommitted: Error { let result: AppendResult }

extension AppendResult {
    var isCommitted: Bool { if case .committed = self { true } else { false } }
    var isConflict: Bool { if case .conflict = self { true } else { false } }
    var isUnknown: Bool { if case .unknown = self { true } else { false } }
    var failure: StoreError.Code? { if case .failed(let failure) = self { failure.code } else { nil } }
}

extension SessionLoad {
    var found: StoredSession? { if case .found(let session) = self { session } else { nil } }
    var isEnded: Bool { if case .ended = self { true } else { false } }
}

/// Faults of the disk, in one folder at a time: tests with them run one after the other.
enum FaultyDisk {
    enum Fault: Int32 {
        case none = 0
        case logSync = 1
        case full = 2
        case write = 3
        case read = 4
        case logSyncOnce = 5
    }

    static func install() throws { try #require(faulty_disk_install() == 0) }

    static func set(_ fault: Fault, in folder: TemporaryFolder) { faulty_disk_set(folder.path, fault.rawValue) }

    static var failures: Int { Int(faulty_disk_failures()) }
}

extension TemporaryFolder {
    func remove(_ name: String) throws { try #require(unlink("\(path)/\(name)") == 0) }
}
