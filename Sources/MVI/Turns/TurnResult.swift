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
    /// Its code threw, or what it made cannot be kept.
    case failed(TurnFailure)
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
        case .failed(let failure): failure.error
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
        case .failed(let failure): failure.failure
        case .unjudged(_, let failure): failure
        case .ran, .refused, .unavailable, .needsStore, .dropped, .elsewhere, .replayed: nil
        }
    }

    /// What a step of launched work throws; nil if nothing.
    package var thrown: (any Error)? {
        if case .failed(let failure) = self { failure.thrown } else { error }
    }
}

/// A turn's throw, or the reason that its result cannot be kept.
@usableFromInline
package final class TurnFailure: Sendable {
    /// The error that the job's caller is told.
    package let error: StoreError
    /// What was thrown.
    package let thrown: any Error
    /// The report for the log and the feature's `onFailure`; nil for a step of launched work and for a call of
    /// `onFailure`, which have an owner that reports.
    package let failure: Failure?

    @usableFromInline
    package init(error: StoreError, thrown: any Error, failure: Failure?) {
        (self.error, self.thrown, self.failure) = (error, thrown, failure)
    }
}

/// What a handler's run led to. A class, since it is handed on several times.
@usableFromInline
package final class TurnResult: Sendable {
    package let outcome: TurnOutcome
    package let output: TurnOutput
    /// What to do after the commit, in order.
    package let effects: [Effect]
    /// Tells observers; nil if there are none, or nothing to tell.
    package let observe: (@Sendable () -> Void)?
    /// Runs the intent again as interceptors left it; nil if there are none.
    package let judged: RunTurn?
    /// Intents for other stores of the session, which run directly after it.
    package let sends: [SiblingIntent]
    /// What it got of time and chance; nil if nothing.
    package let inputs: TurnInputs?

    @usableFromInline
    init(
        _ outcome: TurnOutcome, output: consuming TurnOutput = TurnOutput(), effects: [Effect] = [],
        observe: (@Sendable () -> Void)? = nil, judged: RunTurn? = nil, sends: [SiblingIntent] = [],
        inputs: TurnInputs? = nil
    ) {
        (self.outcome, self.output, self.effects) = (outcome, output, effects)
        (self.observe, self.judged) = (observe, judged)
        (self.sends, self.inputs) = (sends, inputs)
    }

    /// The result of a handler that was not run.
    package convenience init(notRun outcome: TurnOutcome) { self.init(outcome) }

    /// The result of a turn on a store of another feature: two features would have to have one name.
    @usableFromInline static let ofAnotherFeature = TurnResult(
        notRun: .unavailable(StoreError(.failed, "The store is another feature's.")))

    /// The same with what its chain got of time and chance.
    package func with(_ inputs: TurnInputs) -> TurnResult {
        TurnResult(
            outcome, output: output, effects: effects, observe: observe, judged: judged,
            sends: sends, inputs: inputs)
    }

    /// The same with an intent that interceptors judged in an earlier run.
    package func with(judged: RunTurn?) -> TurnResult {
        guard self.judged == nil, judged != nil else { return self }
        return TurnResult(
            outcome, output: output, effects: effects, observe: observe, judged: judged, sends: sends, inputs: inputs)
    }

    /// The turn of a chain that did not run to its end: nothing of it is kept.
    package func undone(_ outcome: TurnOutcome) -> TurnResult {
        TurnResult(outcome, judged: judged, inputs: inputs)
    }
}

/// Runs a handler on the working copy of a store of its feature: after a conflict that may be another store than before.
/// Made where the feature's type is known.
@usableFromInline
package typealias RunTurn = @Sendable (any StoreRunner, TurnContext) -> TurnResult

/// What a turn made, as bytes where its store's host keeps bytes.
@usableFromInline
package struct TurnOutput: Sendable {
    /// Whether the turn dispatched messages: if not, the state is that of the turn before.
    @usableFromInline package var isStateChanged = false
    /// Whether the view state differs from that of the turn before.
    @usableFromInline package var isViewChanged = false
    /// The state as it is kept.
    @usableFromInline package var state: [UInt8]?
    /// The view state as clients are shown it.
    @usableFromInline package var view: [UInt8]?
    /// In order.
    @usableFromInline package var labels: [EncodedLabel] = []
    /// Reminders to set and to forget, in order; nil if there are none.
    @usableFromInline package var reminders: [EncodedReminder]?
    /// What happened in it as JSON; nil unless that is recorded.
    @usableFromInline package var recording: [UInt8]?

    @usableFromInline
    package init() {}
}

/// A label as JSON, and how long it waits for a client.
@usableFromInline
package typealias EncodedLabel = (json: [UInt8], timeToLive: Duration)

/// What a turn runs in, beside its store's state.
@usableFromInline
package struct TurnContext: Sendable {
    @usableFromInline let intentID: IntentID
    @usableFromInline let host: any TurnHost
    /// What the batch's earlier turns of the store ask for.
    @usableFromInline let earlier: [Effect]
    /// What hardly any turn has.
    @usableFromInline let extras: TurnExtras?

    package init(
        _ intentID: IntentID, _ host: any TurnHost, earlier: [Effect], principal: Principal? = nil,
        inputs: TurnInputs? = nil, failures: [String: StoreError] = [:], trace: ServiceContext? = nil,
        isSent: Bool = false
    ) {
        self.intentID = intentID
        self.host = host
        self.earlier = earlier
        let isPlain = principal == nil && inputs == nil && failures.isEmpty && trace == nil && !isSent
        extras = isPlain ? nil : TurnExtras(principal, inputs, failures, trace, isSent)
    }

    /// The same in a span of its own.
    func with(trace: ServiceContext) -> TurnContext {
        TurnContext(
            intentID, host, earlier: earlier, principal: principal, inputs: extras?.inputs,
            failures: extras?.failures ?? [:], trace: trace, isSent: isSent)
    }

    /// The span that the turn runs in; nil where nothing is traced.
    @usableFromInline var trace: ServiceContext? { extras?.trace }

    /// Whether a turn of another store of the session sent the intent or the action.
    @usableFromInline var isSent: Bool { extras?.isSent ?? false }

    /// Who sent the intent that led to the turn.
    @inlinable var principal: Principal? { extras?.principal }
}

/// What hardly any turn runs in. A class, so that other turns have one empty reference to pass on.
@usableFromInline
package final class TurnExtras: Sendable {
    @usableFromInline let principal: Principal?
    /// What the turn got of time and chance when it ran before; nil if it did not.
    let inputs: TurnInputs?
    /// Why other stores of the session cannot be had, by instance: a turn that runs again is told.
    let failures: [String: StoreError]
    let trace: ServiceContext?
    /// Whether another store's turn led to it.
    let isSent: Bool

    init(
        _ principal: Principal?, _ inputs: TurnInputs?, _ failures: [String: StoreError], _ trace: ServiceContext?,
        _ isSent: Bool
    ) {
        (self.principal, self.inputs, self.failures, self.trace) = (principal, inputs, failures, trace)
        self.isSent = isSent
    }
}
