import Locking
import MVI
import SessionJournal
import WireJSON

/// The recording of one session is stored as a reminder that is due at its end: it survives a restart, moves with the
/// session to another node, and ends by itself.
extension StoredReminder {
    // Not ASCII, so that it is unlikely to be the id of a feature's reminder.
    private static let recordingID = "‹recording›"

    /// - Parameter until: the end of the recording, as time since 1970.
    fileprivate init(_ limit: RecordingLimit, until: Duration) throws(StoreError) {
        guard let feature = FeatureID("mvi-recording"), let action = try? WireJSON.encode(Action(limit)) else {
            throw StoreError(.invalid, "The recording's limits cannot be stored.")
        }
        self.init(feature: feature, id: Self.recordingID, due: until, number: 0, action: action)
    }

    private struct Action: Codable {
        let turns: Int
        let bytes: Int

        init(_ limit: RecordingLimit) { (turns, bytes) = (limit.turns, limit.bytes) }
    }

    /// True if it ends a recording.
    var isRecording: Bool { number == 0 && id == Self.recordingID }

    /// The limit of the recording that it ends; nil for other reminders.
    package var recordingLimit: RecordingLimit? {
        guard isRecording, let action = try? WireJSON.decode(Action.self, from: action) else { return nil }
        return RecordingLimit(turns: action.turns, bytes: action.bytes)
    }
}

extension SessionCore {
    /// The limit of the session's own recording, also after its end until that is committed; nil if it has none.
    var recording: RecordingLimit? { reminders.lazy.compactMap(\.recording).first }

    /// True if the session's own recording goes on at a time since 1970.
    func isRecorded(now: Duration) -> Bool { reminders.contains { $0.recording != nil && $0.stored.due > now } }

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
        let key = try await awaitResult { session.keep($0) }.get()
        let subject = session.info.subject
        let change = CredentialChange(session: key, expecting: subject, subject: subject, reminders: [reminder])
        try await awaitResult { environment.journal.change(change, done: $0) }.get()
        session.core.withLock { $0.accessChanges += 1 }
        session.note([reminder])
        environment.reminderClock.note(due: until)
        // Another object has replaced this one in memory and may have been loaded before the change.
        if session.hasLeft { find(session.tokenHash, for: .look) { $0.session?.catchUp() } }
        return true
    }
}
