import Locking
import MVI
import SessionJournal

extension SessionCore {
    /// The limit of the session's own recording, also after its end until that is committed; nil if it has none.
    var recording: RecordingLimit? { reminders.lazy.compactMap(\.event.recording).first }

    /// True if the session's own recording goes on at a time since 1970.
    func isRecorded(now: Duration) -> Bool { reminders.contains { $0.event.recording != nil && $0.stored.due > now } }

    /// The larger of the session's own limit and that of all sessions.
    func largerRecordingLimit(_ all: RecordingLimit) -> RecordingLimit {
        guard let own = recording else { return all }
        guard all.turns > 0 else { return own }
        return RecordingLimit(turns: max(own.turns, all.turns), bytes: max(own.bytes, all.bytes))
    }
}

extension SessionTable {
    /// Records the turns of the session with a public id until a time since 1970, also in other processes. Replaces its
    /// earlier recording; with a time that has passed, ends it. Its turns stay until newer ones take their place.
    ///
    /// Returns false if there is no such session.
    package func record(_ id: String, _ limit: RecordingLimit, until: Duration) async throws(StoreError) -> Bool {
        guard let token = try await token(ofID: id) else { return false }
        let session: Session
        switch await found(token) {
        case .live(let live, _): session = live
        case .damaged(_, let error), .failed(let error): throw error
        case .ended, .unknown: return false
        }
        let reminder = try StoredReminder(limit, until: until)
        // No turn that ends the earlier recording is under way.
        let turns = try await session.holdTurns()
        defer { turns.release() }
        try await change(session, reminders: [reminder])
        environment.reminderClock.note(due: until)
        return true
    }
}
