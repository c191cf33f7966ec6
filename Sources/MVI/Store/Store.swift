/// A running instance of a feature on its own: a serial queue with a state, for use in a process and in tests. Its log
/// is told of each turn, with its state and labels.
///
/// All methods may be called from any thread. The thread that finds the queue idle runs it, with no lock held; every
/// other enqueues and goes on. While a commit is in flight nothing is run; what arrives meanwhile is the next batch.
/// What is outside (`state`, observers, completions) sees committed turns only.
public final class Store<F: Feature>: Sendable {
    /// What the store needs of the world.
    public let environment: StoreEnvironment

    @usableFromInline let cell: StoreCell
    @usableFromInline let typed: TurnRunner<F>

    package var scope: StoreScope { cell.scope }
    package var queue: TurnQueue { cell.queue }

    /// A store that has not started. It keeps what it accepts, up to `queueLimit`, until it starts; what a store that
    /// never starts accepted is refused as disposed by `dispose`, and not before.
    ///
    /// - Parameters:
    ///   - feature: the logic of the store.
    ///   - state: the state of an earlier life; nil begins with the feature's initial state.
    ///   - environment: clock, ids, session, and where work runs.
    ///   - middleware: what is installed for all features; the feature's own comes after it.
    ///   - log: where turns become permanent; nil keeps them in this store alone.
    @inlinable
    public init(
        _ feature: F, state: F.State? = nil, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: (any TurnLog<F>)? = nil
    ) {
        self.environment = environment
        let queue = TurnQueue(isStarted: false)
        let scope = StoreScope(environment, queue)
        let logged = log.map { LoggedTurns<F>($0) }
        let typed = TurnRunner(
            feature, state: state ?? feature.initialState, environment: environment, middleware: middleware
        ) { (turn, view, isViewChanged) throws(StoreError) in
            logged?.append(TurnRecord(turn, view: view, isViewChanged: isViewChanged))
            var output = TurnOutput()
            output.isViewChanged = isViewChanged
            return output
        }
        self.typed = typed
        cell = StoreCell(typed, queue, scope, state == nil ? .new : .restored) { cell in
            if let logged { return logged.commit(typed) { cell.ended($0) } }
            typed.commit()
            return .committed
        }
    }

    /// The feature that the store runs.
    public var feature: F { typed.feature }

    /// Starts the store: bootstrap, then what was accepted before. A second start does nothing.
    ///
    /// Returns when bootstrap and the actions that it sent have run, unless another thread is at it or a commit is in
    /// flight.
    public func start() { cell.start() }

    /// The committed state.
    public var state: F.State { typed.state }

    /// What clients see of the committed state.
    public var view: F.ViewState { typed.view }

    /// Whether `dispose` was called.
    public var isDisposed: Bool { scope.isEnded }

    /// The store's own condition.
    public var diagnostics: StoreDiagnostics {
        var diagnostics = scope.diagnostics
        typed.addObserverCounts(to: &diagnostics)
        return diagnostics
    }

    /// Takes an intent to be run in its turn.
    ///
    /// - Parameters:
    ///   - intent: the intent.
    ///   - id: its name, which everything that it leads to carries.
    ///   - principal: who sends it.
    ///   - precondition: asked with the store's version when the intent is about to run; an error refuses the intent.
    ///   - completion: called once, when the turn is committed or certainly never will be: on this thread before
    ///     `accept` returns if the store was idle and its log quick, else later on another, never under a lock.
    @inlinable
    public func accept(
        _ intent: F.Intent, id: IntentID = .random(), principal: Principal? = nil,
        precondition: IntentPrecondition? = nil,
        completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void = { _ in }
    ) {
        if let check = typed.check(intent) {
            return cell.accept(check, id, principal, precondition, completion)
        }
        cell.accept(typed.execute(intent), id, principal, precondition, completion)
    }

    /// `accept`, and waits for the outcome. Cancelling the caller does not cancel the intent.
    @discardableResult
    public func send(
        _ intent: F.Intent, id: IntentID = .random(), principal: Principal? = nil
    ) async throws(StoreError) -> IntentOutcome {
        let result: Result<IntentOutcome, StoreError> = await withCheckedContinuation { continuation in
            accept(intent, id: id, principal: principal, completion: { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Waits until every observation so far was handed to the observers. For tests and for the end of a process.
    public func observersCaughtUp() async { await typed.observersCaughtUp() }

    /// The names of the work that runs, for tests.
    package var workInProgress: [String] { scope.workInProgress }

    /// Calls `action` once when no work that the intent launched is running: false, and no call, if that is so now.
    ///
    /// `id` is the caller's, for `stopWaiting`. The call may come from any thread, never under a lock.
    public func whenSettled(_ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void) -> Bool {
        queue.whenSettled(intentID, id: id, action)
    }

    /// Takes `whenSettled` back. The call may be under way already.
    public func stopWaiting(for intentID: IntentID, id: UInt64) { queue.stopWaiting(for: intentID, id: id) }

    /// One more watcher: work that runs `whileWatched` starts with the first. False, and nothing happens, if the store is
    /// disposed of.
    @discardableResult
    public func beginWatching() -> Bool { scope.beginWatching(on: cell) }

    /// One watcher less. One call too many does nothing.
    public func endWatching() { scope.endWatching() }

    /// Ends the store: its work is cancelled. Later intents are refused, all else that comes is dropped and counted;
    /// `state` stays the last one. A second call does nothing.
    ///
    /// A turn that is under way is finished: if it is committed, `state` takes it and its caller is told so. Work
    /// that is launched runs on until this is called, however few hold the store.
    public func dispose() {
        guard scope.end() else { return }
        // While a turn is under way, observers are told of the end after it.
        let (jobs, isIdle) = queue.close(.disposed, last: FunctionJob(.intents) { [typed] _ in typed.observeEnd() })
        for job in jobs { job.end(.disposed) }
        if isIdle { typed.observeEnd() }
    }
}
