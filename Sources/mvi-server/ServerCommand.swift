import ArgumentParser
import DemoFeatures
import JWTAuthentication
import CoreMetrics
import Logging
import MVIServer
import NodeTransport
import PostgresJournal
import PrometheusMetrics
import SessionJournal

/// `mvi-server`: serves the demo features.
@main
struct ServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mvi-server",
        abstract: "Serve MVI features over HTTP: clients post intents, and read states and labels.",
        discussion: """
            Every flag can also be given as the environment variable in brackets, or in a JSON file (--config). A flag \
            beats a variable, a variable the file. Times are written 500ms, 20s, 5m or 24h, bytes 65536, 64KiB or 1MiB.
            """,
        version: ServerVersion.number,
        subcommands: [
            HealthCommand.self,
            BackupCommand.self,
            RestoreCommand.self,
            SessionsCommand.self,
            ExportCommand.self,
            SchemaCommand.self,
            TypesCommand.self,
            TopCommand.self,
            DoctorCommand.self,
        ])

    @OptionGroup var flags: ServerFlags

    func run() async throws {
        let settings: ServerSettings
        let demo: DemoSettings
        let jwt: JWTSettings?
        do {
            (settings, demo, jwt) = try await self.settings()
        } catch let error as SettingError {
            throw ValidationError("\(error)")
        }
        LoggingSystem.bootstrap { settings.logFormat.handler(label: $0) }
        let registry = PrometheusRegistry()
        MetricsSystem.bootstrap(registry)
        var logger = Logger(label: "mvi-server")
        logger.logLevel = settings.logLevel
        do {
            try await serve(settings, demo, jwt, logger, registry)
        } catch {
            StandardError.say("cannot serve: \(error)")
            throw ExitCode(1)
        }
    }

    private func serve(
        _ settings: ServerSettings, _ demoSettings: DemoSettings, _ jwt: JWTSettings?, _ logger: Logger,
        _ registry: PrometheusRegistry
    ) async throws {
        var authenticator: JWTAuthenticator?
        if let jwt { authenticator = try await JWTAuthenticator(jwt, logger: logger) }
        let demo = try Demo(
            databasePath: try settings.dataFile("demo.sqlite"),
            conditions: DemoConditions(
                latency: demoSettings.latency,
                failures: demoSettings.failures == 0 ? .none : .rate(Double(demoSettings.failures) / 100)),
            logger: logger)
        try await FeatureServer(
            settings: settings, logger: logger, page: Demo.page, journal: try await sharedJournal(settings, logger),
            authenticator: authenticator, services: [demo], peers: peers(settings), metrics: registry
        ) {
            demo.features
        }.run()
    }

    /// The journal in PostgreSQL if the settings name it; the server opens all others by itself.
    private func sharedJournal(_ settings: ServerSettings, _ logger: Logger) async throws -> (any Journal)? {
        guard case .postgres(let url) = settings.journal else { return nil }
        return try await PostgresJournal.open(
            database: url, schema: settings.journalSchema, connections: settings.journalConnections,
            listenDatabase: settings.journalListen, logger: logger, sessionLimit: settings.maxKeptSessions)
    }

    /// How the servers that share PostgreSQL reach each other.
    private func peers(_ settings: ServerSettings) -> (any PeerTransport)? {
        guard case .postgres = settings.journal else { return nil }
        return HTTPPeerTransport()
    }

    /// What a configuration file may set.
    static let settingNames =
        ServerSettings.catalogue.map(\.name) + DemoSettings.catalogue.map(\.name) + JWTSettings.names

    /// The server's settings, the demo's and those of JWTs, from flags, environment and file.
    func settings() async throws -> (server: ServerSettings, demo: DemoSettings, jwt: JWTSettings?) {
        let source = try await SettingsSource(flags: flags.given, known: Self.settingNames)
        var (server, demo) = (ServerSettings(), DemoSettings())
        try source.apply(ServerSettings.catalogue, to: &server)
        try source.apply(DemoSettings.catalogue, to: &demo)
        return (server, demo, try JWTSettings.read(source))
    }
}
