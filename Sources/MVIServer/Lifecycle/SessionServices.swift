import Logging
import ServiceLifecycle
import SessionJournal
import Sessions

/// Closes what sessions are kept in when no request can change them any more.
struct JournalService: Service {
    let sessions: SessionTable

    func run() async throws {
        // However the end comes, what is known now is kept.
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

/// Ends sessions whose time is over, a bounded number at a time, and logs what stores missed meanwhile.
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
