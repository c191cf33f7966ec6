import Locking
import MVI
import SessionJournal

/// The time, so that a test can set it.
public struct TimeSource: Sendable {
    /// Time since some fixed point, never going back.
    public let monotonic: @Sendable () -> Duration
    /// Time since 1970-01-01T00:00:00Z.
    public let sinceEpoch: @Sendable () -> Duration

    /// A source of both times.
    public init(
        monotonic: @escaping @Sendable () -> Duration, sinceEpoch: @escaping @Sendable () -> Duration
    ) {
        self.monotonic = monotonic
        self.sinceEpoch = sinceEpoch
    }
}

/// Both times at one moment, to turn one into the other: what is kept bears time since 1970.
struct Moment: Sendable {
    let monotonic: Duration
    let sinceEpoch: Duration

    /// Read before a lock is taken, not under it.
    init(_ time: TimeSource) {
        monotonic = time.monotonic()
        sinceEpoch = time.sinceEpoch()
    }

    /// A time since 1970 on the monotonic clock.
    func monotonic(_ sinceEpoch: Duration) -> Duration { monotonic - (self.sinceEpoch - sinceEpoch) }

    /// A time of the monotonic clock since 1970.
    func sinceEpoch(_ monotonic: Duration) -> Duration { sinceEpoch - (self.monotonic - monotonic) }
}

/// What all sessions of a server share.
public final class SessionEnvironment: Sendable {
    /// The features that can be had.
    public let features: FeatureRegistry
    /// The bounds.
    public let limits: SessionLimits
    /// Where turns become permanent.
    public let journal: any Journal
    /// The time.
    public let time: TimeSource
    /// What waits sleep on, and the work of stores.
    public let clock: any Clock<Duration>
    /// Where the work of stores runs; nil for the global pool.
    public let executor: (any TaskExecutor)?
    /// Installed in every store.
    public let middleware: [any CommonMiddleware]
    /// What streams are told of the heartbeat's interval, in seconds.
    public let heartbeat: Int
    /// Told of what should be in a log; see `StoreEnvironment.report`.
    public let report: @Sendable (StoreReport) -> Void

    /// What every store is made with, but for its names.
    let stores: StoreEnvironment

    private struct Counts {
        var streams = 0
        var waits = 0
        var lastNumber: UInt64 = 0
    }

    private let counts = Lock(Counts())

    /// An environment; the defaults are those of a server.
    public init(
        features: FeatureRegistry, limits: SessionLimits = SessionLimits(), journal: any Journal = MemoryJournal(),
        time: TimeSource = .system, clock: any Clock<Duration> = ContinuousClock(),
        executor: (any TaskExecutor)? = nil, middleware: [any CommonMiddleware] = [], heartbeat: Int = 20,
        report: @escaping @Sendable (StoreReport) -> Void = { _ in }
    ) {
        self.features = features
        self.limits = limits
        self.journal = journal
        self.time = time
        self.clock = clock
        self.executor = executor
        self.middleware = middleware
        self.heartbeat = heartbeat
        self.report = report
        stores = StoreEnvironment(
            clock: clock, executor: executor, queueLimit: limits.queuedIntents,
            // Labels wait in the outbox, where streams find them.
            isRecording: limits.recordedTurns > 0, report: report)
    }

    /// Streams open now, in all sessions.
    public var openStreams: Int { counts.withLock { $0.streams } }
    /// Requests that wait now, in all sessions.
    public var openWaits: Int { counts.withLock { $0.waits } }

    func takeStreamPlace() -> Bool {
        counts.withLock { counts in
            guard counts.streams < limits.streams else { return false }
            counts.streams += 1
            return true
        }
    }

    func leaveStreamPlace() { counts.withLock { $0.streams -= 1 } }

    func takeWaitPlace() -> Bool {
        counts.withLock { counts in
            guard counts.waits < limits.waits else { return false }
            counts.waits += 1
            return true
        }
    }

    func leaveWaitPlace() { counts.withLock { $0.waits -= 1 } }

    /// A number that no other stream or wait of this process has.
    func nextNumber() -> UInt64 {
        counts.withLock { counts in
            counts.lastNumber += 1
            return counts.lastNumber
        }
    }
}
