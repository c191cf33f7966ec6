/// The surroundings of a store, which a test can replace: its names, and its `Settings`.
///
/// Copies share the settings until one is changed: a server has one environment for very many stores.
@dynamicMemberLookup
@usableFromInline
package struct StoreEnvironment: Sendable {
    /// The feature instance, such as `counter` or `order-detail:42`.
    @usableFromInline package var instance: String
    /// The session of the store.
    @usableFromInline package var session: SessionInfo
    /// Measures what the store does; nil where nothing is measured.
    @usableFromInline package var meter: (any StoreMeter)?
    /// Traces its turns and launched work; nil where nothing is traced.
    @usableFromInline package var tracer: StoreTracer?
    private var shared: Shared

    private final class Shared: Sendable {
        let settings: Settings
        init(_ settings: Settings) { self.settings = settings }
    }

    /// All but the names. They are read and set as members of the environment.
    @usableFromInline
    package struct Settings: Sendable {
        /// The clock of `debounce`, `throttle`, `timer` and `Work.sleep`.
        package var clock: any Clock<Duration>
        /// The time on the wall clock: `turn.now`.
        package var now: @Sendable () -> Timestamp
        /// A new UUID as text: `turn.uuid()`.
        package var uuid: @Sendable () -> String
        /// The executor of launched work; nil for the global pool.
        package var executor: (any TaskExecutor)?
        /// The maximum number of waiting intents; one more is refused as `busy`.
        package var queueLimit: Int
        /// The maximum number of a store's pieces of work that run, wait or are registered for watchers. A turn that
        /// asks for more fails as if it had thrown.
        package var workLimit: Int
        /// A turn that takes longer, with its interceptors and `view`, is reported.
        @usableFromInline package var slowTurn: Duration
        /// Records the events of each turn even without an observer.
        @usableFromInline package var isRecording: Bool
        /// Varies the waits before something is tried again, those of `Work.retry` as well, so that not all stores try
        /// again at the same time: takes the wait that the back-off gives, and returns the one to use.
        package var jitter: @Sendable (Duration) -> Duration
        /// Told of what should be in an operator's log. Called from any thread, never under a lock; must not block.
        package var report: @Sendable (StoreReport) -> Void
    }

    /// The defaults: continuous time, the global pool, 1,024 waiting intents, 1,024 pieces of work, 50 ms, and waits of
    /// half to all of the back-off's.
    package init(
        instance: String = "", session: SessionInfo = .none, clock: any Clock<Duration> = ContinuousClock(),
        now: (@Sendable () -> Timestamp)? = nil, uuid: (@Sendable () -> String)? = nil,
        executor: (any TaskExecutor)? = nil, queueLimit: Int = 1024, workLimit: Int = 1024,
        slowTurn: Duration = .milliseconds(50), isRecording: Bool = false,
        jitter: @escaping @Sendable (Duration) -> Duration = { $0 * Double.random(in: 0.5...1) },
        report: @escaping @Sendable (StoreReport) -> Void = { _ in }
    ) {
        self.instance = instance
        self.session = session
        shared = Shared(
            Settings(
                clock: clock, now: now ?? { .system }, uuid: uuid ?? randomUUID, executor: executor,
                queueLimit: queueLimit, workLimit: workLimit, slowTurn: slowTurn, isRecording: isRecording,
                jitter: jitter, report: report))
    }

    /// The store's place in reports.
    package var place: StorePlace { StorePlace(instance: instance, session: session.id) }

    /// One of the settings.
    @usableFromInline
    package subscript<Value>(dynamicMember setting: WritableKeyPath<Settings, Value>) -> Value {
        get { shared.settings[keyPath: setting] }
        set {
            var settings = shared.settings
            settings[keyPath: setting] = newValue
            shared = Shared(settings)
        }
    }
}

/// A report of a store beside its states and labels.
package enum StoreReport: Sendable {
    /// An author's code threw.
    case failure(Failure, in: StorePlace)
    /// A handler kept its thread too long.
    case slowTurn(Duration, IntentID, in: StorePlace)
    /// Labels were given up because no stream came for them and the bound was reached.
    case undelivered(count: Int, in: StorePlace)
    /// Turns could not be committed, or what the journal has of a session cannot be read. Intents were refused; launched
    /// work and bootstrap are tried again, unless the turn itself is at fault. What fails again and again is reported once.
    case commitFailed(StoreError, in: StorePlace)
    /// A state that was kept could not be read; it was set aside, and the store began anew.
    case stateSetAside(reason: String, in: StorePlace)
    /// A state that was kept under the present schema version has members, given as JSON Pointers, that the feature's
    /// `State` neither reads nor writes. The state as it was is set aside before another one takes its place. Reported
    /// once for each feature of a process.
    case membersUnread([String], instance: String)
    /// Turns are to be recorded, and messages or actions of this feature are not `Codable`: its recordings say so
    /// instead.
    case unrecordable(feature: String)
}

/// The store that a report concerns.
package struct StorePlace: Sendable, Hashable {
    /// The feature instance, such as `counter` or `order-detail:42`.
    package let instance: String
    /// The session's package id, which is not its token.
    package let session: String

    package init(instance: String, session: String = "") { (self.instance, self.session) = (instance, session) }
}

/// The condition of a store.
public struct StoreDiagnostics: Sendable {
    /// True if `bootstrap` threw.
    public var bootstrapFailure: Failure?
    /// Turns that took longer than the limit.
    public var slowTurns = 0
    /// Throws in the author's code.
    public var failures = 0
    /// Throws that `onFailure` was not called for: turns for it could not be committed, and too many waited already.
    public var droppedFailures = 0
    /// Intents, steps and labels that came after the end.
    public var droppedAfterEnd = 0
    /// Steps of launched work that had ended: what it started did not end with it.
    public var droppedLateSteps = 0
    /// Messages, steps and other uses of parts that have left their list, or are nil.
    public var droppedForGoneParts = 0
    /// Observations that observers were too slow for.
    public var missedObservations = 0
    /// Throws of observers.
    public var observerFailures = 0
    /// Pieces of launched work that run now.
    public var runningWork = 0

    package init() {}

    /// Adds another store's.
    package mutating func add(_ other: StoreDiagnostics) {
        bootstrapFailure = bootstrapFailure ?? other.bootstrapFailure
        for count in [
            \Self.slowTurns, \.failures, \.droppedFailures, \.droppedAfterEnd, \.droppedLateSteps,
            \.droppedForGoneParts, \.missedObservations, \.observerFailures, \.runningWork,
        ] { self[keyPath: count] += other[keyPath: count] }
    }
}
