/// A recorded turn. `MVIServer` and `MVITesting` encode and decode it if the feature's messages and actions are
/// `Codable`.
public struct TurnRecording<F: Feature>: Sendable {
    /// The id of the intent that led to it.
    public var intent: String
    /// The intent that it began with, as interceptors left it; nil for bootstrap, steps of launched work and turns of
    /// failures.
    public var cause: F.Intent?
    /// The actions that were performed, in order.
    public var actions: [F.Action]
    /// The messages that were reduced, in order.
    public var messages: [F.Message]
    /// The state after it.
    public var state: F.State
    /// The labels that were published, in order.
    public var labels: [F.Label]

    /// A recording of its parts.
    public init(
        intent: String, cause: F.Intent?, actions: [F.Action], messages: [F.Message], state: F.State,
        labels: [F.Label]
    ) {
        (self.intent, self.cause, self.actions) = (intent, cause, actions)
        (self.messages, self.state, self.labels) = (messages, state, labels)
    }

    init(intent: String, events: [StoreObservation<F>.Event], state: F.State, labels: [F.Label]) {
        self.init(intent: intent, cause: nil, actions: [], messages: [], state: state, labels: labels)
        for event in events {
            switch event {
            case .intent(let intent): cause = intent
            case .action(let action): actions.append(action)
            case .message(let message, _, _): messages.append(message)
            case .started, .refused, .label, .failed, .ended: break
            }
        }
    }

    /// A turn that ran, with the events that it has where its store's environment says `isRecording`.
    @usableFromInline
    package init(_ turn: borrowing Turn<F>) {
        self.init(intent: turn.intentID.text, events: turn.observations, state: turn.state, labels: turn.labels)
    }
}
