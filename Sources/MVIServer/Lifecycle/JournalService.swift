import ServiceLifecycle
import SessionJournal
import Sessions

/// Closes what sessions are kept in when nobody can change them any more.
struct JournalService: Service {
    let sessions: SessionTable

    func run() async throws {
        // However the end comes, what is known now is kept.
        try? await gracefulShutdown()
        await sessions.flush()
        await sessions.environment.journal.close()
    }
}
