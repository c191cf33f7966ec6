import FoundationEssentials
import Locking
import Logging
import MVI
import MVIServer
import MVITesting
import SQLiteJournal
import SessionJournal
import Sessions
import Testing

/// A server in the test's process, on a free port of the loopback interface, with a manual clock.
///
/// ```swift
/// try await TestServer.run { _ in
///     FeatureServer { Keyed { Cart(shop: $0) } }
/// } test: { server in
///     let ann = try await server.client(as: Principal(subject: "ann"))
///     let cart = ann.store(Cart.self, key: "tea")
///     try await cart.send(.add(product: "assam", count: 2))
///     try await server.restart()
///     #expect(try await cart.state().total == 1_380)
/// }
/// ```
///
/// Launched work, checks and reminders wait until the test advances the time. Requests and streams use sockets.
public final class TestServer: Sendable {
    /// The storage of a test server's sessions.
    public enum Storage: Sendable {
        /// A journal in memory, which survives a restart.
        case memory
        /// SQLite in a temporary folder, which is removed at the end of the test.
        case temporaryFolder
    }

    private struct Running {
        let server: HostedServer
        let journal: TestJournal
        /// False for the journal in memory, which the next start uses again.
        let closesJournal: Bool
    }

    /// The clock of the server's sessions. Advance it with ``advance(by:sourceLocation:)``, or while the server is
    /// stopped.
    public let clock = ManualClock()
    private let executor = TestExecutor()
    private let start: Timestamp
    private let folder: String?
    private let memory = MemoryJournal()
    private let make: @Sendable (_ server: TestServer) async throws -> FeatureServer
    private let running = Lock<Running?>(nil)
    private let lastPort = Lock<UInt16>(0)

    /// Runs a test with a server, and stops the server when the test returns or throws.
    ///
    /// - Parameters:
    ///   - storage: the storage of sessions, unless the server has its own journal.
    ///   - now: the initial time of the wall clock.
    ///   - make: creates the server at each start; services may use the test's clock. The test sets the host, the ports
    ///     and the data folder. Without settings the server has the defaults, whatever the environment says, and no
    ///     limit on new sessions.
    ///   - test: uses the server.
    /// - Throws: the errors of `make` and `test`, and those of `FeatureServer.run()` at the start.
    public static func run<Result>(
        storage: Storage = .memory, now: Timestamp = .testStart,
        _ make: @escaping @Sendable (_ server: TestServer) async throws -> FeatureServer,
        test: (TestServer) async throws -> Result
    ) async throws -> Result {
        let server = TestServer(storage, now, make)
        defer { server.removeFolder() }
        try await server.begin()
        do {
            let result = try await test(server)
            try await server.stop()
            return result
        } catch {
            try? await server.stop()
            throw error
        }
    }

    /// Runs a test with the server of a program's command. The command's settings are the given ones; the server's are
    /// the defaults, with the data folder of `storage`.
    public static func run<Result>(
        _ command: some FeatureServerCommand, storage: Storage = .memory, now: Timestamp = .testStart,
        test: (TestServer) async throws -> Result
    ) async throws -> Result {
        try await run(
            storage: storage, now: now, { server in try await command.hosted(data: server.folder ?? ":memory:") },
            test: test)
    }

    private init(
        _ storage: Storage, _ now: Timestamp,
        _ make: @escaping @Sendable (_ server: TestServer) async throws -> FeatureServer
    ) {
        (start, self.make) = (now, make)
        let temporary = FileManager.default.temporaryDirectory.appending(path: "mvi-test-\(UUID().uuidString)").path
        folder = if case .temporaryFolder = storage { temporary } else { nil }
    }

    private func removeFolder() { if let folder { try? FileManager.default.removeItem(atPath: folder) } }

    // MARK: Starting and stopping

    private func begin() async throws {
        let made = try await make(self)
        let kept = if let own = made.journal { own } else { try await openJournal() }
        let journal = TestJournal(kept)
        let (clock, start) = (clock, start)
        let time = TimeSource(monotonic: { clock.now.offset }, sinceEpoch: { start.sinceEpoch + clock.now.offset })
        let server = try HostedServer(
            made, port: lastPort.withLock { $0 }, journal: journal, time: time, clock: clock, executor: executor
        ) { TestSignIn(own: $0) }
        try server.start()
        lastPort.withLock { $0 = server.port }
        running.withLock { $0 = Running(server: server, journal: journal, closesJournal: !(kept is MemoryJournal)) }
        _ = await server.sessions.fireDueReminders()
    }

    private func openJournal() async throws -> any Journal {
        guard let folder else { return memory }
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        return try await SQLiteJournal.open(directory: folder, logger: logger, commitWindow: .zero)
    }

    private func stop() async throws {
        guard let running = running.withLock({ $0.take() }) else { return }
        let result = await Swift.Result { try await running.server.stop() }
        if running.closesJournal { await running.journal.close() }
        try result.get()
    }

    /// Stops the server as at SIGTERM, lets time pass, and starts it with the same port and data.
    ///
    /// Streams of clients end; their sessions continue. Reminders that became due meanwhile have fired when it returns.
    ///
    /// - Parameter downtime: the time between stop and start.
    public func restart(after downtime: Duration = .zero) async throws {
        try await stop()
        clock.advance(by: downtime)
        try await begin()
    }

    private var current: Running {
        guard let running = running.withLock({ $0 }) else {
            preconditionFailure("The test server is stopped: use it inside `TestServer.run`, and await `restart`.")
        }
        return running
    }

    /// The server's port.
    public var port: UInt16 { lastPort.withLock { $0 } }

    /// The server's URL, for the test's own clients such as a `RemoteServer`: `http://127.0.0.1:49152`.
    public var url: String { "http://127.0.0.1:\(port)" }

    // MARK: Time

    /// The time on the server's wall clock.
    public var now: Timestamp { start + clock.now.offset }

    /// Advances the time from deadline to deadline and lets launched work run at each. Due reminders fire, unused
    /// stores leave memory, and expired sessions end.
    ///
    /// Returns when the work of all stores waits for time or for others. Fails the test if that takes longer than 60 s.
    public func advance(by duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) async {
        let sessions = current.server.sessions
        let end = clock.now.advanced(by: duration)
        var isAtRest = await settle()
        while isAtRest, let next = await sessions.fireDueReminders() {
            let due = clock.now.advanced(by: next - now.sinceEpoch)
            guard due <= end, due > clock.now else { break }
            isAtRest = await moveClock(to: due)
        }
        isAtRest = isAtRest ? await moveClock(to: end) : false
        _ = await sessions.fireDueReminders()
        sessions.sweep(part: 1)
        if isAtRest, await settle() { return }
        Issue.record(
            "The server is still busy: work of a store has run for 60 seconds without waiting.",
            sourceLocation: sourceLocation)
    }

    private func moveClock(to end: ManualClock.Instant) async -> Bool {
        await clock.advance(by: clock.now.duration(to: end)) { await settle() }
    }

    /// Runs work and commits until none is left; false if that takes longer than 60 s and a hundred commits: on a busy
    /// machine a few may take that long.
    private func settle() async -> Bool {
        let journal = current.journal
        let end = ContinuousClock.now + Self.patience
        var rounds = 0
        while rounds < 100 || ContinuousClock.now < end {
            rounds += 1
            let operations = journal.operationCount
            guard await executor.settled(atMost: Self.patience), await journal.settled(atMost: Self.patience) else {
                return false
            }
            // A commit may have resumed work, which may have begun the next commit.
            if executor.isIdle, journal.operationCount == operations { return true }
        }
        return false
    }

    private static let patience: Duration = .seconds(60)

    // MARK: People

    /// Deletes all data of a user as an administrator does: sessions end, and shared stores remove the person, see
    /// ``/MVI/Feature/forgetting(_:)``.
    ///
    /// - Throws: the errors of `SessionDirectory.forget(subject:)`.
    @discardableResult
    public func forget(_ user: Principal) async throws(StoreError) -> SessionDirectory.Forgotten {
        try await SessionDirectory(current.server.sessions).forget(subject: user.identity)
    }

    // MARK: The journal

    /// The number of attempted commits: a turn, with all that it sends to other stores of its session, is one commit.
    public var commitCount: Int { current.journal.appendCount }

    /// Makes every commit fail until ``allowCommits()`` or the next restart.
    public func failCommits(with error: StoreError = StoreError(.unavailable, "The test makes commits fail.")) {
        current.journal.fail(error)
    }

    /// Makes commits succeed again.
    public func allowCommits() { current.journal.fail(nil) }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
