import Tracing

/// A finished job. A class, since it is handed on several times.
package final class JobResult: Sendable {
    package let job: any QueueJob
    /// The store that it was about; nil if it was about none that is in memory.
    package let host: (any StoreHost)?
    package let intentID: IntentID
    /// What running a handler led to; nil if none was run.
    package let turn: TurnResult?
    /// Why no handler was run; nil if one was, or for another reason.
    package let error: StoreError?
    /// Whether there is something to commit.
    package let isKept: Bool
    /// The store's version and view state after it, as far as its host keeps them.
    package let state: StateSnapshot
    /// Whether other writers know the store: it was not made by the batch.
    package let isOfKeptStore: Bool
    /// Whether it is the turn of a failure of the result before it.
    package let followsPrevious: Bool
    package let isBootstrap: Bool
    /// The stores to which the turn, or one that follows it, sent intents.
    package let links: [any StoreHost]?

    package init(
        _ job: any QueueJob, on host: (any StoreHost)?, _ intentID: IntentID, _ turn: TurnResult?,
        error: StoreError? = nil, isKept: Bool, state: StateSnapshot, isOfKeptStore: Bool = false,
        followsPrevious: Bool = false, isBootstrap: Bool = false, links: [any StoreHost]? = nil
    ) {
        self.links = links
        (self.job, self.host, self.intentID, self.turn, self.error) = (job, host, intentID, turn, error)
        (self.isKept, self.state, self.isOfKeptStore) = (isKept, state, isOfKeptStore)
        (self.followsPrevious, self.isBootstrap) = (followsPrevious, isBootstrap)
    }

    /// Tells who measures the store that its turn is permanent.
    func measure() {
        guard isKept, let turn, turn.trouble == nil else { return }
        host?.scope.environment.meter?.turnCommitted(isBootstrap ? .bootstrap : job.kind)
        for link in links ?? [] { link.scope.environment.meter?.turnCommitted(.other) }
    }

    /// Tells observers and the log.
    func tell() {
        turn?.observe?()
        if let failure = turn?.trouble?.failure { host?.scope.report(failure) }
    }
}

/// What a handler's run led to. A class, since it is handed on several times.
@usableFromInline
package final class TurnResult: Sendable {
    /// Why nothing of it is to be kept; nil if all went well.
    package let trouble: TurnTrouble?
    package let output: TurnOutput
    /// What to do after the commit, in order.
    package let effects: [Effect]
    /// Tells observers; nil if there are none, or nothing to tell.
    package let observe: (@Sendable () -> Void)?
    /// Runs the intent again as interceptors left it; nil if there are none.
    package let judged: JudgedTurn?
    /// What follows from it besides; nil if nothing.
    package let sequel: TurnSequel?

    @usableFromInline
    init(
        _ trouble: TurnTrouble?, output: consuming TurnOutput = TurnOutput(), effects: [Effect] = [],
        observe: (@Sendable () -> Void)? = nil, judged: JudgedTurn? = nil, sequel: TurnSequel? = nil
    ) {
        (self.trouble, self.output, self.effects) = (trouble, output, effects)
        (self.observe, self.judged) = (observe, judged)
        self.sequel = sequel
    }

    /// A job that led to nothing and has no observer to be told.
    package static let dropped = TurnResult(TurnTrouble())

    /// The same with what its chain got of time and chance.
    package func with(_ inputs: TurnInputs) -> TurnResult {
        TurnResult(
            trouble, output: output, effects: effects, observe: observe, judged: judged,
            sequel: TurnSequel(sends: sequel?.sends ?? [], inputs: inputs))
    }

    /// What it got of time and chance; nil if nothing.
    package var inputs: TurnInputs? { sequel?.inputs }

    /// The turn of a chain that failed: nothing of it is kept.
    package func undone(by error: StoreError) -> TurnResult {
        TurnResult(TurnTrouble(error: error, stepError: error), judged: judged, sequel: TurnSequel(inputs: inputs))
    }

    /// A job that led to nothing but an error.
    package static func refused(_ error: StoreError) -> TurnResult {
        TurnResult(TurnTrouble(error: error, stepError: error))
    }
}

/// Runs a handler on a store's working copy. Made where the feature's type is known.
@usableFromInline
package typealias RunTurn = @Sendable (TurnContext) -> TurnResult

/// The turn of an intent that interceptors have judged, on a store of the same feature: after a conflict that may be
/// another one than before. Nil for another feature's store.
@usableFromInline
package typealias JudgedTurn = @Sendable (any StoreRunner) -> RunTurn?

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

/// Why a handler's run led to nothing. A class, so that a turn that goes well carries one empty reference.
@usableFromInline
package final class TurnTrouble: Sendable {
    /// What the job's caller is told.
    package let error: StoreError?
    /// What a step threw.
    package let stepError: (any Error)?
    /// A throw to report.
    package let failure: Failure?
    /// Whether `onFailure` is to be called with it, in a turn of its own.
    package let isHandedToFeature: Bool

    @usableFromInline
    init(
        error: StoreError? = nil, stepError: (any Error)? = nil, failure: Failure? = nil,
        isHandedToFeature: Bool = false
    ) {
        (self.error, self.stepError) = (error, stepError)
        (self.failure, self.isHandedToFeature) = (failure, isHandedToFeature)
    }
}

/// What a turn runs in, beside its store's state.
@usableFromInline
package struct TurnContext: Sendable {
    @usableFromInline let intentID: IntentID
    @usableFromInline let scope: StoreScope
    /// What the batch's earlier turns of the store ask for.
    @usableFromInline let earlier: [Effect]
    /// What hardly any turn has.
    @usableFromInline let extras: TurnExtras?

    package init(
        _ intentID: IntentID, _ scope: StoreScope, earlier: [Effect], principal: Principal? = nil,
        inputs: TurnInputs? = nil, siblings: (any Siblings)? = nil, trace: ServiceContext? = nil, isSent: Bool = false
    ) {
        self.intentID = intentID
        self.scope = scope
        self.earlier = earlier
        let isPlain = principal == nil && inputs == nil && siblings == nil && trace == nil && !isSent
        extras = isPlain ? nil : TurnExtras(principal, inputs, siblings, trace, isSent)
    }

    /// The same in a span of its own.
    func with(trace: ServiceContext) -> TurnContext {
        TurnContext(
            intentID, scope, earlier: earlier, principal: principal, inputs: extras?.inputs,
            siblings: extras?.siblings, trace: trace, isSent: isSent)
    }

    /// The span that the turn runs in; nil where nothing is traced.
    @usableFromInline var trace: ServiceContext? { extras?.trace }

    /// Whether a turn of another store of the session sent the intent or the action.
    @usableFromInline var isSent: Bool { extras?.isSent ?? false }

    /// Who sent the intent that led to the turn.
    @inlinable var principal: Principal? { extras?.principal }

    /// The other stores of the session; nil for a store on its own.
    @usableFromInline var siblings: (any Siblings)? { extras?.siblings ?? scope.siblings }
}

/// What hardly any turn runs in. A class, so that other turns have one empty reference to pass on.
@usableFromInline
package final class TurnExtras: Sendable {
    @usableFromInline let principal: Principal?
    /// What the turn got of time and chance when it ran before; nil if it did not.
    let inputs: TurnInputs?
    /// The other stores of the session, where they are others than the store's scope says.
    let siblings: (any Siblings)?
    let trace: ServiceContext?
    /// Whether another store's turn led to it.
    let isSent: Bool

    init(
        _ principal: Principal?, _ inputs: TurnInputs?, _ siblings: (any Siblings)?, _ trace: ServiceContext?,
        _ isSent: Bool
    ) {
        (self.principal, self.inputs, self.siblings, self.trace) = (principal, inputs, siblings, trace)
        self.isSent = isSent
    }
}
