import MVI
import SessionJournal
import WireJSON

/// An event for which a session waits until a time. A `StoredReminder` stores each kind: it survives a restart, moves with
/// the session to another node, and ends with the commit of its turn.
enum TimedEvent: Equatable {
    /// A feature's action. If its store is not available, or this build cannot decode it, it waits for another build.
    case action
    /// The notice to a store that a principal has signed in. Without a feature it ends: the store's next start reads the
    /// subject.
    case signIn
    /// The end of the session's own recording; nil if its limit cannot be read. It needs no store.
    case recordingEnd(RecordingLimit?)
    /// A message to another log; nil if this build cannot read it, and it waits for another one.
    case message(Message?)

    // Not ASCII, so that they are unlikely to be ids of a feature's reminders. No turn sets the server's own: their number
    // is 0.
    fileprivate static let signInID = "‹sign-in›"
    fileprivate static let recordingID = "‹recording›"

    init(_ stored: StoredReminder) {
        switch (stored.number, stored.id) {
        case (0, Self.signInID): self = .signIn
        case (0, Self.recordingID):
            self = .recordingEnd(try? WireJSON.decode(RecordingLimit.self, from: stored.action))
        case (0, _) where Message.names(stored): self = .message(Message(stored))
        default: self = .action
        }
    }

    /// The number of attempts whose turn may throw.
    var tryLimit: Int { self == .signIn ? 1 : 5 }

    /// The limit of the recording that it ends; nil for other events.
    var recording: RecordingLimit? { if case .recordingEnd(let limit) = self { limit } else { nil } }

    var isMessage: Bool { if case .message = self { true } else { false } }
    var message: Message? { if case .message(let message) = self { message } else { nil } }

    /// True if it ends, instead of waiting for another build, when its store is not available for this reason.
    func ends(with obstacle: StoreError) -> Bool { self == .signIn && obstacle.code == .featureNotFound }
}

extension StoredReminder {
    /// The notice of a sign-in to a store.
    init(signIn action: [UInt8], of feature: FeatureID, due: Duration) {
        self.init(feature: feature, id: TimedEvent.signInID, due: due, number: 0, action: action)
    }

    /// - Parameter until: the end of the recording, as time since 1970.
    init(_ limit: RecordingLimit, until: Duration) throws(StoreError) {
        guard let feature = FeatureID("mvi-recording"), let action = try? WireJSON.encode(limit) else {
            throw StoreError(.invalid, "The recording's limits cannot be stored.")
        }
        self.init(feature: feature, id: TimedEvent.recordingID, due: until, number: 0, action: action)
    }

    /// True if a feature has set it.
    var isAction: Bool { number > 0 || TimedEvent(self) == .action }

    /// The message that it is; nil for other events.
    package var message: Message? { number > 0 ? nil : TimedEvent(self).message }

    /// The limit of the recording that it ends; nil for other events.
    package var recordingLimit: RecordingLimit? { TimedEvent(self).recording }
}
