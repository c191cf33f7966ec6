/// Where a store lives: a session's place for it, or the store on its own.
package protocol StoreHost: AnyObject, Sendable {
    var scope: StoreScope { get }
    var runner: any StoreRunner { get }
    /// Takes a job of the store's own: a step of launched work, or the turn of a failure.
    func enqueue(_ job: any TurnJob)
    /// Runs a handler as the next turn of the host's batch, and adds what it led to; false, and nothing is run, if it has
    /// to wait for something first. Only the queue's runner calls it.
    func run(_ job: any TurnJob) -> Bool
}

/// What a host asks of a store's runner, whatever its feature; see `TurnRunner`.
@usableFromInline
package protocol StoreRunner: AnyObject, Sendable {
    /// The turn of `bootstrap`.
    func bootstrap(_ reason: StartReason) -> RunTurn
    /// The turn of `onFailure`. `origin` is that of the launched work which failed; nil if none did.
    func onFailure(_ failure: Failure, of origin: WorkOrigin?) -> RunTurn
    /// Takes the batch's working copy for the head.
    func commit()
    /// Forgets the batch's working copy.
    func rollBack()
    /// Tells observers what is no part of a turn.
    func observe(failure: Failure)
    func observeEnd()
    func addObserverCounts(to diagnostics: inout StoreDiagnostics)
}

/// A job that is a turn of one store.
package protocol TurnJob: QueueJob {
    var host: any StoreHost { get }
    var intentID: IntentID { get }
    /// The launched work that it belongs to; nil if it belongs to none. It is dropped once that is over.
    var token: WorkToken? { get }
    var runTurn: RunTurn { get }
}

extension TurnJob {
    package var lane: JobLane { .steps }
    package func run() -> Bool { host.run(self) }
}

/// A step of launched work.
final class StepJob: TurnJob {
    let host: any StoreHost
    let intentID: IntentID
    let token: WorkToken?
    let runTurn: RunTurn
    /// Called once: with what the step threw, or nil when it is committed or dropped.
    private let completion: @Sendable ((any Error)?) -> Void

    init(_ context: WorkContext, runTurn: @escaping RunTurn, completion: @escaping @Sendable ((any Error)?) -> Void) {
        host = context.host
        intentID = context.origin.intentID
        token = context.token
        self.runTurn = runTurn
        self.completion = completion
    }

    func finished(_ result: JobResult, isSettled: Bool) { completion(result.turn?.trouble?.stepError) }

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
    package let runTurn: RunTurn
    private let work: WorkContext?
    package var isFailureTurn: Bool { true }
    private let failure: Failure
    /// Called once, when the turn is over or never will be.
    private let then: (@Sendable () -> Void)?

    /// - Parameter work: the launched work that failed; nil if it was a handler.
    package init(
        _ failure: Failure, of work: WorkContext?, on host: any StoreHost, then: (@Sendable () -> Void)? = nil
    ) {
        self.host = host
        self.failure = failure
        intentID = failure.intentID
        self.work = work
        runTurn = host.runner.onFailure(failure, of: work?.origin)
        self.then = then
    }

    package func finished(_ result: JobResult, isSettled: Bool) {
        // An action that `onFailure` sent: reported, but not handed to it once more.
        if let error = result.turn?.trouble?.stepError {
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
