import DequeModule

/// The recorded turns that a session keeps: the newest, as far as both limits allow. As JSON, in a reminder's row.
package struct RecordingLimit: Sendable, Hashable, Codable {
    package var turns: Int
    /// The total size of the recordings in bytes.
    package var bytes: Int

    package init(turns: Int, bytes: Int = .max) { (self.turns, self.bytes) = (turns, bytes) }

    /// Records nothing.
    package static let none = RecordingLimit(turns: 0)
}

/// Recordings of a session's committed turns, in order, and how many of all its recordings are kept.
package struct SessionRecordings: Sendable {
    package var session: SessionKey
    package var turns: [RecordedTurn]
    package var limit: RecordingLimit

    package init(_ session: SessionKey, _ turns: [RecordedTurn], _ limit: RecordingLimit) {
        (self.session, self.turns, self.limit) = (session, turns, limit)
    }
}

/// The newest recorded turns of a session, as far as a limit allows.
struct RecordingRing {
    private(set) var turns: Deque<RecordedTurn> = []
    private var bytes = 0

    mutating func append(_ new: [RecordedTurn], _ limit: RecordingLimit) {
        for turn in new {
            turns.append(turn)
            bytes += turn.recording.count
        }
        while turns.count > max(0, limit.turns) || bytes > limit.bytes, let oldest = turns.popFirst() {
            bytes -= oldest.recording.count
        }
    }
}
