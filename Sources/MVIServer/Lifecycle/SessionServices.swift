import Logging
import ServiceLifecycle
import SessionJournal
import Sessions

/// Closes the journal when no request can change sessions any more.
struct JournalService: Service {
    let sessions: SessionTable

    func run() async throws {
        // Everything known is written, whatever ends the service.
        try? await gracefulShutdown()
        await sessions.flush()
        await sessions.environment.journal.close()
    }
}

/// Fires reminders when they are due.
struct ReminderService: Service {
    let sessions: SessionTable

    func run() async throws {
        await cancelWhenGracefulShutdown { await sessions.runReminders() }
    }
}

/// Ends expired sessions, a bounded number at a time, and logs the stores' diagnostics.
struct SessionSweeper: Service {
    private static let interval: Duration = .seconds(5)

    let sessions: SessionTable
    let logger: Logger

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            var log = DiagnosticsLog(logger)
            while !Task.isCancelled {
                do { try await Task.sleep(for: Self.interval) } catch is CancellationError { return }
                sessions.sweep()
                log.note(sessions.diagnostics)
            }
        }
    }
}
