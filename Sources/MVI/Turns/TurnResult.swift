import Tracing

/// The outcome of a turn: one from the handler's run to the answer.
@usableFromInline
package enum TurnOutcome: Sendable {
    /// It ran to its end. Also that of a job that is no turn and did what it should.
    case ran
    /// An author's code, an access rule, a precondition or a bound said no. Nothing of it is kept.
    case refused(StoreError)
    /// An interceptor threw something else than a `Refusal`. Its intent is refused, and the throw reported.
    case unjudged(StoreError, Failure)
    /// Its code threw, or what it made cannot be kept: the error that the job's caller is told, what was thrown, and the report
    /// for the log and the feature's `onFailure`. The report is nil for a step of launched work and for a call of
    /// `onFailure`, which have an owner that reports.
    case failed(StoreError, thrown: any Error, Failure?)
    /// A store that it needs cannot be had here, or not now. No fault of the turn's.
    case unavailable(StoreError)
    /// It needs a store that is not in memory. It runs again when that is, and nothing of this run counts.
    case needsStore(String)
    /// Its store, or the work that it is a step of, was gone when its turn came.
    case dropped
    /// Another node runs the session's turns.
    case elsewhere(StoreError)
    /// It ran before. Its receipt is the answer.
    case replayed

    /// The error that the job's caller is told; nil if there is none.
    package var error: StoreError? {
        switch self {
        case .ran, .dropped, .replayed, .needsStore: nil
        case .refused(let error), .unjudged(let error, _), .unavailable(let error), .elsewhere(let error): error
        case .failed(let error, _, _): error
        }
    }

    /// The error of a turn that was not run to its end through no fault of its own code; nil if it was, or failed.
    package var refusal: StoreError? {
        switch self {
        case .refused(let error), .unjudged(let error, _), .unavailable(let error), .elsewhere(let error): error
        case .ran, .failed, .needsStore, .dropped, .replayed: nil
        }
    }

    /// The throw to report; nil if there is none, or if the job reports it.
    package var reported: Failure? {
        switch self {
        case .failed(_, _, let failure): failure
        case .unjudged(_, let failure): failure
        case .ran, .refused, .unavailable, .needsStore, .dropped, .elsewhere, .replayed: nil
        }
    }

    /// What a step of launched work throws; nil if nothing.
    package var thrown: (any Error)? {
        if case .failed(_, let thrown, _) = self { thrown } else { error }
    }
}

/// What a handler's run led to, and what is to be kept of it: as bytes, where the store's host keeps bytes.
@usableFromInline
package struct TurnResult: Sendable {
    @usableFromInline package var outcome: TurnOutcome
    /// The state as it is kept; nil if it is that of the turn before.
    @usableFromInline package var state: [UInt8]?
    /// The view state as clients are shown it; nil if it is that of the turn before.
    @usableFromInline package var view: [UInt8]?
    /// In order.
    @usableFromInline package var labels: [EncodedLabel] = []
    /// Reminders to set and to forget, in order; nil if there are none.
    @usableFromInline package var reminders: [EncodedReminder]?
    /// What happened in it as JSON; nil unless that is recorded.
    @usableFromInline package var recording: [UInt8]?
    /// What to do after the commit, in order.
    @usableFromInline package var effects: [Effect] = []
    /// Intents for other stores of the session, which run directly after it.
    @usableFromInline package var sends: [SiblingIntent] = []
    /// Tells observers; nil if there are none, or nothing to tell.
    @usableFromInline package var observe: (@Sendable () -> Void)?
    /// Runs the intent again as interceptors left it; nil if there are none.
    @usableFromInline package var judged: RunTurn?
    /// What it got of time and chance; nil if nothing.
    @usableFromInline package var inputs: TurnInputs?

    /// A turn of which nothing is to be kept yet.
    @usableFromInline
    package init(
        _ outcome: TurnOutcome, observe: (@Sendable () -> Void)? = nil, judged: RunTurn? = nil,
        inputs: TurnInputs? = nil
    ) {
        (self.outcome, self.observe, self.judged, self.inputs) = (outcome, observe, judged, inputs)
    }

    /// The result of a turn on a store of another feature: two features would have to have one name.
    @usableFromInline static let ofAnotherFeature = TurnResult(
        .unavailable(StoreError(.failed, "The store is another feature's.")))

    /// The turn of a chain that did not run to its end: nothing of it is kept.
    package func undone(_ outcome: TurnOutcome) -> TurnResult { TurnResult(outcome, judged: judged, inputs: inputs) }
}

/// Runs a handler on the working copy of a store of its feature: after a conflict that may be another store than before.
/// Made where the feature's type is known.
@usableFromInline
package typealias RunTurn = @Sendable (any StoreRunner, TurnContext) -> TurnResult

/// Runs the asynchronous check of an intent on a store of its feature. Returns the turn to enqueue, also for an intent that it
/// refuses or fails at.
@usableFromInline
package typealias PendingCheck = @Sendable (any StoreRunner, TurnContext) async -> RunTurn

/// A label as JSON, and how long it waits for a client.
@usableFromInline
package typealias EncodedLabel = (json: [UInt8], timeToLive: Duration)

/// What a turn runs in, beside its store's state.
@usableFromInline
package struct TurnContext: Sendable {
    @usableFromInline package let intentID: IntentID
    @usableFromInline let host: any TurnHost
    /// Who sent the intent that led to the turn.
    @usableFromInline package let principal: Principal?
    /// Whether another store's turn sent the intent or the action.
    @usableFromInline package let isSent: Bool
    /// The span that the turn runs in; nil where nothing is traced.
    @usableFromInline package internal(set) var trace: ServiceContext?
    /// What the batch's earlier turns of the store ask for.
    @usableFromInline package var earlier: [Effect] = []
    /// What the turn got of time and chance when it ran before; nil if it did not.
    @usableFromInline package var inputs: TurnInputs?
    /// Why other stores of the session cannot be had, by instance: a turn that runs again is told.
    package var failures: [String: StoreError] = [:]

    package init(
        _ intentID: IntentID, _ host: any TurnHost, principal: Principal? = nil, inputs: TurnInputs? = nil,
        trace: ServiceContext? = nil, isSent: Bool = false
    ) {
        (self.intentID, self.host, self.principal) = (intentID, host, principal)
        (self.inputs, self.trace, self.isSent) = (inputs, trace, isSent)
    }
}
