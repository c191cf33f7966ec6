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
    package var refusal: StoreError? { if case .failed = self { nil } else { error } }

    /// The throw to report; nil if there is none, or if the job reports it.
    package var reported: Failure? {
        switch self {
        case .failed(_, _, let failure): failure
        case .unjudged(_, let failure): failure
        case .ran, .refused, .unavailable, .needsStore, .dropped, .elsewhere, .replayed: nil
        }
    }

    /// The error that a step of launched work throws; nil if none.
    package var thrown: (any Error)? {
        if case .failed(_, let thrown, _) = self { thrown } else { error }
    }
}

/// The result of a handler's run, and the parts of it to keep, as bytes if the host keeps bytes. A class, since it is
/// passed on several times.
@usableFromInline
package final class TurnResult: Sendable {
    package let outcome: TurnOutcome
    /// The state as it is kept; nil if it is that of the turn before.
    package let state: [UInt8]?
    /// The view state as clients are shown it; nil if it is that of the turn before.
    package let view: [UInt8]?
    /// In order.
    package let labels: [EncodedLabel]
    /// Reminders to set and to forget, in order; nil if there are none.
    @usableFromInline package let reminders: [EncodedReminder]?
    /// The recording as JSON; nil unless turns are recorded.
    package let recording: [UInt8]?
    /// The effects after the commit, in order.
    package let effects: [Effect]
    /// Intents for other stores of the session, which run directly after it.
    package let sends: [SiblingIntent]
    /// Tells observers; nil if there are none, or nothing to tell.
    package let observe: (@Sendable () -> Void)?
    /// Runs the intent again as interceptors left it; nil if there are none.
    package let judged: RunTurn?
    /// The time and UUIDs that it used; nil if none.
    package let inputs: TurnInputs?

    /// A turn that ran, as its host keeps it.
    @inlinable
    package convenience init<F>(
        _ turn: borrowing Turn<F>, state: [UInt8]? = nil, view: [UInt8]? = nil, labels: [EncodedLabel] = [],
        reminders: [EncodedReminder]? = nil, recording: [UInt8]? = nil
    ) {
        self.init(
            state, view, labels, reminders, recording, turn.effects, turn.rare?.sends ?? [], turn.rare?.observe,
            turn.rare?.judged, turn.rare?.inputs)
    }

    @usableFromInline
    init(
        _ state: [UInt8]?, _ view: [UInt8]?, _ labels: [EncodedLabel], _ reminders: [EncodedReminder]?,
        _ recording: [UInt8]?, _ effects: [Effect], _ sends: [SiblingIntent], _ observe: (@Sendable () -> Void)?,
        _ judged: RunTurn?, _ inputs: TurnInputs?
    ) {
        outcome = .ran
        (self.state, self.view, self.labels, self.reminders) = (state, view, labels, reminders)
        (self.recording, self.effects, self.sends) = (recording, effects, sends)
        (self.observe, self.judged, self.inputs) = (observe, judged, inputs)
    }

    /// A turn of which nothing is kept.
    @usableFromInline
    package init(
        _ outcome: TurnOutcome, observe: (@Sendable () -> Void)? = nil, judged: RunTurn? = nil,
        inputs: TurnInputs? = nil
    ) {
        (self.outcome, self.observe, self.judged, self.inputs) = (outcome, observe, judged, inputs)
        (state, view, labels, reminders, recording, effects, sends) = (nil, nil, [], nil, nil, [], [])
    }

    /// The same with what its chain got of time and chance, or as it was judged in an earlier run.
    package init(_ turn: TurnResult, judged: RunTurn?, inputs: TurnInputs?) {
        (outcome, state, view, labels) = (turn.outcome, turn.state, turn.view, turn.labels)
        (reminders, recording, effects) = (turn.reminders, turn.recording, turn.effects)
        (sends, observe, self.judged, self.inputs) = (turn.sends, turn.observe, judged, inputs)
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

/// The context of a turn, beside its store's state.
@usableFromInline
package struct TurnContext: Sendable {
    /// The context that few turns need; other turns pass one empty reference.
    @usableFromInline
    final class Rare: Sendable {
        @usableFromInline let principal: Principal?
        let inputs: TurnInputs?
        let failures: [String: StoreError]
        let trace: ServiceContext?
        let isSent: Bool

        init(
            _ principal: Principal?, _ inputs: TurnInputs?, _ failures: [String: StoreError], _ trace: ServiceContext?,
            isSent: Bool
        ) {
            (self.principal, self.inputs, self.failures, self.trace) = (principal, inputs, failures, trace)
            self.isSent = isSent
        }
    }

    @usableFromInline package let intentID: IntentID
    @usableFromInline let host: any TurnHost
    /// The effects of the batch's earlier turns of the store.
    @usableFromInline package var earlier: [Effect]
    @usableFromInline let rare: Rare?

    package init(
        _ intentID: IntentID, _ host: any TurnHost, principal: Principal? = nil, earlier: [Effect] = [],
        inputs: TurnInputs? = nil, failures: [String: StoreError] = [:], trace: ServiceContext? = nil,
        isSent: Bool = false
    ) {
        (self.intentID, self.host, self.earlier) = (intentID, host, earlier)
        let isPlain = principal == nil && inputs == nil && failures.isEmpty && trace == nil && !isSent
        rare = isPlain ? nil : Rare(principal, inputs, failures, trace, isSent: isSent)
    }

    /// The caller who sent the intent.
    @inlinable package var principal: Principal? { rare?.principal }
    /// The time and UUIDs of the turn's first run; nil in the first run.
    @usableFromInline package var inputs: TurnInputs? { rare?.inputs }
    /// The errors of other stores that are unavailable, by instance, for a turn that runs again.
    package var failures: [String: StoreError] { rare?.failures ?? [:] }
    /// The span that the turn runs in; nil where nothing is traced.
    @usableFromInline package var trace: ServiceContext? { rare?.trace }
    /// True if another store's turn sent the intent or the action.
    @usableFromInline package var isSent: Bool { rare?.isSent ?? false }

    /// The same, but for what is given.
    package func with(
        inputs: TurnInputs? = nil, failures: [String: StoreError]? = nil, trace: ServiceContext? = nil
    ) -> TurnContext {
        TurnContext(
            intentID, host, principal: principal, earlier: earlier, inputs: inputs ?? self.inputs,
            failures: failures ?? self.failures, trace: trace ?? self.trace, isSent: isSent)
    }
}
