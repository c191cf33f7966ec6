/// The dependencies of a store, which tests can replace: its names and its `Settings`.
///
/// Copies share the settings until one is changed, since a server has one environment for many stores.
@dynamicMemberLookup
@usableFromInline
package struct StoreEnvironment: Sendable {
    /// The feature instance, such as `counter` or `order-detail:42`.
    @usableFromInline package var instance: String
    /// The session of the store.
    @usableFromInline package var session: SessionInfo
    @usableFromInline package var shared: Shared

    @usableFromInline
    package final class Shared: Sendable {
        @usableFromInline package let settings: Settings
        @usableFromInline let slowTurnNanoseconds: UInt64

        init(_ settings: Settings) { (self.settings, slowTurnNanoseconds) = (settings, settings.slowTurn.nanoseconds) }
    }

    /// All values except the names, accessible as members of the environment.
    @usableFromInline
    package struct Settings: Sendable {
        /// The clock of `debounce`, `throttle`, `timer` and `Work.sleep`.
        package var clock: any Clock<Duration>
        /// Returns the wall-clock time, for `turn.now`.
        package var now: @Sendable () -> Timestamp
        /// Returns a new UUID as text, for `turn.uuid()`.
        package var uuid: @Sendable () -> String
        /// The executor of launched work; nil for the global pool.
        package var executor: (any TaskExecutor)?
        /// The maximum number of waiting intents; more are refused as `busy`.
        package var queueLimit: Int
        /// The maximum number of pieces of work that run, wait in a queue or are registered for watchers. A turn that
        /// exceeds it fails as if it had thrown.
        package var workLimit: Int
        /// The duration, with interceptors and `view`, above which a turn is reported.
        @usableFromInline package var slowTurn: Duration
        /// True if the events of each turn are recorded even without an observer.
        @usableFromInline package var isRecording: Bool
        /// Varies the delay before a retry, also for `Work.retry`, so that stores do not retry at the same time. Takes
        /// the delay of the back-off and returns the one to use.
        package var jitter: @Sendable (Duration) -> Duration
        /// Receives reports for the operator's log. Called from any thread, never with a lock held; must not block.
        package var report: @Sendable (StoreReport) -> Void
        /// Measures the feature's stores; nil without metrics.
        @usableFromInline package var meter: (any StoreMeter)?
        /// Traces turns and launched work; nil without tracing.
        @usableFromInline package var tracer: StoreTracer?
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

    /// The environment of a store with shared settings.
    package init(_ instance: String, _ session: SessionInfo, _ shared: Shared) {
        (self.instance, self.session, self.shared) = (instance, session, shared)
    }

    /// The place of the store in reports.
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

/// An event that a store reports in addition to its states and labels.
package enum StoreReport: Sendable {
    /// The author's code threw an error.
    case failure(Failure, in: StorePlace)
    /// A handler took too long.
    case slowTurn(Duration, IntentID, in: StorePlace)
    /// Labels were dropped because no stream received them before the limit was reached.
    case undelivered(count: Int, in: StorePlace)
    /// Turns could not be committed, or a session's stored data cannot be read. Intents were refused; launched work and
    /// bootstrap are retried unless the turn itself is invalid. Repeated failures are reported once.
    case commitFailed(StoreError, in: StorePlace)
    /// A stored state could not be read. A copy is kept, and the store begins anew.
    case stateSetAside(reason: String, in: StorePlace)
    /// A stored state of the present schema version has members, given as JSON Pointers, that the feature's `State`
    /// neither reads nor writes. A copy of the state is kept before it is overwritten. Reported once per feature and
    /// process.
    case membersUnread([String], instance: String)
    /// Recording is enabled, but messages or actions of this feature are not `Codable`. Its recordings note this.
    case unrecordable(feature: String)
    /// Recordings of committed turns are not written: the journal failed with the error, or is too slow if it is nil.
    case recordingsLost(count: Int, StoreError?)
    /// A message was given up: its receiver threw, or was not available for a day.
    case messageLost(UndeliveredMessage, in: StorePlace)
    /// A shared store still has data of a deleted person. It is tried again.
    case notForgotten(StoreError)
}

/// The store that a report is about.
package struct StorePlace: Sendable, Hashable {
    /// The feature instance, such as `counter` or `order-detail:42`.
    package let instance: String
    /// The session's internal id, which is not its token.
    package let session: String

    package init(instance: String, session: String = "") { (self.instance, self.session) = (instance, session) }
}

/// Counters and the condition of a store.
public struct StoreDiagnostics: Sendable {
    /// The error of `bootstrap`, if it threw.
    public var bootstrapFailure: Failure?
    /// The number of turns that took longer than the limit.
    public var slowTurns = 0
    /// The number of errors thrown by the author's code.
    public var failures = 0
    /// The number of failures without a call of `onFailure`, since earlier calls could not be committed and too many
    /// waited.
    public var droppedFailures = 0
    /// The number of intents, steps and labels after the store's end.
    public var droppedAfterEnd = 0
    /// The number of steps of launched work that had already ended, for example from a task that it started.
    public var droppedLateSteps = 0
    /// The number of messages, steps and other uses of parts that have left their list or are nil.
    public var droppedForGoneParts = 0
    /// The number of observations dropped because observers were too slow.
    public var missedObservations = 0
    /// The number of errors thrown by observers.
    public var observerFailures = 0
    /// The number of running pieces of launched work.
    public var runningWork = 0

    package init() {}

    /// Adds another store's counters.
    package mutating func add(_ other: StoreDiagnostics) {
        bootstrapFailure = bootstrapFailure ?? other.bootstrapFailure
        for count in [
            \Self.slowTurns, \.failures, \.droppedFailures, \.droppedAfterEnd, \.droppedLateSteps,
            \.droppedForGoneParts, \.missedObservations, \.observerFailures, \.runningWork,
        ] { self[keyPath: count] += other[keyPath: count] }
    }
}
