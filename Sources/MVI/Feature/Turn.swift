/// The context of a running handler: the state, and the methods that change it or launch work.
///
/// It is passed `inout` and is not copyable, so it cannot outlive the turn. Everything done through it belongs to one
/// transaction, which takes effect at the commit of the turn, or not at all.
public struct Turn<F: Feature>: ~Copyable {
    @usableFromInline var current: F.State
    @usableFromInline let runner: TurnRunner<F>
    @usableFromInline let context: TurnContext
    /// The intent that started the turn; nil for bootstrap, steps of launched work and turns of failures.
    @usableFromInline let cause: F.Intent?
    /// The origin of the work whose step or failure this is; nil for turns without launched work.
    @usableFromInline let origin: WorkOrigin?
    /// True if the turn is recorded.
    @usableFromInline package let isRecorded: Bool
    /// True if the turn collects its events for observers.
    @usableFromInline let isObserved: Bool
    @usableFromInline package var hasMessages = false
    @usableFromInline package var labels: [F.Label] = []
    @usableFromInline package var observations: [StoreObservation<F>.Event] = []
    @usableFromInline var effects: [Effect] = []
    @usableFromInline var actions: [F.Action] = []
    /// True if the store ever launched work of a part that may leave: each message may remove one.
    @usableFromInline var hasPartWork: Bool
    /// Data that few turns need.
    @usableFromInline package var rare: DeferredRequests<F>?

    @inlinable
    init(
        runner: TurnRunner<F>, state: F.State, context: TurnContext, cause: F.Intent?, origin: WorkOrigin?,
        hasPartWork: Bool
    ) {
        self.runner = runner
        self.hasPartWork = hasPartWork
        current = state
        self.context = context
        self.cause = cause
        self.origin = origin
        isRecorded = runner.isRecorded(context)
        isObserved = runner.observers != nil
    }

    @inlinable package var feature: F { runner.feature }

    /// The id of the intent that led to this turn.
    @inlinable public var intentID: IntentID { context.intentID }

    /// The intent's sender when the intent was accepted; nil if anonymous, and for bootstrap, reminders and intents
    /// from outside the API.
    @inlinable public var principal: Principal? { context.principal }

    /// The client that sent the intent, in a store that many clients share. Nil in a session's own store, whose client it is,
    /// and for bootstrap, reminders, launched work and intents from outside the API.
    public var sender: Sender? { context.sender }

    /// The client that sent the intent, with its locale, time zone and address. All three are nil for bootstrap, reminders,
    /// launched work and intents from outside the API.
    public var client: ClientInfo { context.client }

    /// The session that the store belongs to; for a shared store, its space.
    public var session: SessionInfo { runner.environment.session }

    /// The feature instance, such as `counter` or `order-detail:42`.
    public var instance: String { runner.environment.instance }

    /// The state with all messages that were dispatched so far.
    @inlinable public var state: F.State { current }

    /// Dispatches a message. On return, `state` is the new state.
    @inlinable
    public mutating func dispatch(_ message: F.Message) {
        hasMessages = true
        if isRecorded { makeRare().messages.append(message) }
        if isObserved {
            let before = current
            runner.feature.reduce(&current, message)
            observations.append(.message(message, before: before, after: current))
        } else {
            runner.feature.reduce(&current, message)
        }
        // Now: another part of that name may come in the same turn.
        if hasPartWork { cancelGoneParts() }
    }

    /// Publishes a one-off event to the clients that show the feature, after the state of this turn.
    @inlinable
    public mutating func publish(_ label: F.Label) {
        labels.append(label)
        if isObserved { observations.append(.label(label)) }
    }

    /// Sends an action that the feature performs in this turn after the running handler returns. Actions run first in,
    /// first out, never nested.
    @inlinable
    public mutating func send(_ action: F.Action) {
        actions.append(action)
    }

    /// Performs the sent actions from a given index on, including those that they send, in order.
    @usableFromInline
    mutating func performActions(from first: Int = 0) throws {
        var next = first
        while next < actions.count {
            if next == TurnWithoutEnd.actions { throw TurnWithoutEnd.ofActions }
            let action = actions[next]
            next += 1
            if isObserved { observations.append(.action(action)) }
            try runner.feature.perform(action, &self)
        }
    }

    /// Calls `onChange` for the changes by the turn's messages, and again for its own changes.
    @inlinable
    mutating func followChanges(since before: F.State) throws {
        let after = current
        let performed = actions.count
        hasMessages = false
        try runner.feature.onChange(from: before, &self)
        let isDone = !hasMessages && actions.count == performed
        hasMessages = true
        if !isDone { try followOwnChanges(since: after, performed: performed) }
    }

    /// - Parameters:
    ///   - state: the state before the feature's own messages.
    ///   - performed: the number of actions that have been performed.
    @usableFromInline
    mutating func followOwnChanges(since state: F.State, performed: Int) throws {
        var (before, performed) = (state, performed)
        for call in 1...TurnWithoutEnd.changes {
            try performActions(from: performed)
            if current == before { return }
            if call == TurnWithoutEnd.changes { throw TurnWithoutEnd.ofChanges }
            let after = current
            performed = actions.count
            try runner.feature.onChange(from: before, &self)
            before = after
        }
    }
}

/// The error of a turn whose actions, or changes, lead to one another without an end.
private struct TurnWithoutEnd: Error, CustomStringConvertible {
    /// The maximum number of actions in a turn, and the maximum number of `onChange` calls.
    static let actions = 100_000
    static let changes = 16

    let description: String

    static let ofActions = TurnWithoutEnd(
        description:
            "More than \(actions) actions were sent in one turn. Do not send an action that leads to itself: `launch` "
            + "work instead.")
    static let ofChanges = TurnWithoutEnd(
        description: "`onChange` was called \(changes) times in one turn, and it changed the state each time. "
            + "Dispatch only messages after which the values that it compares stay unchanged.")
}

/// Data that few turns need. A class that is created on first use, so that other turns carry only a nil reference.
/// Accesses are not checked for exclusivity: only its turn has it, and a turn cannot be copied.
@usableFromInline
package final class DeferredRequests<F: Feature> {
    @exclusivity(unchecked) @usableFromInline package var reminders: [ReminderRequest<F>] = []
    /// The addressees of directed labels, in order.
    @exclusivity(unchecked) @usableFromInline package var addressees: [LabelTo<F>] = []
    @exclusivity(unchecked) @usableFromInline var sends: [SiblingIntent] = []
    /// The first store that the turn needs and that is not loaded.
    @exclusivity(unchecked) @usableFromInline var missing: String?
    /// True if the turn launches work of parts that may leave.
    /// The closure for observers and interceptors in the turn's result.
    @exclusivity(unchecked) @usableFromInline var observe: (@Sendable () -> Void)?
    @exclusivity(unchecked) @usableFromInline var judged: RunTurn?
    @exclusivity(unchecked) @usableFromInline var now: Timestamp?
    @exclusivity(unchecked) @usableFromInline var uuids: [String]
    @exclusivity(unchecked) @usableFromInline var viewers: KnownViewers?
    /// The intent and the messages of a recorded turn.
    @exclusivity(unchecked) @usableFromInline var cause: F.Intent?
    @exclusivity(unchecked) @usableFromInline var messages: [F.Message] = []
    /// The facts of a recorded turn: see `TurnFacts`. The start is in nanoseconds of the monotonic clock.
    @exclusivity(unchecked) @usableFromInline var reads: [TurnFacts.Read] = []
    @exclusivity(unchecked) @usableFromInline var failure: String?
    @exclusivity(unchecked) @usableFromInline var refusal: String?
    @exclusivity(unchecked) @usableFromInline var start: UInt64?
    @exclusivity(unchecked) @usableFromInline var kind: TurnFacts.Kind?
    /// The number of UUIDs that the turn has used.
    @exclusivity(unchecked) @usableFromInline var uuidCount = 0

    /// - Parameter inputs: what the turn's previous run read.
    @usableFromInline
    init(_ inputs: TurnInputs?) { (now, uuids, viewers) = (inputs?.now, inputs?.uuids ?? [], inputs?.viewers) }

    /// Notes the facts of a recorded turn that are known at its start.
    @usableFromInline
    func note(start: UInt64, _ stage: Failure.Stage?, _ cause: StoreObservation<F>.Event?, hasIntent: Bool) {
        self.start = start
        if case .intent(let intent)? = cause { self.cause = intent }
        kind =
            switch stage {
            case .bootstrap?: .bootstrap
            case .signIn?: .signIn
            case .execute?: hasIntent ? .intent : cause != nil ? .checked : .action
            case .check?, .view?, .work?, nil: .step
            }
    }

    /// The time, UUIDs and viewers that the turn used; nil if none.
    @usableFromInline var inputs: TurnInputs? {
        now == nil && uuids.isEmpty && viewers == nil ? nil : TurnInputs(now: now, uuids: uuids, viewers: viewers)
    }
}

extension Turn {
    /// Returns the rare requests, creating them if needed.
    @usableFromInline
    mutating func makeRare() -> DeferredRequests<F> {
        if let rare { return rare }
        let made = DeferredRequests<F>(context.inputs)
        rare = made
        return made
    }
}
