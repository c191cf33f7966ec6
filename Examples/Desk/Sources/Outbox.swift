import Logging
import ServiceLifecycle

/// Sends the mails of the database, each at least once: a mail server can tell a repetition by its id.
struct Outbox: Service {
    let desk: Desk
    let logger: Logger
    let send: @Sendable (Desk.Mail) async throws -> Void

    func run() async throws {
        await withTaskGroup { group in
            group.addTask { await again { try await deliver() } }
            group.addTask { await again { try await desk.watchOthers() } }
            try? await gracefulShutdown()
            group.cancelAll()
        }
        await desk.close()
    }

    private func deliver() async throws {
        for try await case let mail? in await desk.nextMail() {
            try await send(mail)
            // This is a change: the next mail follows.
            try await desk.noteSent(mail)
        }
    }

    /// Runs an operation again a second after it failed.
    private func again(_ operation: () async throws -> Void) async {
        while !Task.isCancelled {
            do { try await operation() } catch {
                if !Task.isCancelled { logger.warning("the desk tries again", metadata: ["error": "\(error)"]) }
            }
            try? await Task.sleep(for: .seconds(1))
        }
    }
}
