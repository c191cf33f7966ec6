/// The events of a turn as they are recorded. With `MVIServer` or `MVITesting` a recording is `Codable` if the
/// feature's messages and actions are.
public struct TurnRecording<F: Feature>: Sendable {
    /// The id of the intent that led to the turn.
    public var intent: String
    /// The intent that started the turn, as interceptors left it; nil for bootstrap, steps of launched work and turns
    /// of failures.
    public var cause: F.Intent?
    /// The performed actions, in order.
    public var actions: [F.Action]
    /// The reduced messages, in order.
    public var messages: [F.Message]
    /// The state after the turn.
    public var state: F.State
    /// The view state after the turn, if the turn changed it and it differs from the state's JSON.
    public var view: F.ViewState?
    /// The published labels, in order.
    public var labels: [F.Label]
    /// The inputs of the turn and its requests.
    public var facts: TurnFacts

    /// Creates a recording.
    @inlinable
    public init(
        intent: String, cause: F.Intent?, actions: [F.Action], messages: [F.Message], state: F.State,
        view: F.ViewState? = nil, labels: [F.Label], facts: TurnFacts = TurnFacts()
    ) {
        (self.intent, self.cause, self.actions) = (intent, cause, actions)
        (self.messages, self.state, self.view) = (messages, state, view)
        (self.labels, self.facts) = (labels, facts)
    }

    /// A completed turn that is recorded.
    @inlinable
    package init(_ turn: borrowing Turn<F>, view: F.ViewState? = nil) {
        self.init(
            intent: turn.intentID.text, cause: turn.rare?.cause, actions: turn.actions,
            messages: turn.rare?.messages ?? [], state: turn.state, view: view, labels: turn.labels,
            facts: TurnFacts(turn))
    }
}
