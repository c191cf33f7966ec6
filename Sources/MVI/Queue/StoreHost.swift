import Tracing

/// Where a store lives: its session's place for it.
package protocol StoreHost: AnyObject, Sendable {
    var scope: StoreScope { get }
    var runner: any StoreRunner { get }
    /// Takes a job of the store's own: a step of launched work, or the turn of a failure.
    func enqueue(_ job: any TurnJob)
    /// Runs a handler as the next turn of the host's batch, and adds its result. Returns nil; or the job that is to run in
    /// its place later, and nothing is added, if it has to wait for something first. Only the queue's runner calls it.
    func run(_ job: any TurnJob) -> (any QueueJob)?
    /// See `QueueJob.whenReady`.
    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool
}

extension StoreHost {
    package func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { false }
}

/// What a host asks of a store's runner, whatever its feature; see `TurnRunner`.
@usableFromInline
package protocol StoreRunner: AnyObject, Sendable {
    /// The turn of `bootstrap`.
    func bootstrap(_ reason: StartReason) -> RunTurn
    /// The turn of `signedIn`.
    func signedIn(_ principal: Principal) -> RunTurn
    /// The turn of `onFailure`. `origin` is that of the launched work which failed; nil if none did.
    func onFailure(_ failure: Failure, of origin: WorkOrigin?) -> RunTurn
    /// Takes the batch's working copy for the head.
    func commit()
    /// Forgets the batch's working copy.
    func rollBack()
    /// Remembers the working copy, unless a chain of intents runs already.
    func beginChain()
    /// Ends a chain: keeps what it did, or puts the working copy back.
    func endChain(isKept: Bool)
    /// Tells observers what is no part of a turn.
    func observe(failure: Failure)
    func observeEnd()
    /// Returns when every observation so far was handed to the observers.
    func observersCaughtUp() async
    func addObserverCounts(to diagnostics: inout StoreDiagnostics)
}

/// A job that is a turn of one store.
package protocol TurnJob: QueueJob {
    var host: any StoreHost { get }
    var intentID: IntentID { get }
    /// The launched work that it belongs to; nil if it belongs to none. It is dropped once that is over.
    var token: WorkToken? { get }
    /// Who sent the intent that led to it.
    var principal: Principal? { get }
    /// What it got of time and chance when it ran before.
    var inputs: TurnInputs? { get }
    var runTurn: RunTurn { get }
    /// The span that it belongs to; nil where nothing is traced.
    var trace: ServiceContext? { get }
}

extension TurnJob {
    package var trace: ServiceContext? { nil }
    package var kind: TurnKind { .work }
    package var lane: JobLane { .steps }
    package func run() -> (any QueueJob)? { host.run(self) }
    package func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { host.whenReady(resume) }
}

/// A step of launched work.
final class StepJob: TurnJob {
    let host: any StoreHost
    let intentID: IntentID
    let token: WorkToken?
    let principal: Principal?
    let inputs: TurnInputs?
    let runTurn: RunTurn
    let trace: ServiceContext?
    private let context: WorkContext
    /// Called once: with what the step threw, or nil when it is committed or dropped.
    private let completion: @Sendable ((any Error)?) -> Void

    init(
        _ context: WorkContext, inputs: TurnInputs? = nil, runTurn: @escaping RunTurn, trace: ServiceContext?,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.context = context
        host = context.host
        intentID = context.origin.intentID
        token = context.token
        principal = context.origin.principal
        self.inputs = inputs
        (self.runTurn, self.trace) = (runTurn, trace)
        self.completion = completion
    }

    func again(with progress: TurnProgress) -> any QueueJob {
        guard let inputs = progress.inputs else { return self }
        return StepJob(context, inputs: inputs, runTurn: runTurn, trace: trace, completion: completion)
    }

    func finished(_ result: JobResult, isSettled: Bool) { completion(result.outcome.thrown) }

    func end(_ error: StoreError) {
        // The store's end is no error of its work; anything else is the step's.
        let isEnd = error.code == .disposed || error.code == .gone
        if isEnd { host.scope.note { $0.droppedAfterEnd += 1 } }
        completion(isEnd ? nil : error)
    }
}

/// A throw to be handed to `onFailure`, in a turn of its own.
package final class FailureJob: TurnJob {
    package let host: any StoreHost
    package let intentID: IntentID
    package var token: WorkToken? { work?.token }
    package let principal: Principal?
    package let inputs: TurnInputs?
    package let runTurn: RunTurn
    package var trace: ServiceContext? { work?.origin.trace }
    private let work: WorkContext?
    package var isFailureTurn: Bool { true }
    private let failure: Failure
    /// Called once, when the turn is over or never will be.
    private let then: (@Sendable () -> Void)?

    /// - Parameter work: the launched work that failed; nil if it was a handler.
    package init(
        _ failure: Failure, of work: WorkContext?, on host: any StoreHost, principal: Principal?,
        inputs: TurnInputs? = nil, then: (@Sendable () -> Void)? = nil
    ) {
        (self.principal, self.inputs) = (principal, inputs)
        self.host = host
        self.failure = failure
        intentID = failure.intentID
        self.work = work
        runTurn = host.runner.onFailure(failure, of: work?.origin)
        self.then = then
    }

    package func again(with progress: TurnProgress) -> any QueueJob {
        guard let inputs = progress.inputs else { return self }
        return FailureJob(failure, of: work, on: host, principal: principal, inputs: inputs, then: then)
    }

    package func finished(_ result: JobResult, isSettled: Bool) {
        // An action that `onFailure` sent: reported, but not handed to it once more.
        if let error = result.outcome.thrown {
            host.scope.report(
                Failure(stage: failure.stage, intentID: intentID, intent: failure.intent, error: error), on: host)
        }
        then?()
    }

    package func end(_ error: StoreError) {
        if error.code == .busy { host.scope.note { $0.droppedFailures += 1 } }
        then?()
    }
}
