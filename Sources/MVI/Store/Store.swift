import Locking

/// A running instance of a feature on its own: a serial queue with a state, for use in a process and in tests.
///
/// All methods may be called from any thread. The thread that finds the queue idle runs it, with no lock held; every
/// other enqueues and goes on. While a commit is in flight nothing is run; what arrives meanwhile is the next batch.
/// What is outside (`state`, subscribers, observers, completions) sees committed turns only.
public final class Store<F: Feature>: Sendable {
    /// What the store needs of the world.
    public let environment: StoreEnvironment

    package let scope: StoreScope
    package let queue = TurnQueue(isStarted: false)
    let typed: TurnRunner<F>
    let core: Lock<StoreCore<F>>
    private let log: (any TurnLog<F>)?
    /// The turns of the batch that runs, as the runner makes them.
    private let records: Lock<[TurnRecord<F>]>

    /// A store that has not started: it keeps what it accepts until it does.
    ///
    /// - Parameters:
    ///   - state: the state of an earlier life; nil begins with the feature's initial state.
    ///   - middleware: what is installed for all features; the feature's own comes after it.
    ///   - log: where turns become permanent; nil keeps them in this store alone.
    public init(
        _ feature: F, state: F.State? = nil, environment: StoreEnvironment = StoreEnvironment(),
        middleware: [any CommonMiddleware] = [], log: (any TurnLog<F>)? = nil
    ) {
        self.environment = environment
        self.log = log
        scope = StoreScope(environment)
        let records = Lock<[TurnRecord<F>]>([])
        self.records = records
        typed = TurnRunner(
            feature, state: state ?? feature.initialState, environment: environment, middleware: middleware
        ) { (turn, view, isViewChanged) throws(StoreError) in
            let record = TurnRecord(turn, view: view, isViewChanged: isViewChanged)
            records.withLock { $0.append(record) }
            var output = TurnOutput()
            output.isViewChanged = isViewChanged
            return output
        }
        core = Lock(StoreCore(state == nil ? .new : .restored))
    }

    /// The feature that the store runs.
    public var feature: F { typed.feature }

    /// Starts the store: bootstrap, then what was accepted before. A second start does nothing.
    ///
    /// Returns when bootstrap and the actions that it sent have run, unless another thread is at it or a commit is in
    /// flight.
    public func start() {
        guard queue.start(with: BootstrapJob(self, isRetried: true)) else { return }
        typed.observe(started: core.withLock { $0.startReason })
        drive()
    }

    /// The committed state.
    public var state: F.State { typed.state }

    /// What clients see of the committed state.
    public var view: F.ViewState { typed.view }

    /// Whether `dispose` was called.
    public var isDisposed: Bool { core.withLock { $0.isDisposed } }

    /// The store's own condition.
    public var diagnostics: StoreDiagnostics {
        var diagnostics = scope.diagnostics
        typed.addObserverCounts(to: &diagnostics)
        diagnostics.subscribers = core.withLock { $0.subscribers.count }
        return diagnostics
    }

    /// Takes an intent to be run in its turn.
    ///
    /// - Parameters:
    ///   - precondition: asked with the store's version when the intent is about to run; an error refuses the intent.
    ///   - completion: called once, when the turn is committed or certainly never will be: on this thread before
    ///     `accept` returns if the store was idle and its log quick, else later on another, never under a lock.
    public func accept(
        _ intent: F.Intent, id: IntentID = .random(), precondition: IntentPrecondition? = nil,
        completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void = { _ in }
    ) {
        enqueue(
            IntentJob<F>(
                host: self, intentID: id, runTurn: typed.execute(intent), precondition: precondition,
                completion: completion))
    }

    /// `accept`, and waits for the outcome. Cancelling the caller does not cancel the intent.
    @discardableResult
    public func send(_ intent: F.Intent, id: IntentID = .random()) async throws(StoreError) -> IntentOutcome {
        let result: Result<IntentOutcome, StoreError> = await withCheckedContinuation { continuation in
            accept(intent, id: id, completion: { continuation.resume(returning: $0) })
        }
        return try result.get()
    }

    /// Waits until every observation so far was handed to the observers. For tests and for the end of a process.
    public func observersCaughtUp() async { await typed.observers?.caughtUp() }

    /// The names of the work that runs, for tests.
    package var workInProgress: [String] { scope.workInProgress }

    /// Calls `action` once when no work that the intent launched is running: false, and no call, if that is so now.
    ///
    /// `id` is the caller's, for `stopWaiting`. The call may come from any thread, never under a lock.
    public func whenSettled(
        _ intentID: IntentID, id: UInt64, _ action: @escaping @Sendable () -> Void
    ) -> Bool {
        scope.whenSettled(intentID, id: id, action)
    }

    /// Takes `whenSettled` back. The call may be under way already.
    public func stopWaiting(for intentID: IntentID, id: UInt64) { scope.stopWaiting(for: intentID, id: id) }

    /// One more watcher: work that runs `whileWatched` starts with the first. False, and nothing happens, if the store is
    /// disposed of.
    @discardableResult
    public func beginWatching() -> Bool { scope.beginWatching(on: self) }

    /// One watcher less. One call too many does nothing.
    public func endWatching() { scope.endWatching() }

    /// Ends the store: its work is cancelled, then states complete, then labels. Later intents are refused, all else
    /// that comes is dropped and counted; `state` stays the last one. A second call does nothing.
    ///
    /// A turn that is under way is finished: if it is committed, `state` takes it and its caller is told so. A store
    /// with running work lives until this is called, however few hold it.
    public func dispose() {
        guard let ended = core.withLock({ $0.dispose() }) else { return }
        // While a turn is under way, observers are told of the end after it.
        let (jobs, isIdle) = queue.close(.disposed, last: EndJob(runner: typed))
        scope.end()
        for job in jobs { job.end(.disposed) }
        for mailbox in ended.mailboxes where !mailbox.takesLabels { mailbox.finish() }
        for mailbox in ended.mailboxes where mailbox.takesLabels { mailbox.finish() }
        if ended.lost > 0 { scope.note { $0.undeliveredLabels += ended.lost } }
        if isIdle { typed.observeEnd() }
    }

    func noteUndelivered(_ count: Int) {
        guard count > 0 else { return }
        scope.note { $0.undeliveredLabels += count }
        environment.report(.undelivered(count: count, instance: environment.instance))
    }
}

extension Store: StoreHost, TurnQueueOwner {
    package var runner: any StoreRunner { typed }

    package func enqueue(_ job: any TurnJob) { enqueue(job as any QueueJob) }

    package func run(_ job: any TurnJob) -> Bool {
        let bootstrap = job as? BootstrapJob<F>
        // Nothing overtakes it.
        if core.withLock({ $0.owesBootstrap && !$0.batch.hasBootstrap }) {
            runTurn(bootstrap ?? BootstrapJob(self, isRetried: false), isBootstrap: true)
        }
        if bootstrap == nil { runTurn(job) }
        return true
    }

    /// Runs a turn, and that of its failure if it throws.
    private func runTurn(_ job: any TurnJob, isBootstrap: Bool = false, follows: Bool = false) {
        let (version, effects) = core.withLock { ($0.batch.version, $0.batch.effects) }
        let turn: TurnResult
        if let error = (job as? IntentJob<F>)?.precondition?(version) {
            turn = TurnResult(TurnTrouble(error: error))
        } else if let token = job.token, !scope.isLive(token, after: effects) {
            turn = .dropped
        } else {
            turn = job.runTurn(TurnContext(job.intentID, scope, earlier: effects))
        }
        if let judged = turn.judged { (job as? IntentJob<F>)?.judged(judged) }
        let isKept = turn.trouble == nil
        core.withLock { core in
            if isKept {
                core.batch.number += 1
                if turn.output.isViewChanged { core.batch.version = core.batch.number }
                core.batch.effects += turn.effects
            }
            core.batch.results.append(
                JobResult(
                    job, on: self, job.intentID, turn, isKept: isKept,
                    state: StateSnapshot(version: core.batch.version, view: []),
                    followsPrevious: follows, isBootstrap: isBootstrap))
        }
        guard let trouble = turn.trouble, trouble.isHandedToFeature, let failure = trouble.failure else { return }
        runTurn(FailureJob(failure, of: nil, on: self), follows: true)
    }

    package func commit(then: @escaping @Sendable (CommitEnd) -> Void) -> CommitEnd? {
        var batch = core.withLock { $0.takeBatch() }
        batch.turns = records.withLock { records in
            defer { records = [] }
            return records
        }
        guard !batch.turns.isEmpty, let log else { return end(batch, .committed) }
        let taken = batch
        return log.commit(batch.turns) { [self] in then(end(taken, $0)) }.map { end(taken, $0) }
    }

    private func end(_ batch: StoreCore<F>.Batch, _ result: CommitResult<F>) -> CommitEnd {
        switch result {
        case .committed:
            let (mailboxes, lost) = core.withLock { core in
                typed.commit()
                return core.apply(batch, labelLimit: environment.labelLimit)
            }
            for mailbox in mailboxes { mailbox.drain() }
            noteUndelivered(lost)
            return CommitEnd(.committed, batch.results)
        case .conflict(let newer):
            let isViewChanged = typed.stage(newer)
            let mailboxes = core.withLock { core in
                typed.commit()
                // Another writer began the store's life.
                core.startReason = .restored
                if isViewChanged { core.tellStates(typed.view) }
                return Array(core.subscribers.values)
            }
            for mailbox in mailboxes { mailbox.drain() }
            return CommitEnd(.conflict, batch.results)
        case .failed(let error):
            typed.rollBack()
            // One that threw has had its run; the turn of its failure is tried again.
            if let first = batch.results.first, first.isBootstrap, !first.isKept {
                core.withLock { $0.owesBootstrap = false }
            }
            return CommitEnd(.failed(error), batch.results)
        }
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
