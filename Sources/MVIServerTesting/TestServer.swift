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

/// A server in the test's process, on a free port of the loopback interface, with a time that the test moves.
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
/// Launched work, checks and reminders wait for the test to move the time. Requests and streams go over sockets.
public final class TestServer: Sendable {
    /// The place in which a test's server keeps its sessions.
    public enum Storage: Sendable {
        /// A journal in memory, which a restart finds again.
        case memory
        /// SQLite in a temporary folder, which is removed at the end of the test.
        case temporaryFolder
    }

    private struct Running {
        let server: HostedServer
        let journal: TestJournal
        /// The one in memory is for the next start, too.
        let closesJournal: Bool
    }

    /// The time of the server's sessions. Move it by ``advance(by:sourceLocation:)``, or while the server is stopped.
    public let clock = ManualClock()
    private let executor = TestExecutor()
    private let start: Timestamp
    private let folder: String?
    private let memory = MemoryJournal()
    private let make: @Sendable (_ server: TestServer) async throws -> FeatureServer
    private let running = Lock<Running?>(nil)
    private let lastPort = Lock<UInt16>(0)

    /// Runs a test on a server, and stops the server when the test returns or throws.
    ///
    /// - Parameters:
    ///   - storage: where sessions are kept, unless the server was made with a journal.
    ///   - now: the time on the wall clock at the beginning.
    ///   - make: makes the server, anew at each start; services may share the clock of the test's. Of its settings the host, the ports and the data folder are the
    ///     test's; without settings it has the defaults, whatever the environment says, and no bound on new sessions.
    ///   - test: uses the server.
    /// - Throws: what `make` and `test` throw; what keeps the server from starting, as `FeatureServer.run()`.
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

    /// The same for a program's command with the settings of its own that it has. What it starts with has the defaults, and
    /// the data folder of `storage`.
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

    /// Stops the server as its process ends at SIGTERM, lets time pass, and starts it on the same port and data.
    ///
    /// Streams of clients end; their sessions go on. Reminders that came due meanwhile have fired when it returns.
    ///
    /// - Parameter downtime: how long no server runs.
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

    /// The server's URL, for clients of the test's own such as a `RemoteServer`: `http://127.0.0.1:49152`.
    public var url: String { "http://127.0.0.1:\(port)" }

    // MARK: Time

    /// The time on the server's wall clock.
    public var now: Timestamp { start + clock.now.offset }

    /// Moves the time on, from deadline to deadline, and lets launched work run at each. Reminders that are due fire, and
    /// what the server does as time passes is done: unused stores leave memory, sessions whose time is over end.
    ///
    /// Returns when the work of all stores waits for time or for others. Fails the test if it does not within 10 s.
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
            "The server does not come to rest: work of a store runs for 10 seconds and waits for nothing.",
            sourceLocation: sourceLocation)
    }

    private func moveClock(to end: ManualClock.Instant) async -> Bool {
        await clock.advance(by: clock.now.duration(to: end)) { await settle() }
    }

    /// Lets work and commits run until nothing does; false if that takes longer than 10 s.
    private func settle() async -> Bool {
        let journal = current.journal
        let end = ContinuousClock.now + Self.patience
        while ContinuousClock.now < end {
            let operations = journal.operationCount
            guard await executor.settled(atMost: Self.patience), await journal.settled(atMost: Self.patience) else {
                return false
            }
            // What was committed may have had work go on, and that may have begun the next commit.
            if executor.isIdle, journal.operationCount == operations { return true }
        }
        return false
    }

    private static let patience: Duration = .seconds(10)

    // MARK: The journal

    /// The number of commits that were tried: a turn is one with all that it sends to other stores of its session.
    public var commitCount: Int { current.journal.appendCount }

    /// Has every commit fail from now on, until ``allowCommits()`` or the next restart.
    public func failCommits(with error: StoreError = StoreError(.unavailable, "A test has commits fail.")) {
        current.journal.fail(error)
    }

    /// Lets commits succeed again.
    public func allowCommits() { current.journal.fail(nil) }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
