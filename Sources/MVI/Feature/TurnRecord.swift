/// A turn of a store on its own that has run and is to be committed.
public final class TurnRecord<F: Feature>: Sendable {
    /// The intent that led to it.
    public let intentID: IntentID
    /// The state after it.
    public let state: F.State
    /// What clients see of that state.
    public let view: F.ViewState
    /// Whether the turn dispatched messages: if not, `state` is that of the turn before.
    public let isStateChanged: Bool
    /// Whether `view` differs from that of the turn before.
    public let isViewChanged: Bool
    /// Its labels, in order.
    public let labels: [F.Label]
    /// Everything that happened in it, in order; empty unless the store is observed or records.
    public let events: [StoreObservation<F>.Event]

    @inlinable
    init(_ turn: borrowing Turn<F>, view: F.ViewState, isViewChanged: Bool) {
        intentID = turn.intentID
        state = turn.state
        self.view = view
        isStateChanged = turn.hasMessages
        self.isViewChanged = isViewChanged
        labels = turn.labels
        events = turn.observations
    }

    /// The turn as it is to be recorded. Made of `events`, so only whole where the store's environment says
    /// `isRecording`.
    public var recording: TurnRecording<F> {
        TurnRecording(intent: intentID.text, events: events, state: state, labels: labels)
    }
}

/// Where the turns of a store on its own become permanent. It has one commit in flight at a time and runs nothing
/// meanwhile.
public protocol TurnLog<F>: Sendable {
    /// The feature whose turns it takes.
    associatedtype F: Feature

    /// Commits the turns as one unit. Called by one thread at a time, never under a lock.
    ///
    /// Returns the result if it is at hand; else returns nil and calls `done` once, later, from any thread that may
    /// run handlers.
    func commit(_ turns: [TurnRecord<F>], done: @escaping @Sendable (CommitResult<F>) -> Void) -> CommitResult<F>?
}

/// How a commit ended.
public enum CommitResult<F: Feature>: Sendable {
    /// The turns are permanent.
    case committed
    /// Another writer was first and led the store to that state. Nothing of the turns is permanent or may be shown;
    /// they are run again on it.
    indirect case conflict(newer: F.State)
    /// They certainly are not, and nothing of them may be shown.
    case failed(StoreError)
}

/// What happened in a turn, as it is recorded. It can be encoded and decoded where the feature's messages and actions
/// can.
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

extension TurnRecording: Encodable where F.Message: Encodable, F.Action: Encodable {}
extension TurnRecording: Decodable where F.Message: Decodable, F.Action: Decodable {}
