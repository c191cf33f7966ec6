import DequeModule

/// The recorded turns that a session keeps: the newest, as far as both limits allow.
package struct RecordingLimit: Sendable, Hashable {
    package var turns: Int
    /// The total size of the recordings in bytes.
    package var bytes: Int

    package init(turns: Int, bytes: Int = .max) { (self.turns, self.bytes) = (turns, bytes) }

    /// Records nothing.
    package static let none = RecordingLimit(turns: 0)

    /// Drops the oldest turns beyond the limits.
    func trim(_ recordings: inout Deque<RecordedTurn>) {
        var (kept, size) = (0, 0)
        for turn in recordings.reversed() {
            size += turn.recording.count
            guard kept < turns, size <= bytes else { break }
            kept += 1
        }
        recordings.removeFirst(recordings.count - kept)
    }
}
