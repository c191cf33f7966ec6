/// What a handler holds while it runs: the state to read, and the ways to answer.
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
    /// What hardly any turn has.
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

    /// Who sent that intent, as they were signed in when it was accepted; nil for somebody who is not, and for bootstrap,
    /// reminders and what comes from outside.
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

    @inlinable var hasActions: Bool { !actions.isEmpty }

    /// Runs the actions sent so far, from the given one on, and those that they send, in order.
    @usableFromInline
    mutating func performActions(from first: Int = 0) throws {
        var next = first
        while next < actions.count {
            if next == ActionsWithoutEnd.limit { throw ActionsWithoutEnd() }
            let action = actions[next]
            next += 1
            if runner.isObserved { observations.append(.action(action)) }
            try runner.feature.perform(action, &self)
        }
    }
}

/// Why a turn failed in which one action sent another again and again.
private struct ActionsWithoutEnd: Error, CustomStringConvertible {
    /// How many actions a turn may perform.
    static let limit = 100_000

    var description: String {
        "More than \(Self.limit) actions were sent in one turn. Send no action that leads to itself: `launch` work for what "
            + "goes on."
    }
}
