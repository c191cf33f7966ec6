import Logging
import ServiceLifecycle

/// Takes commands over a socket in the data folder while the process runs.
package struct ControlService: Service {
    private let folder: String
    private let commands: [ControlCommand]
    private let logger: Logger

    /// - Parameter folder: one that no other process serves from.
    package init(folder: String, commands: [ControlCommand], logger: Logger) {
        self.folder = folder
        self.commands = commands
        self.logger = logger
    }

    package func run() async throws {
        do {
            let server = try ControlServer.start(folder: folder, commands: commands)
            try? await gracefulShutdown()
            await server.stop()
        } catch {
            // Clients are served without it.
            logger.warning(
                "Commands such as a backup cannot reach this server while it runs", metadata: ["reason": "\(error)"])
            try? await gracefulShutdown()
        }
    }
}
