import MVI
import Tracing

/// A job that is a turn of one store.
protocol TurnJob: QueueJob {
    var store: SessionStore { get }
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
    var trace: ServiceContext? { nil }
    var kind: TurnKind { .work }
    var lane: JobLane { .steps }
    func run() -> (any QueueJob)? { store.session.run(self, on: store) }
    func whenReady(_ resume: @escaping @Sendable () -> Void) -> Bool { store.session.awaitStores([], resume) }
}

/// A step of launched work.
final class StepJob: TurnJob {
    let store: SessionStore
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
        _ context: WorkContext, on store: SessionStore, inputs: TurnInputs? = nil, runTurn: @escaping RunTurn,
        trace: ServiceContext?, completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        self.context = context
        self.store = store
        intentID = context.origin.intentID
        token = context.token
        principal = context.origin.principal
        self.inputs = inputs
        (self.runTurn, self.trace) = (runTurn, trace)
        self.completion = completion
    }

    func again(with progress: TurnProgress) -> any QueueJob {
        guard let inputs = progress.inputs else { return self }
        return StepJob(context, on: store, inputs: inputs, runTurn: runTurn, trace: trace, completion: completion)
    }

    func finished(_ result: JobResult, isSettled: Bool) { completion(result.outcome.thrown) }

    func end(_ error: StoreError) {
        // The store's end is no error of its work; anything else is the step's.
        let isEnd = error.code == .disposed || error.code == .gone
        if isEnd { store.scope.note { $0.droppedAfterEnd += 1 } }
        completion(isEnd ? nil : error)
    }
}

/// A throw to be handed to `onFailure`, in a turn of its own.
final class FailureJob: TurnJob {
    let store: SessionStore
    let intentID: IntentID
    var token: WorkToken? { work?.token }
    let principal: Principal?
    let inputs: TurnInputs?
    let runTurn: RunTurn
    var trace: ServiceContext? { work?.origin.trace }
    private let work: WorkContext?
    var isFailureTurn: Bool { true }
    private let failure: Failure
    /// Called once, when the turn is over or never will be.
    private let then: (@Sendable () -> Void)?

    /// - Parameter work: the launched work that failed; nil if it was a handler.
    init(
        _ failure: Failure, of work: WorkContext?, on store: SessionStore, principal: Principal?,
        inputs: TurnInputs? = nil, then: (@Sendable () -> Void)? = nil
    ) {
        (self.principal, self.inputs) = (principal, inputs)
        self.store = store
        self.failure = failure
        intentID = failure.intentID
        self.work = work
        runTurn = { [origin = work?.origin] in $0.onFailure(failure, of: origin, $1) }
        self.then = then
    }

    func again(with progress: TurnProgress) -> any QueueJob {
        guard let inputs = progress.inputs else { return self }
        return FailureJob(failure, of: work, on: store, principal: principal, inputs: inputs, then: then)
    }

    func finished(_ result: JobResult, isSettled: Bool) {
        // An action that `onFailure` sent: reported, but not handed to it once more.
        if let error = result.outcome.thrown {
            store.scope.report(
                Failure(stage: failure.stage, intentID: intentID, intent: failure.intent, error: error), on: store)
        }
        then?()
    }

    func end(_ error: StoreError) {
        if error.code == .busy { store.scope.note { $0.droppedFailures += 1 } }
        then?()
    }
}
