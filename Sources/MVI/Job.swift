/// What waits in a store's queue.
@usableFromInline
enum Job<F: Feature>: Sendable {
    case bootstrap(Life)
    case intent(IntentJob<F>)
    case step(StepJob<F>)
    case failure(FailureJob)

    @usableFromInline var isBootstrap: Bool {
        if case .bootstrap = self { true } else { false }
    }

    /// Tells whoever waits that the job will never run.
    @usableFromInline
    func refuse(_ rejection: IntentRejection) {
        switch self {
        case .bootstrap: break
        case .intent(let job): job.completion(.failure(rejection))
        case .step(let job): job.completion(nil)
        case .failure(let job): job.then?()
        }
    }
}

/// An accepted intent.
@usableFromInline
struct IntentJob<F: Feature>: Sendable {
    @usableFromInline let intent: F.Intent
    @usableFromInline let id: IntentID
    @usableFromInline let precondition: IntentPrecondition?
    @usableFromInline let attachment: (any AnyObject & Sendable)?
    @usableFromInline let completion: @Sendable (Result<IntentOutcome, IntentRejection>) -> Void

    @inlinable
    init(
        intent: F.Intent, id: IntentID, precondition: IntentPrecondition?, attachment: (any AnyObject & Sendable)?,
        completion: @escaping @Sendable (Result<IntentOutcome, IntentRejection>) -> Void
    ) {
        self.intent = intent
        self.id = id
        self.precondition = precondition
        self.attachment = attachment
        self.completion = completion
    }
}

/// A step of launched work.
@usableFromInline
struct StepJob<F: Feature>: Sendable {
    @usableFromInline let token: WorkToken
    @usableFromInline let intentID: IntentID
    @usableFromInline let body: @Sendable (inout Turn<F>) throws -> Void
    /// Called once: with what the step threw, or nil when it is committed or dropped.
    @usableFromInline let completion: @Sendable ((any Error)?) -> Void
}

/// A throw to be handed to `onFailure`.
@usableFromInline
struct FailureJob: Sendable {
    @usableFromInline let failure: Failure
    /// The work that threw; nil if it was not launched work.
    @usableFromInline var token: WorkToken?
    /// Called once, when the turn is over or never will be.
    @usableFromInline var then: (@Sendable () -> Void)?

    @inlinable
    init(failure: Failure, token: WorkToken? = nil, then: (@Sendable () -> Void)? = nil) {
        self.failure = failure
        self.token = token
        self.then = then
    }
}
