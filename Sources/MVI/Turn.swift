/// What a handler holds while it runs: the state to read, and the ways to answer.
///
/// It is handed over `inout` and cannot be copied, so it can neither escape into a task nor be used after the turn.
/// Everything done through it belongs to one transaction: it takes effect when the turn is committed, or not at all.
public struct Turn<F: Feature>: ~Copyable {
    /// The state, with every message dispatched so far in it.
    public private(set) var state: F.State
    /// The intent that led to this turn.
    public let intentID: IntentID

    let feature: F
    let isObserved: Bool
    private(set) var hasMessages = false
    private(set) var labels: [F.Label] = []
    private(set) var observations: [Observation<F>.Event] = []
    var effects: [Effect<F>] = []
    private var actions: [F.Action] = []
    private var nextAction = 0

    init(feature: F, state: F.State, intentID: IntentID, isObserved: Bool) {
        self.feature = feature
        self.state = state
        self.intentID = intentID
        self.isObserved = isObserved
    }

    /// Says what happened. When this returns, `state` is the new state.
    public mutating func dispatch(_ message: F.Message) {
        hasMessages = true
        guard isObserved else {
            feature.reduce(&state, message)
            return
        }
        let before = state
        feature.reduce(&state, message)
        observations.append(.message(message, before: before, after: state))
    }

    /// Sends a one-off event to the clients that show the feature, after the state of this turn.
    public mutating func publish(_ label: F.Label) {
        labels.append(label)
        if isObserved { observations.append(.label(label)) }
    }

    /// Asks the feature to `perform` an action after the running handler returned, as part of this turn. Actions run
    /// first in, first out, never nested.
    public mutating func send(_ action: F.Action) {
        actions.append(action)
    }

    mutating func observe(_ event: @autoclosure () -> Observation<F>.Event) {
        if isObserved { observations.append(event()) }
    }

    /// Runs the actions sent so far and those that they send, in order.
    mutating func performActions() throws {
        while nextAction < actions.count {
            let action = actions[nextAction]
            nextAction += 1
            observe(.action(action))
            try feature.perform(action, &self)
        }
    }
}
