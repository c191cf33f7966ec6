import Locking
import Logging
import MVI
import ServiceLifecycle
import SessionJournal
import Sessions

/// A server inside a test's process, on the loopback interface: with the test's journal and time, without signals, and
/// without services that act as time passes. The test does their work.
package final class HostedServer: Sendable {
    private let assembly: Assembly
    private let group: ServiceGroup?
    private let services: Lock<Task<Void, any Error>?>

    fileprivate static let silent = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

    /// The port; chosen by the system if it was created with 0.
    package var port: UInt16 { assembly.http.port }
    package var sessions: SessionTable { assembly.sessions }

    /// Creates a server that does not run yet. It uses its given settings only, never the environment's.
    ///
    /// - Parameter authenticator: wraps the server's authenticator.
    /// - Throws: the errors of `FeatureServer.run()` before anything is served.
    package init(
        _ server: FeatureServer, port: UInt16, journal: any Journal, time: TimeSource, clock: any Clock<Duration>,
        executor: any TaskExecutor, authenticator: ((any Authenticator)?) -> any Authenticator
    ) throws {
        var settings = server.settings ?? ServerSettings()
        // All clients of a test have the same address.
        if server.settings == nil { settings.sessionRate = 0 }
        (settings.host, settings.port, settings.adminPort) = ("127.0.0.1", port, nil)
        let logger = server.logger ?? Self.silent
        assembly = try Assembly(
            server.content, settings: settings, logger: logger, middleware: server.middleware, page: server.page,
            authenticator: authenticator(settings.authenticator(server.authenticator)), directory: server.directory,
            observation: server.metrics.map { ServerObservation($0) } ?? ServerObservation(),
            adapt: { parts in
                SessionEnvironment(
                    features: parts.features, limits: parts.limits, journal: journal, time: time, clock: clock,
                    executor: executor, middleware: parts.middleware, metrics: parts.metrics, report: parts.report)
            })
        group =
            server.services.isEmpty
            ? nil
            : ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: server.services.map { .init(service: $0) }, logger: logger))
        services = Lock(nil)
    }

    /// Starts the server's services and listens.
    ///
    /// - Throws: `HTTPServerError`.
    package func start() throws {
        if let group { services.withLock { $0 = Task { try await group.run() } } }
        try assembly.listen()
    }

    /// Stops like a process at SIGTERM. The journal stays open.
    ///
    /// - Throws: the error of a service that failed.
    package func stop() async throws {
        sessions.drain()
        await assembly.http.shutdown(grace: .seconds(2))
        await sessions.flush()
        await group?.triggerGracefulShutdown()
        try await services.withLock { $0.take() }?.value
    }
}

extension FeatureServerCommand {
    /// Returns the command's server for a test.
    ///
    /// - Parameter data: the data folder; `:memory:` for none.
    package func hosted(data: String) async throws -> FeatureServer {
        var settings = ServerSettings()
        settings.data = data
        if settings.dataFolder == nil { settings.journal = .memory }
        return try await server(ServerStart(settings: settings, logger: HostedServer.silent, isServing: true))
    }
}
