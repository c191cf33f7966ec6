import ArgumentParser
import MVIServer

/// `mvi-server health`: for a container's health check, where there may be no curl.
struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a server on this machine whether it is ready.",
        discussion: """
            Takes --port (or MVI_PORT) and --host as the server does. Exit code 0 if it is ready, 1 if not, with the \
            reason on standard error.
            """)

    @ParentCommand var server: ServerCommand

    func run() async throws {
        let settings = try await server.settings().server
        // A server that listens everywhere is asked at home.
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][settings.host] ?? settings.host
        do {
            let status = try HealthProbe.status(host: host, port: settings.port, path: "/health/ready")
            guard status == 200 else { throw HealthProbe.Failure("the server answered \(status)") }
        } catch {
            StandardError.say("not ready: \(error)")
            throw ExitCode(1)
        }
    }
}
