/// What happened in a turn, as it is recorded: whatever can encode and decode keeps it and brings it back.
public struct TurnRecording<F: Feature>: Codable, Sendable {
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
        self.intent = intent
        self.cause = cause
        self.actions = actions
        self.messages = messages
        self.state = state
        self.labels = labels
    }
}

extension TurnRecord {
    /// The turn as it is to be recorded. Made of `events`, so only whole where the store's environment says
    /// `isRecording`.
    public var recording: TurnRecording<F> {
        var recording = TurnRecording<F>(
            intent: intentID.text, cause: nil, actions: [], messages: [], state: state, labels: labels)
        for event in events {
            switch event {
            case .intent(let intent): recording.cause = intent
            case .action(let action): recording.actions.append(action)
            case .message(let message, _, _): recording.messages.append(message)
            case .started, .refused, .label, .failed, .ended: break
            }
        }
        return recording
    }
}
