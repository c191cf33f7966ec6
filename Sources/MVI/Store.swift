import Locking

/// A running instance of a feature: a serial queue with a state.
///
/// All methods may be called from any thread. The thread that finds the queue idle runs it, with no lock held; every
/// other enqueues and goes on. While a commit is in flight nothing is run; what arrives meanwhile is the next batch.
/// What is outside (`state`, subscribers, observers, completions) sees committed turns only.
public final class Store<F: Feature>: Sendable {
    /// The feature that the store runs.
    public let feature: F
    /// What the store needs of the world.
    public let environment: StoreEnvironment

    @usableFromInline let middleware: Middleware<F>
    @usableFromInline let log: TurnCommit<F>?
    @usableFromInline let observers: ObserverQueue<F>?
    @usableFromInline let core: Lock<StoreCore<F>>

    /// A store that has not started: it keeps what it accepts until it does.
    ///
    /// - Parameters:
    ///   - state: the state of an earlier life; nil begins with the feature's initial state.
    ///   - middleware: what is installed for all features; the feature's own comes after it.
    ///   - log: where turns become permanent; nil keeps them in this store alone.
    public convenience init(
        _ feature: F, state: F.State? = nil, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: (any TurnLog<F>)? = nil
    ) {
        var commit: TurnCommit<F>?
        if let log { commit = { log.commit($0, done: $1) } }
        self.init(feature, state: state, environment: environment, middleware: middleware, commit: commit)
    }

    /// The same with a log whose type is known: where the feature's is, too, it is called directly, and each turn is
    /// spared the detours over the protocol.
    @inlinable
    public convenience init(
        _ feature: F, state: F.State? = nil, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: some TurnLog<F>
    ) {
        self.init(
            feature, state: state, environment: environment, middleware: middleware,
            commit: { log.commit($0, done: $1) })
    }

    @usableFromInline
    init(
        _ feature: F, state: F.State?, environment: StoreEnvironment, middleware: [any CommonMiddleware],
        commit log: TurnCommit<F>?
    ) {
        self.feature = feature
        self.environment = environment
        self.log = log
        self.middleware =
            middleware
            .reduce(Middleware<F>()) { $0.combined(with: $1.middleware(for: F.self)) }
            .combined(with: feature.middleware)
        observers =
            self.middleware.observers.isEmpty
            ? nil : ObserverQueue(self.middleware.observers, executor: environment.executor)
        let initial = state ?? feature.initialState
        core = Lock(StoreCore(state: initial, view: feature.view(initial), life: state == nil ? .new : .restored))
    }

    /// Starts the store: bootstrap, then what was accepted before. A second start does nothing.
    ///
    /// Returns when bootstrap and the actions that it sent have run, unless another thread is at it or a commit is in
    /// flight.
    public func start() {
        let life = core.withLock { core -> Life? in
            guard core.phase == .created else { return nil }
            core.phase = .started
            core.pending.insert(.bootstrap(core.life), at: 0)
            core.isRunning = true
            return core.life
        }
        guard let life else { return }
        observe(.started(life), .bootstrap)
        run()
    }

    /// Makes the store passive if nobody could tell: it is idle, no work of it runs, waits or is registered by anything
    /// but bootstrap, nobody watches or subscribes, no label and nobody's wait is left. Else changes nothing and
    /// returns false.
    ///
    /// A passive store is to be let go of. It refuses what comes with `IntentRejection.passivated`, so that whoever
    /// accepted too late turns to the store that took its place, made with this one's `state`. Observers are not told:
    /// it is no end. Calls nobody, so that the owner may call it under a lock of its own.
    public func passivate() -> Bool { core.withLock { $0.passivate() } }

    /// The committed state.
    @inlinable public var state: F.State { core.withLock { $0.state } }

    /// What clients see of the committed state.
    @inlinable public var view: F.ViewState { core.withLock { $0.view } }

    /// Whether `dispose` was called.
    public var isDisposed: Bool { core.withLock { $0.phase == .disposed } }

    /// The store's own condition.
    public var diagnostics: StoreDiagnostics {
        let observed = observers?.counts
        return core.withLock { core in
            var diagnostics = core.diagnostics
            diagnostics.subscribers = core.subscribers.count
            diagnostics.runningWork = core.work.runningCount
            diagnostics.missedObservations = observed?.missed ?? 0
            diagnostics.observerFailures = observed?.failures ?? 0
            return diagnostics
        }
    }

    /// Takes an intent to be run in its turn.
    ///
    /// - Parameters:
    ///   - precondition: asked when the intent is about to run, with the number of changes of the view state by
    ///     earlier turns of the same batch, which are not committed yet; an error refuses the intent.
    ///   - attachment: given to the turn log with the turn.
    ///   - completion: called once, when the turn is committed or certainly never will be: on this thread before
    ///     `accept` returns if the store was idle and its log quick, else later on another, never under a lock.
    @inlinable
    public func accept(
        _ intent: F.Intent, id: IntentID = .random(), precondition: IntentPrecondition? = nil,
        attachment: (any AnyObject & Sendable)? = nil,
        completion: @escaping @Sendable (Result<IntentOutcome, IntentRejection>) -> Void = { _ in }
    ) {
        enqueue(
            .intent(
                IntentJob(
                    intent: intent, id: id, precondition: precondition,
                    attachment: attachment, completion: completion)))
    }

    /// `accept`, and waits for the outcome. Cancelling the caller does not cancel the intent.
    @discardableResult
    public func send(_ intent: F.Intent, id: IntentID = .random()) async throws(IntentRejection) -> IntentOutcome {
        let result: Result<IntentOutcome, IntentRejection> = await withCheckedContinuation { continuation in
            accept(intent, id: id, completion: { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Waits until every observation so far was handed to the observers. For tests and for the end of a process.
    public func observersCaughtUp() async {
        await observers?.caughtUp()
    }

    /// Ends the store: its work is cancelled, then states complete, then labels. Later intents are refused, all else
    /// that comes is dropped and counted; `state` stays the last one. A second call does nothing.
    ///
    /// A turn that is under way is finished: if it is committed, `state` takes it and its caller is told so. A store
    /// with running work lives until this is called, however few hold it.
    public func dispose() {
        let end = core.withLock { core -> StoreCore<F>.End? in core.dispose() }
        guard let end else { return }
        for task in end.leaving.tasks { task.cancel() }
        end.timer?.cancel()
        for job in end.jobs { job.refuse(.disposed) }
        for mailbox in end.mailboxes where !mailbox.takesLabels { mailbox.finish() }
        for mailbox in end.mailboxes where mailbox.takesLabels { mailbox.finish() }
        for waiter in end.settleWaiters { waiter() }
        // While a turn is under way, its runner tells of the end, after that turn.
        if end.isAnnounced { observe(.ended, .end) }
    }

    @usableFromInline
    func observe(_ event: Observation<F>.Event, _ intentID: IntentID) {
        observers?.append([
            Observation(event: event, intentID: intentID, instance: environment.instance)
        ])
    }
}

extension IntentID {
    /// What bootstrap and its work go by. Not ASCII, so that no key that a client sends can be it.
    public static let bootstrap = IntentID("‹bootstrap›")
    @usableFromInline static let end = IntentID("end")

    /// Whether it is `bootstrap`. Its first byte is no other's: comparing texts of two forms takes ten times as long.
    package var isBootstrap: Bool {
        guard let first = text.utf8.first, first > 0x7F else { return false }
        return self == .bootstrap
    }
}

/// Asked when an intent is about to run; see `Store.accept`.
public typealias IntentPrecondition = @Sendable (_ uncommittedChanges: Int) -> IntentRejection?

/// An intent whose turn is committed.
public struct IntentOutcome: Sendable, Equatable {
    /// Its id.
    public let id: IntentID
    /// Whether no work that it launched is running.
    public let isSettled: Bool
    /// The number of the view state after the turn, if the store's log numbers them; see `CommitResult.committed`.
    public let version: UInt64

    @inlinable
    init(id: IntentID, isSettled: Bool, version: UInt64) {
        self.id = id
        self.isSettled = isSettled
        self.version = version
    }
}

/// An intent that led to nothing.
public enum IntentRejection: Error, Sendable {
    /// The store has ended.
    case disposed
    /// The store has left memory; another one with its state is to be asked.
    case passivated
    /// Too many intents wait already.
    case busy
    /// The caller's precondition does not hold.
    case preconditionFailed
    /// An interceptor said no.
    case refused(Refusal)
    /// A handler threw; the turn is undone.
    case failed(Failure)
    /// The turn could not be made permanent.
    case notCommitted(CommitFailure)
}
