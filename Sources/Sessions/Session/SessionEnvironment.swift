import Locking
import MVI
import Networks
import SessionJournal
import Tracing

/// The source of time, which tests can replace.
package struct TimeSource: Sendable {
    /// The time since some fixed point, which never decreases.
    package let monotonic: @Sendable () -> Duration
    /// Time since 1970-01-01T00:00:00Z.
    package let sinceEpoch: @Sendable () -> Duration

    /// Creates a source of both times.
    package init(monotonic: @escaping @Sendable () -> Duration, sinceEpoch: @escaping @Sendable () -> Duration) {
        self.monotonic = monotonic
        self.sinceEpoch = sinceEpoch
    }
}

/// Both times at one moment, to convert one into the other: stored times are since 1970.
struct Moment: Sendable {
    let monotonic: Duration
    let sinceEpoch: Duration

    /// Read before a lock is taken, not under it.
    init(_ time: TimeSource) {
        monotonic = time.monotonic()
        sinceEpoch = time.sinceEpoch()
    }

    /// Converts a time since 1970 to the monotonic clock.
    func monotonic(_ sinceEpoch: Duration) -> Duration { monotonic - (self.sinceEpoch - sinceEpoch) }

    /// Converts a time of the monotonic clock to a time since 1970.
    func sinceEpoch(_ monotonic: Duration) -> Duration { sinceEpoch - (self.monotonic - monotonic) }
}

/// The environment that all sessions of a server share.
package final class SessionEnvironment: Sendable {
    /// The features of the server.
    package let features: FeatureRegistry
    /// The limits.
    package let limits: SessionLimits
    /// The lifetime of a session after its last use.
    let lives: PerLifeClass
    /// The time after its last known use at which a credential is over. Another node may know of a later use.
    var credentialLife: Duration {
        sharedJournal == nil ? limits.credentialLife : limits.credentialLife + limits.touchDelays.unshared
    }
    /// The journal to which turns are committed.
    package let journal: any Journal
    /// The same journal if other processes append to it.
    let sharedJournal: (any SharedJournal)?
    /// The tokens of sessions in memory by their keys in the journal, if other processes append to it.
    let index = Lock<[SessionKey: TokenHash]>([:])
    /// The lease of this process among the nodes that use the journal; nil if there is only one.
    package let lease: NodeLease?
    /// The sessions whose work runs on this node.
    private let owned = Lock<[ObjectIdentifier: Session]>([:])
    /// The time. With several nodes on one journal, the time since 1970 is by the journal's clock.
    package let time: TimeSource
    /// The time of its creation, on the monotonic clock.
    let started: Duration
    /// The clock for waits and for the work of stores.
    package let clock: any Clock<Duration>
    /// The executor for the work of stores; nil for the global pool.
    package let executor: (any TaskExecutor)?
    /// The middleware of every store.
    package let middleware: [any CommonMiddleware]
    /// The heartbeat interval that streams announce, in seconds.
    package let heartbeat: Int
    /// Receives reports for the log; see `StoreEnvironment.report`.
    package let report: @Sendable (StoreReport) -> Void

    /// The environment of every store, without its names.
    let stores: StoreEnvironment
    /// The same by the features' names, with their meters.
    let storesOfFeature: [String: StoreEnvironment]
    let storeLimits: StoreCoding.Limits

    /// The due times of reminders.
    let reminderClock = ReminderClock()
    let recordings: RecordingWriter
    /// The metrics.
    package let metrics: SessionMetrics
    /// The tracer of turns, appends and launched work; nil without tracing.
    let tracer: StoreTracer?
    let streamPlaces: Places
    let waitPlaces: NetworkPlaces
    let keptRoom: KeptRoom
    /// The time when the journal last answered a query about sessions, on the monotonic clock.
    let lastAnswer = Lock<Duration>(.seconds(-60))
    private let lastNumber = Lock<UInt64>(0)
    /// Names of features for which a state with unread members was reported.
    private let reportedLosses = Lock<Set<String>>([])
    private let postAction = Lock<MessagePost?>(nil)
    private let presenceAction = Lock<(@Sendable (PresenceReport) -> Void)?>(nil)
    private let watchAction = Lock<(@Sendable (NodeRecord, TokenHash, [FeatureID]) -> Void)?>(nil)
    private let giveAwayAction = Lock<(@Sendable (NodeRecord, TokenHash) async -> Void)?>(nil)
    let appendAction = Lock<(@Sendable ([RecordedTurn]) -> Void)?>(nil)
    private let endActions = Lock<[@Sendable (SessionInfo) -> Void]>([])
    /// Deletes a subject's data outside the sessions.
    let forgetAction = Lock<(@Sendable (Subject) async throws -> Void)?>(nil)

    /// Creates an environment. The defaults are those of a server.
    ///
    /// - Parameter adjust: changes the environment of every store.
    package init(
        features: FeatureRegistry, limits: SessionLimits = SessionLimits(), journal: any Journal = MemoryJournal(),
        time: TimeSource = .system, clock: any Clock<Duration> = ContinuousClock(),
        executor: (any TaskExecutor)? = nil, middleware: [any CommonMiddleware] = [], heartbeat: Int = 20,
        metrics: SessionMetrics = SessionMetrics(), tracer: (any Tracer)? = nil,
        report: @escaping @Sendable (StoreReport) -> Void = { _ in },
        adjust: (inout StoreEnvironment) -> Void = { _ in }
    ) {
        var limits = limits
        // A space outlives its stores.
        limits.spaceLife = features.shared.compactMap(\.storeLife).reduce(limits.spaceLife, max)
        (self.features, self.limits, self.journal) = (features, limits, journal)
        (self.clock, self.executor, self.middleware) = (clock, executor, middleware)
        (self.heartbeat, self.report, self.metrics) = (heartbeat, report, metrics)
        self.tracer = tracer.map { StoreTracer($0) }
        sharedJournal = journal as? any SharedJournal
        lease = sharedJournal.map { _ in NodeLease(time: time) }
        let time = lease?.clock.source ?? time
        self.time = time
        started = time.monotonic()
        streamPlaces = Places(limit: limits.streams)
        keptRoom = KeptRoom(journal, time, limits)
        recordings = RecordingWriter(
            journal, delay: limits.recordingDelay, clock: clock, executor: executor, report: report)
        waitPlaces = NetworkPlaces(limits.waits, perNetwork: limits.waitsPerNetwork)
        var stores = StoreEnvironment(
            clock: clock, now: { Timestamp(sinceEpoch: time.sinceEpoch()) }, executor: executor,
            queueLimit: limits.queuedIntents,
            // Labels wait in the outbox, where streams find them.
            isRecording: limits.recordings.turns > 0, report: report)
        adjust(&stores)
        stores.tracer = self.tracer
        self.stores = stores
        storesOfFeature = features.definitions.reduce(into: [:]) { all, definition in
            var own = stores
            own.meter = metrics.of(definition.name)
            all[definition.name] = own
        }
        lives = limits.lives
        storeLimits = StoreCoding.Limits(limits)
        guard stores.isRecording else { return }
        for feature in features.definitions where !feature.isRecordable {
            report(.unrecordable(feature: feature.name))
        }
    }

    /// Calls `action` for each session in memory that ends.
    package func onEnd(_ action: @escaping @Sendable (SessionInfo) -> Void) {
        endActions.withLock { $0.append(action) }
    }

    /// Calls `action` before all data of a subject is deleted; if it throws, nothing is deleted.
    package func onForget(_ action: @escaping @Sendable (Subject) async throws -> Void) {
        forgetAction.withLock { $0 = action }
    }

    /// Calls `action` with the recordings of a batch's turns, if there are any, before each attempt to append it.
    package func onAppend(_ action: @escaping @Sendable ([RecordedTurn]) -> Void) {
        appendAction.withLock { $0 = action }
    }

    func tellEnd(of session: SessionInfo) {
        for action in endActions.withLock({ $0 }) { action(session) }
    }

    /// Calls `action` when a stream begins to show stores of a session that another node owns.
    package func onWatchElsewhere(
        _ action: @escaping @Sendable (_ owner: NodeRecord, TokenHash, [FeatureID]) -> Void
    ) {
        watchAction.withLock { $0 = action }
    }

    /// Delivers messages; nil where there are no other sessions.
    var post: MessagePost? { postAction.withLock { $0 } }

    func onMessage(_ post: @escaping MessagePost) { postAction.withLock { $0 = post } }

    /// Calls `action` when other nodes have to be told which clients look at a store on this one.
    package func onPresence(_ action: @escaping @Sendable (PresenceReport) -> Void) {
        presenceAction.withLock { $0 = action }
    }

    func tellOfPresence(_ report: PresenceReport) { presenceAction.withLock { $0 }?(report) }

    /// Calls `action` to ask another node for a session that is needed here.
    package func onNeed(_ action: @escaping @Sendable (_ owner: NodeRecord, TokenHash) async -> Void) {
        giveAwayAction.withLock { $0 = action }
    }

    var ownedSessions: [Session] { owned.withLock { Array($0.values) } }

    func note(_ session: Session, isOwned: Bool) {
        owned.withLock { $0[ObjectIdentifier(session)] = isOwned ? session : nil }
    }

    /// Asks a session's owner to give it away.
    func ask(for session: Session) async {
        guard let action = giveAwayAction.withLock({ $0 }), let owner = session.owningNode else { return }
        await action(owner, session.tokenHash)
    }

    func tellOfWatchers(_ session: Session) {
        guard let action = watchAction.withLock({ $0 }), let owner = session.owningNode,
            let watched = session.watchedElsewhere
        else { return }
        action(owner, session.tokenHash, watched.features)
    }

    /// The number of streams for which an answer and the next turn wait.
    static var wakesAtOnce: Int { 64 }
    /// The number of streams that are woken before other tasks may run.
    private static var wakesInPass: Int { 128 }

    /// Wakes many streams, without their writer and its session's next turn having to wait for them.
    func wakeLater(_ wakers: [any StreamWaker]) {
        Task(executorPreference: executor) {
            for (index, waker) in wakers.enumerated() {
                waker.wake()
                if index % Self.wakesInPass == Self.wakesInPass - 1 { await Task.yield() }
            }
        }
    }

    /// The number of open streams, in all sessions.
    package var openStreams: Int { streamPlaces.taken }
    /// The number of waiting requests, in all sessions.
    package var openWaits: Int { waitPlaces.taken }

    /// Reports members of a stored state that its feature does not read, once for each feature.
    func note(lost: [String], of feature: FeatureID) {
        guard !lost.isEmpty, reportedLosses.withLock({ $0.insert(feature.name).inserted }) else { return }
        report(.membersUnread(lost, instance: feature.text))
    }

    /// Returns a number that no other stream or wait of this process has.
    func nextNumber() -> UInt64 {
        lastNumber.withLock { last in
            last += 1
            return last
        }
    }
}

/// A bounded number of places for all sessions of a server.
final class Places: Sendable {
    private let limit: Int
    private let count = Lock(0)

    init(limit: Int) { self.limit = limit }

    var taken: Int { count.withLock { $0 } }

    /// Takes a place. Returns false if there is none.
    func enter() -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    /// True if there is a place.
    var hasRoom: Bool { count.withLock { $0 < limit } }

    /// Takes a place even if there is none.
    func enterBeyondLimit() { count.withLock { $0 += 1 } }

    func leave() { count.withLock { $0 -= 1 } }
}

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension TimeSource {
    /// The machine's clocks. The monotonic clock includes the machine's sleep, since other machines go on.
    package static let system = TimeSource(
        monotonic: { read(continuous) }, sinceEpoch: { read(CLOCK_REALTIME) })

    #if os(Linux)
        private static let continuous = CLOCK_BOOTTIME
    #else
        private static let continuous = CLOCK_MONOTONIC
    #endif

    private static func read(_ clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return Duration(secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000)
    }
}
