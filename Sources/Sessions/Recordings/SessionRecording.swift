import Locking
import MVI
import SessionJournal

extension SessionCore {
    /// The limit of the session's own recording, also after its end until that is committed; nil if it has none.
    var recording: RecordingLimit? { reminders.lazy.compactMap(\.event.recording).first }

    /// True if the session's own recording goes on at a time since 1970.
    func isRecorded(now: Duration) -> Bool { reminders.contains { $0.event.recording != nil && $0.stored.due > now } }

    /// The limit of the recorded turns that the journal keeps: the larger of the session's own and that of all sessions.
    func recordingLimit(_ limits: SessionLimits) -> RecordingLimit {
        let all = limits.recordings
        guard let own = recording else { return all }
        guard all.turns > 0 else { return own }
        return RecordingLimit(turns: max(own.turns, all.turns), bytes: max(own.bytes, all.bytes))
    }
}

extension Session {
    /// Has the recordings of committed turns written.
    func witness(_ turns: [WitnessedTurn], _ limit: RecordingLimit) {
        if let key = core.withLock({ $0.key }) { shared.recordings.add(turns, of: key, limit) }
    }
}

extension SessionTable {
    /// Returns when the recordings of all turns that this process has committed are written.
    package func writeRecordings() async {
        await awaitResult { done in environment.recordings.flush { done(()) } }
    }

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
