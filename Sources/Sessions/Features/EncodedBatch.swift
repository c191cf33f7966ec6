import MVI
import SessionJournal

@usableFromInline
typealias EncodingCommit =
    @Sendable (EncodedBatch, _ done: @escaping @Sendable (SessionCommit) -> Void) -> SessionCommit?

/// Turns of one store as the journal and the streams take them: bytes.
@usableFromInline
struct EncodedBatch: Sendable {
    /// In order.
    @usableFromInline var turns: [EncodedTurn]
    /// The state after the last of them, as it is kept; nil when none changed it.
    @usableFromInline var state: [UInt8]?
    /// The schema version of `state`.
    @usableFromInline var schemaVersion: Int

    @inlinable
    init(turns: [EncodedTurn], state: [UInt8]?, schemaVersion: Int) {
        self.turns = turns
        self.state = state
        self.schemaVersion = schemaVersion
    }

    /// Whether nobody could tell that the turns ever were.
    var isEmpty: Bool { state == nil && turns.allSatisfy { $0.isEmpty } }
}

/// A turn as bytes.
@usableFromInline
struct EncodedTurn: Sendable {
    /// The intent that led to it.
    @usableFromInline let intentID: IntentID
    /// The new view state as JSON; nil when it did not change.
    @usableFromInline let view: [UInt8]?
    /// The labels, in order.
    @usableFromInline let labels: [EncodedLabel]
    /// What happened in it; nil unless that is recorded.
    @usableFromInline let recording: [UInt8]?
    @usableFromInline let reply: PendingReply?

    @inlinable
    init(intentID: IntentID, view: [UInt8]?, labels: [EncodedLabel], recording: [UInt8]?, reply: PendingReply?) {
        self.intentID = intentID
        self.view = view
        self.labels = labels
        self.recording = recording
        self.reply = reply
    }

    /// The intent, as clients are told of it; nil if the store itself was the cause.
    var shownIntent: IntentID? { intentID.isBootstrap ? nil : intentID }

    var isEmpty: Bool { view == nil && labels.isEmpty && recording == nil && reply?.receipt == nil }
}

/// A label as bytes.
@usableFromInline
struct EncodedLabel: Sendable {
    /// The label as JSON.
    @usableFromInline let json: [UInt8]
    /// How long it waits for a client.
    @usableFromInline let timeToLive: Duration

    @inlinable
    init(json: [UInt8], timeToLive: Duration) {
        self.json = json
        self.timeToLive = timeToLive
    }
}
