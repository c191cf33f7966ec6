import MVI
import Tracing

/// A turn that a store asks for itself: a step of launched work, or a failure turn.
final class StoreJob: QueueJob {
    let store: SessionStore
    let context: TurnContext
    let turn: RunTurn
    /// Its launched work; nil if it belongs to none. The turn is dropped once the work is over.
    let token: WorkToken?
    let isFailureTurn: Bool
    /// Called once, when the turn is over or will never run.
    private let done: @Sendable (Result<TurnOutcome, StoreError>) -> Void

    private init(
        _ store: SessionStore, _ context: TurnContext, _ turn: @escaping RunTurn, _ token: WorkToken?,
        isFailureTurn: Bool, done: @escaping @Sendable (Result<TurnOutcome, StoreError>) -> Void
    ) {
        (self.store, self.context, self.turn, self.token) = (store, context, turn, token)
        (self.isFailureTurn, self.done) = (isFailureTurn, done)
    }

    /// A step of launched work.
    ///
    /// - Parameter completion: called once: with the step's error, or nil when it is committed or dropped.
    convenience init(
        step turn: @escaping RunTurn, of work: WorkContext, on store: SessionStore, trace: ServiceContext?,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        let origin = work.origin
        var context = TurnContext(origin.intentID, store, principal: origin.principal, trace: trace)
        // Others may wait for it.
        if store.isObserving, store.isObservation(work.token) { context = context.readingAtOnce }
        self.init(store, context, turn, work.token, isFailureTurn: false) { result in
            switch result {
            case .success(let outcome): completion(outcome.thrown)
            // The store's end is no error of its work; anything else is the step's.
            case .failure(let error) where error.code == .disposed || error.code == .gone:
                store.note { $0.droppedAfterEnd += 1 }
                completion(nil)
            case .failure(let error): completion(error)
            }
        }
    }

    /// A throw to be passed to `onFailure`, in a turn of its own.
    ///
    /// - Parameters:
    ///   - work: the launched work that failed; nil if it was a handler.
    ///   - then: called once, when the turn is over or will never run.
    convenience init(
        _ failure: Failure, of work: WorkContext?, on store: SessionStore, principal: Principal?,
        then: (@Sendable () -> Void)? = nil
    ) {
        let origin = work?.origin
        let context = TurnContext(failure.intentID, store, principal: principal, trace: origin?.trace).readingAtOnce
        let turn: RunTurn = { $0.onFailure(failure, of: origin, $1) }
        self.init(store, context, turn, work?.token, isFailureTurn: true) { result in
            switch result {
            case .success(let outcome):
                // An action that `onFailure` sent: reported, but not passed to it once more.
                if let error = outcome.thrown {
                    store.tell(
                        Failure(
                            stage: failure.stage, intentID: failure.intentID, intent: failure.intent, error: error))
                }
            case .failure(let error):
                if error.code == .busy { store.note { $0.droppedFailures += 1 } }
            }
            then?()
        }
    }

    var kind: TurnKind { .work }
    var lane: JobLane { .steps }

    func run() -> WaitingJob? { store.session.run(self) }

    func retry(_ inputs: TurnInputs?, _ judged: RunTurn?, onKept: Bool) -> any QueueJob {
        guard let inputs else { return self }
        return StoreJob(store, context.with(inputs: inputs), turn, token, isFailureTurn: isFailureTurn, done: done)
    }

    func finished(_ result: JobResult, isSettled: Bool) { done(.success(result.outcome)) }
    func end(_ error: StoreError) { done(.failure(error)) }
}
