import Locking
import SessionJournal

extension Journal {
    /// Adds recordings of a session's turns.
    package func record(_ turns: [RecordedTurn], of session: SessionKey, keeping count: Int) async throws {
        let recordings = [SessionRecordings(session, turns, RecordingLimit(turns: count))]
        try await awaitResult { record(recordings, done: $0) }.get()
    }
}
