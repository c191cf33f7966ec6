import Locking

/// A store on its own without its feature's type: its queue, and the batch that runs.
@usableFromInline
final class StoreCell: StoreHost, TurnQueueOwner {
    /// Commits what the batch's turns left; nil if `ended` will be called later.
    @usableFromInline
    typealias Commit = @Sendable (StoreCell) -> CommitOutcome?

    private enum Bootstrap {
        /// It has to be committed before anything else.
        case owed
        /// It is in the batch.
        case ran
        case done
    }

    private struct State {
        var startReason: StartReason
        var bootstrap = Bootstrap.owed
        /// How many turns were committed, and the number of the last one that changed the view state.
        var head: (number: UInt64, version: UInt64) = (0, 0)
        /// The same with the turns of the batch, and what they led to.
        var working: (number: UInt64, version: UInt64) = (0, 0)
        var results: ShortList<JobResult> = []
        var effects: [Effect] = []
        /// How many of them bootstrap asked for: it runs first.
        var bootstrapEffects = 0

        mutating func undo() {
            working = head
            if bootstrap == .ran { bootstrap = .owed }
        }
    }

    let queue: TurnQueue
    let scope: StoreScope
    let runner: any StoreRunner
    private let commitTurns: Commit
    private let state: Lock<State>

    @usableFromInline
    init(
        _ runner: any StoreRunner, _ queue: TurnQueue, _ scope: StoreScope, _ startReason: StartReason,
        commit: @escaping Commit
    ) {
        (self.runner, self.queue) = (runner, queue)
        self.scope = scope
        commitTurns = commit
        state = Lock(State(startReason: startReason))
    }

    var environment: StoreEnvironment { scope.environment }

    func start() {
        if queue.start(with: FunctionJob(.steps) { [self] in _ = prepare($0) }) { drive() }
    }

    @usableFromInline
    func accept(
        _ run: @escaping RunTurn, _ id: IntentID, _ principal: Principal?, _ precondition: IntentPrecondition?,
        _ completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void
    ) {
        enqueue(IntentJob(self, id, principal, nil, run, precondition, completion))
    }

    /// The same for an intent that has to pass a check first.
    @usableFromInline
    func accept(
        _ check: PendingCheck, _ id: IntentID, _ principal: Principal?, _ precondition: IntentPrecondition?,
        _ completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void
    ) {
        Task(executorPreference: environment.executor) { [self] in
            let judged = await check.run(CheckCall(id, principal, scope))
            guard let run = judged(runner) else { preconditionFailure("a check judges for its own feature") }
            accept(run, id, principal, precondition, completion)
        }
    }

    func enqueue(_ job: any TurnJob) { enqueue(job as any QueueJob) }

    func run(_ job: any TurnJob) -> (any QueueJob)? {
        let (_, effects) = prepare()
        if let token = job.token, !scope.isLive(token, after: effects) {
            add(job, job.intentID, TurnResult(.dropped))
        } else {
            run(job, job.intentID, job.runTurn, job.principal, job.inputs, after: effects)
        }
        return nil
    }

    /// Runs bootstrap if it is owed: nothing overtakes it. Returns the version after the batch's turns so far, and what
    /// they ask for.
    fileprivate func prepare(_ job: FunctionJob? = nil) -> (version: UInt64, effects: [Effect]) {
        let (reason, version, effects) = state.withLock { state -> (StartReason?, UInt64, [Effect]) in
            let isOwed = state.bootstrap == .owed
            if isOwed { state.bootstrap = .ran }
            return (isOwed ? state.startReason : nil, state.working.version, state.effects)
        }
        guard let reason else { return (version, effects) }
        // One that runs before another job is the first one again, which could not be committed and is tried again itself.
        let job = job ?? FunctionJob(.intents) { [self] in _ = prepare($0) }
        run(job, .bootstrap, runner.bootstrap(reason), nil, nil, after: effects, isBootstrap: true)
        return state.withLock { ($0.working.version, $0.effects) }
    }

    /// Runs a turn, and that of its failure if it throws.
    fileprivate func run(
        _ job: any QueueJob, _ intentID: IntentID, _ run: RunTurn, _ principal: Principal?, _ inputs: TurnInputs?,
        after effects: [Effect], isBootstrap: Bool = false, follows: Bool = false
    ) {
        let turn = run(TurnContext(intentID, scope, earlier: effects, principal: principal, inputs: inputs))
        add(job, intentID, turn, isBootstrap: isBootstrap, follows: follows)
        guard case .failed(let reason) = turn.outcome, let failure = reason.failure else { return }
        let later = state.withLock { $0.effects }
        let job = FailureJob(failure, of: nil, on: self, principal: principal)
        self.run(job, intentID, job.runTurn, principal, nil, after: later, follows: true)
    }

    fileprivate func add(
        _ job: any QueueJob, _ intentID: IntentID, _ turn: TurnResult, isBootstrap: Bool = false, follows: Bool = false
    ) {
        let isKept = if case .ran = turn.outcome { true } else { false }
        state.withLock { state in
            if isKept {
                state.working.number += 1
                if turn.output.isViewChanged { state.working.version = state.working.number }
                if !turn.effects.isEmpty { state.effects += turn.effects }
                if isBootstrap { state.bootstrapEffects = state.effects.count }
            }
            state.results.append(
                JobResult(
                    job, on: self, intentID, turn, isKept: isKept,
                    state: StateSnapshot(version: state.working.version, view: []), followsPrevious: follows,
                    isBootstrap: isBootstrap))
        }
    }

    func commit() -> CommitEnd? { commitTurns(self).map { end($0) } }

    /// The end of a commit that was in flight.
    @usableFromInline
    func ended(_ outcome: CommitOutcome) { ended(end(outcome)) }

    private func end(_ outcome: CommitOutcome) -> CommitEnd {
        let (results, effects, ofBootstrap) = state.withLock { state in
            let (results, effects, ofBootstrap) = (state.results, state.effects, state.bootstrapEffects)
            (state.results, state.effects, state.bootstrapEffects) = ([], [], 0)
            switch outcome {
            case .committed:
                state.head = state.working
                if state.bootstrap == .ran { state.bootstrap = .done }
            case .conflict:
                // Another writer began the store's life.
                state.startReason = .restored
                state.undo()
            case .failed, .unknown:
                state.undo()
                // One that threw has had its run; the turn of its failure is tried again.
                if let first = results.first, first.isBootstrap, !first.isKept { state.bootstrap = .done }
            }
            return (results, effects, ofBootstrap)
        }
        return (outcome, results, effects.isEmpty ? [] : [StoreEffects(self, effects, ofBootstrap: ofBootstrap)])
    }
}

/// An intent of a store on its own.
private final class IntentJob: QueueJob {
    private let store: StoreCell
    private let intentID: IntentID
    private let principal: Principal?
    private let inputs: TurnInputs?
    private let runTurn: RunTurn
    private let precondition: IntentPrecondition?
    private let completion: @Sendable (Result<IntentOutcome, StoreError>) -> Void

    init(
        _ store: StoreCell, _ intentID: IntentID, _ principal: Principal?, _ inputs: TurnInputs?,
        _ runTurn: @escaping RunTurn, _ precondition: IntentPrecondition?,
        _ completion: @escaping @Sendable (Result<IntentOutcome, StoreError>) -> Void
    ) {
        (self.principal, self.inputs) = (principal, inputs)
        (self.store, self.intentID, self.runTurn) = (store, intentID, runTurn)
        (self.precondition, self.completion) = (precondition, completion)
    }

    func run() -> (any QueueJob)? {
        let (version, effects) = store.prepare()
        if let error = precondition?(version) {
            store.add(self, intentID, TurnResult(.refused(error)))
        } else {
            store.run(self, intentID, runTurn, principal, inputs, after: effects)
        }
        return nil
    }

    /// Interceptors judged it: it runs again as they left it.
    func again(with progress: TurnProgress) -> any QueueJob {
        IntentJob(
            store, intentID, principal, progress.inputs ?? inputs, progress.judged?(store.runner) ?? runTurn,
            precondition, completion)
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        if let error = result.outcome.error { return completion(.failure(error)) }
        completion(.success(IntentOutcome(id: intentID, version: result.state.version, isSettled: isSettled)))
    }

    func end(_ error: StoreError) {
        if error.code == .disposed { store.scope.note { $0.droppedAfterEnd += 1 } }
        completion(.failure(error))
    }
}
