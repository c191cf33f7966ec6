/// What waits in a store's queue.
enum Job<F: Feature>: Sendable {
    case bootstrap(Life)
    case intent(IntentJob<F>)
    case step(StepJob<F>)
    case failure(Failure, then: (@Sendable () -> Void)?)

    /// Tells whoever waits that the job will never run.
    func drop() {
        switch self {
        case .bootstrap: break
        case .intent(let job): job.completion(.failure(.disposed))
        case .step(let job): job.completion(nil)
        case .failure(_, let then): then?()
        }
    }
}

/// An accepted intent.
struct IntentJob<F: Feature>: Sendable {
    let intent: F.Intent
    let id: IntentID
    let precondition: IntentPrecondition?
    let attachment: (any Sendable)?
    let completion: @Sendable (Result<IntentOutcome, IntentRejection>) -> Void
}

/// A step of launched work.
struct StepJob<F: Feature>: Sendable {
    let token: WorkToken
    let intentID: IntentID
    let body: @Sendable (inout Turn<F>) throws -> Void
    /// Called once: with what the step threw, or nil when it is committed or dropped.
    let completion: @Sendable ((any Error)?) -> Void
}
