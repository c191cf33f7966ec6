/// The context of a handler: the state to read, and the operations of a turn.
///
/// It is handed over `inout` and cannot be copied, so it can neither escape into a task nor be used after the turn.
/// Everything done through it belongs to one transaction: it takes effect when the turn is committed, or not at all.
public struct Turn<F: Feature>: ~Copyable {
    @usableFromInline var current: F.State
    @usableFromInline let runner: TurnRunner<F>
    @usableFromInline let context: TurnContext
    /// The intent that it begins with; nil for bootstrap, steps of launched work and turns of failures.
    @usableFromInline let cause: F.Intent?
    /// That of the launched work whose step or failure this is; nil for a turn that no work led to.
    @usableFromInline let origin: WorkOrigin?
    @usableFromInline package var hasMessages = false
    @usableFromInline package var labels: [F.Label] = []
    @usableFromInline package var observations: [StoreObservation<F>.Event] = []
    @usableFromInline var effects: [Effect] = []
    @usableFromInline var actions: [F.Action] = []
    /// The requests that few turns make.
    @usableFromInline package var rare: RareRequests<F>?

    @inlinable
    init(runner: TurnRunner<F>, state: F.State, context: TurnContext, cause: F.Intent?, origin: WorkOrigin?) {
        self.runner = runner
        current = state
        self.context = context
        self.cause = cause
        self.origin = origin
    }

    /// The intent that led to this turn.
    @inlinable public var intentID: IntentID { context.intentID }

    /// The caller who sent the intent, as of its acceptance; nil if anonymous, and for bootstrap, reminders and
    /// deliveries from outside.
    @inlinable public var principal: Principal? { context.principal }

    /// The session that the store belongs to.
    public var session: SessionInfo { runner.environment.session }

    /// The feature instance, such as `counter` or `order-detail:42`.
    public var instance: String { runner.environment.instance }

    /// The state, with every message dispatched so far in it.
    @inlinable public var state: F.State { current }

    /// Says what happened. When this returns, `state` is the new state.
    @inlinable
    public mutating func dispatch(_ message: F.Message) {
        hasMessages = true
        guard runner.isObserved else {
            runner.feature.reduce(&current, message)
            return
        }
        let before = current
        runner.feature.reduce(&current, message)
        observations.append(.message(message, before: before, after: current))
    }

    /// Sends a one-off event to the clients that show the feature, after the state of this turn.
    @inlinable
    public mutating func publish(_ label: F.Label) {
        labels.append(label)
        if runner.isObserved { observations.append(.label(label)) }
    }

    /// Asks the feature to `perform` an action after the running handler returned, as part of this turn. Actions run
    /// first in, first out, never nested.
    @inlinable
    public mutating func send(_ action: F.Action) {
        actions.append(action)
    }

    /// Runs the actions sent so far, from the given one on, and those that they send, in order.
    @usableFromInline
    mutating func performActions(from first: Int = 0) throws {
        var next = first
        while next < actions.count {
            if next == TurnWithoutEnd.actions { throw TurnWithoutEnd.ofActions }
            let action = actions[next]
            next += 1
            if runner.isObserved { observations.append(.action(action)) }
            try runner.feature.perform(action, &self)
        }
    }

    /// Has the feature follow what the turn's messages changed in a state, and then what it changes itself by that.
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
    ///   - state: the one before the feature's own messages.
    ///   - performed: how many of the actions have been performed.
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

/// The error of a turn in which actions or changes led to each other without end.
private struct TurnWithoutEnd: Error, CustomStringConvertible {
    /// The maximum number of actions in a turn, and of calls of `onChange`.
    static let actions = 100_000
    static let changes = 16

    let description: String

    static let ofActions = TurnWithoutEnd(
        description:
            "More than \(actions) actions were sent in one turn. Send no action that leads to itself: `launch` "
            + "work for what goes on.")
    static let ofChanges = TurnWithoutEnd(
        description: "`onChange` was called \(changes) times in one turn, and what it did changed the state each time. "
            + "Dispatch only messages after which the values that it compares stay as they are.")
}

/// The requests that few turns make. A class that is created when needed, so that other turns pass one empty
/// reference.
@usableFromInline
package final class RareRequests<F: Feature> {
    @usableFromInline package var reminders: [ReminderRequest<F>] = []
    @usableFromInline var sends: [SiblingIntent] = []
    /// The first store that the turn needs and that is not there yet.
    @usableFromInline var missing: String?
    /// True if the turn launches work of parts that may leave.
    @usableFromInline var hasPartWork = false
    /// The observation of its result.
    @usableFromInline var observe: (@Sendable () -> Void)?
    @usableFromInline var judged: RunTurn?
    var now: Timestamp?
    var uuids: [String]
    /// The number of UUIDs that the turn has used.
    var uuidCount = 0

    /// - Parameter inputs: what the turn got of time and chance when it ran before.
    @usableFromInline
    init(_ inputs: TurnInputs?) { (now, uuids) = (inputs?.now, inputs?.uuids ?? []) }

    /// The time and UUIDs that the turn used; nil if none.
    @usableFromInline var inputs: TurnInputs? { now == nil && uuids.isEmpty ? nil : TurnInputs(now: now, uuids: uuids) }
}

extension Turn {
    /// The rare requests, which there are from now on.
    @usableFromInline
    mutating func makeRare() -> RareRequests<F> {
        if let rare { return rare }
        let made = RareRequests<F>(context.inputs)
        rare = made
        return made
    }
}
