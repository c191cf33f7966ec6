import Tracing

/// The outcome of a turn.
@usableFromInline
package enum TurnOutcome: Sendable {
    /// The turn completed. Also the outcome of a successful job that is not a turn.
    case ran
    /// The author's code, an access rule, a precondition or a limit refused the turn. Nothing is kept.
    case refused(StoreError)
    /// An interceptor threw an error other than a `Refusal`. The intent is refused and the error reported.
    case unjudged(StoreError, Failure)
    /// The turn threw, or its result cannot be stored: the error for the job's caller, the thrown error, and the report
    /// for the log and the feature's `onFailure`. The report is nil for steps of launched work and calls of
    /// `onFailure`, whose owner reports the error.
    case failed(StoreError, thrown: any Error, Failure?)
    /// Another store that the turn needs is not available. The turn is not at fault.
    case unavailable(StoreError)
    /// The turn needs a store that is not in memory. It runs again when the store is ready; this run has no effect.
    case needsStore(String)
    /// The store, or the work of the step, had ended before the turn ran.
    case dropped
    /// Another node owns the session.
    case elsewhere(StoreError)
    /// The turn ran before. Its receipt is the answer.
    case replayed

    /// The error for the job's caller; nil if there is none.
    package var error: StoreError? {
        switch self {
        case .ran, .dropped, .replayed, .needsStore: nil
        case .refused(let error), .unjudged(let error, _), .unavailable(let error), .elsewhere(let error): error
        case .failed(let error, _, _): error
        }
    }

    /// The error of a turn that did not complete for reasons outside its code; nil if it completed or failed.
    package var refusal: StoreError? { if case .failed = self { nil } else { error } }

    /// The failure to report; nil if there is none, or if the job reports it.
    package var reported: Failure? {
        switch self {
        case .failed(_, _, let failure): failure
        case .unjudged(_, let failure): failure
        case .ran, .refused, .unavailable, .needsStore, .dropped, .elsewhere, .replayed: nil
        }
    }

    /// The error that a step of launched work throws; nil if there is none.
    package var thrown: (any Error)? {
        if case .failed(_, let thrown, _) = self { thrown } else { error }
    }
}

/// The result of a turn, as bytes if the store's host stores bytes. A class, since it is passed on several times.
@usableFromInline
package final class TurnResult: Sendable {
    package let outcome: TurnOutcome
    /// The stored form of the state; nil if the turn did not change it.
    package let state: [UInt8]?
    /// The view state as JSON for clients; nil if the turn did not change it.
    package let view: [UInt8]?
    /// The labels, in order.
    package let labels: [EncodedLabel]
    /// The reminders to set and cancel, in order; nil if there are none.
    @usableFromInline package let reminders: [EncodedReminder]?
    /// The recording as JSON; nil unless turns are recorded.
    package let recording: [UInt8]?
    /// The actions to perform after the commit, in order.
    package let effects: [Effect]
    /// The intents for other stores of the session, which run directly after the turn.
    package let sends: [SiblingIntent]
    /// Notifies observers; nil if there is nothing to report.
    package let observe: (@Sendable () -> Void)?
    /// Runs the intent again as interceptors left it; nil without interceptors.
    package let judged: RunTurn?
    /// The time and UUIDs that the turn used; nil if none.
    package let inputs: TurnInputs?

    /// Creates the result of a completed turn.
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

    /// Creates the result of a turn without effects.
    @usableFromInline
    package init(
        _ outcome: TurnOutcome, observe: (@Sendable () -> Void)? = nil, judged: RunTurn? = nil,
        inputs: TurnInputs? = nil, recording: [UInt8]? = nil
    ) {
        (self.outcome, self.observe, self.judged, self.inputs) = (outcome, observe, judged, inputs)
        self.recording = recording
        (state, view, labels, reminders, effects, sends) = (nil, nil, [], nil, [], [])
    }

    /// Creates a copy with the inputs of a chain, or with the interceptors' result of an earlier run.
    package init(_ turn: TurnResult, judged: RunTurn?, inputs: TurnInputs?) {
        (outcome, state, view, labels) = (turn.outcome, turn.state, turn.view, turn.labels)
        (reminders, recording, effects) = (turn.reminders, turn.recording, turn.effects)
        (sends, observe, self.judged, self.inputs) = (turn.sends, turn.observe, judged, inputs)
    }

    /// The result of a turn on a store of another feature, which happens only if two features have the same name.
    @usableFromInline static let ofAnotherFeature = TurnResult(
        .unavailable(StoreError(.failed, "The store belongs to another feature.")))

    /// Returns the result for a turn whose chain did not complete: nothing is kept.
    package func undone(_ outcome: TurnOutcome) -> TurnResult { TurnResult(outcome, judged: judged, inputs: inputs) }
}

/// Runs a handler on the working copy of a store, which may be a new store object after a conflict. Created where the
/// feature's type is known.
@usableFromInline
package typealias RunTurn = @Sendable (any StoreRunner, TurnContext) -> TurnResult

/// Runs the asynchronous check of an intent. Returns the turn to enqueue, also if the check refuses the intent or
/// fails.
@usableFromInline
package typealias PendingCheck = @Sendable (any StoreRunner, TurnContext) async -> RunTurn

/// A label as JSON, the time that it is kept for clients, and its addressee; nil if it is for everyone.
@usableFromInline
package typealias EncodedLabel = (json: [UInt8], timeToLive: Duration, to: LabelAddressee?)

/// The context of a turn, without its store's state.
@usableFromInline
package struct TurnContext: Sendable {
    /// Data that few turns have; other turns carry only a nil reference.
    @usableFromInline
    final class Rare: Sendable {
        @usableFromInline let principal: Principal?
        let inputs: TurnInputs?
        let failures: [String: StoreError]
        let trace: ServiceContext?
        let isSent: Bool
        let by: UInt64?
        let sender: Sender?
        let settings: ClientSettings?
        let readsAtOnce: Bool
        let message: MessageOrigin?

        init(
            _ principal: Principal?, _ inputs: TurnInputs?, _ failures: [String: StoreError], _ trace: ServiceContext?,
            isSent: Bool, by: UInt64?, _ sender: Sender?, _ settings: ClientSettings?, _ message: MessageOrigin?,
            readsAtOnce: Bool = false
        ) {
            (self.principal, self.inputs, self.failures, self.trace) = (principal, inputs, failures, trace)
            (self.isSent, self.by, self.sender, self.readsAtOnce) = (isSent, by, sender, readsAtOnce)
            (self.settings, self.message) = (settings, message)
        }
    }

    @usableFromInline package let intentID: IntentID
    @usableFromInline let host: any TurnHost
    /// The effects of the batch's earlier turns of the store.
    @usableFromInline package var earlier: [Effect]
    @usableFromInline let rare: Rare?
    private let origin: (any ClientOrigin)?

    package init(
        _ intentID: IntentID, _ host: any TurnHost, principal: Principal? = nil, earlier: [Effect] = [],
        inputs: TurnInputs? = nil, failures: [String: StoreError] = [:], trace: ServiceContext? = nil,
        isSent: Bool = false, by: UInt64? = nil, sender: Sender? = nil, settings: ClientSettings? = nil,
        origin: (any ClientOrigin)? = nil, message: MessageOrigin? = nil
    ) {
        (self.intentID, self.host, self.earlier, self.origin) = (intentID, host, earlier, origin)
        let isPlain =
            principal == nil && inputs == nil && failures.isEmpty && trace == nil && !isSent && by == nil
            && sender == nil && settings == nil && message == nil
        rare =
            isPlain
            ? nil : Rare(principal, inputs, failures, trace, isSent: isSent, by: by, sender, settings, message)
    }

    private init(readingAtOnce other: TurnContext) {
        (intentID, host, earlier, origin) = (other.intentID, other.host, other.earlier, other.origin)
        rare = Rare(
            other.principal, other.inputs, other.failures, other.trace, isSent: other.isSent, by: other.by,
            other.sender, other.rare?.settings, other.message, readsAtOnce: true)
    }

    /// The sender of the intent that led to the turn.
    @inlinable package var principal: Principal? { rare?.principal }
    /// The time and UUIDs of the turn's previous run; nil in the first run.
    @usableFromInline package var inputs: TurnInputs? { rare?.inputs }
    /// The errors of unavailable stores of the session, by feature id, for a turn that runs again.
    package var failures: [String: StoreError] { rare?.failures ?? [:] }
    /// The span of the turn; nil without tracing.
    @usableFromInline package var trace: ServiceContext? { rare?.trace }
    /// True if another store's turn sent the intent or the action.
    @usableFromInline package var isSent: Bool { rare?.isSent ?? false }
    /// The number of the turn that set the reminder whose turn it is; nil for other turns.
    @usableFromInline var by: UInt64? { rare?.by }
    /// The client that sent the intent to a shared store.
    @usableFromInline package var sender: Sender? { rare?.sender }
    /// The message that the turn runs for, also in its chain; nil for other turns.
    @usableFromInline package var message: MessageOrigin? { rare?.message }
    /// The number of messages in a row that led to the turn.
    var hops: Int { rare?.message?.hops ?? 0 }
    /// The same client as it describes itself.
    package var client: ClientInfo { ClientInfo(rare?.settings, origin) }

    /// True if the turn does not wait for observations of stores that it reads.
    package var readsAtOnce: Bool { rare?.readsAtOnce ?? false }

    /// Returns a copy that does not wait for observations.
    package var readingAtOnce: TurnContext { TurnContext(readingAtOnce: self) }

    /// Returns a copy with the given values replaced.
    package func with(
        inputs: TurnInputs? = nil, failures: [String: StoreError]? = nil, trace: ServiceContext? = nil
    ) -> TurnContext {
        let copy = TurnContext(
            intentID, host, principal: principal, earlier: earlier, inputs: inputs ?? self.inputs,
            failures: failures ?? self.failures, trace: trace ?? self.trace, isSent: isSent, by: by, sender: sender,
            settings: rare?.settings, origin: origin, message: message)
        return readsAtOnce ? copy.readingAtOnce : copy
    }
}
