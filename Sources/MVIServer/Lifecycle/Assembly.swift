import Logging
import MVI
import MicroHTTP
import SessionJournal
import Sessions

/// The parts of one server, put together: nothing listens yet.
struct Assembly: Sendable {
    let settings: ServerSettings
    let logger: Logger
    let sessions: SessionTable
    let application: Application
    let http: HTTPServer
    /// Health checks on an address of their own.
    let admin: HTTPServer?
    /// Whether the parts answer.
    let monitor: PartsMonitor
    let hasPage: Bool

    /// - Parameters:
    ///   - directory: what the features reach the sessions by.
    ///   - adapt: lets a test give the sessions its own time, clock and journal.
    init(
        _ content: ServerContent, settings: ServerSettings, logger: Logger,
        middleware: [any CommonMiddleware] = [], page: [PageResource] = [],
        journal: any Journal = MemoryJournal(), authenticator: (any Authenticator)? = nil,
        directory: SessionDirectory = SessionDirectory(),
        adapt: (FeatureRegistry, SessionLimits, [any CommonMiddleware]) -> SessionEnvironment? = { _, _, _ in nil }
    ) throws {
        let registry = try FeatureRegistry(try content.features.map { try $0.definition(logger) })
        let logging = LoggingMiddleware(logger: logger, valueLength: settings.logValueBytes)
        let environment =
            adapt(registry, settings.sessionLimits, [logging] + middleware)
            ?? SessionEnvironment(
                features: registry, limits: settings.sessionLimits, journal: journal,
                middleware: [logging] + middleware,
                heartbeat: Int(settings.heartbeat.components.seconds), report: { StoreReportLog.log($0, logger) })
        self.settings = settings
        self.logger = logger
        sessions = SessionTable(environment: environment)
        directory.connect(sessions)
        hasPage = page.contains { $0.path == "/" }
        let parts = ServerParts(sessions)
        monitor = parts.monitor
        application = try Application(
            sessions, settings, page: page, endpoints: content.endpoints,
            authenticator: authenticator ?? settings.identityHeader.map { HeaderAuthenticator(field: $0) },
            monitor: monitor, logger: logger)
        http = HTTPServer(
            configuration: settings.http, logger: logger,
            handler: application)
        parts.setServer(http)
        admin = try Self.admin(sessions, settings, monitor, logger)
    }

    /// What is under way, for a log.
    var openWork: String {
        let statistics = http.statistics
        return "\(statistics.openRequests) requests, \(statistics.openStreams) streams"
    }

    private static func admin(
        _ sessions: SessionTable, _ settings: ServerSettings, _ monitor: PartsMonitor, _ logger: Logger
    ) throws -> HTTPServer? {
        guard let port = settings.adminPort else { return nil }
        var configuration = HTTPServerConfiguration(host: settings.adminHost, port: port)
        configuration.threads = 1
        // Silent connections of one address leave room for others, and are gone soon.
        configuration.connectionLimit = 256
        configuration.connectionsPerAddress = 32
        configuration.headTimeout = .seconds(2)
        configuration.idleTimeout = .seconds(5)
        return HTTPServer(
            configuration: configuration, logger: logger,
            handler: try Application(sessions, settings, isAdmin: true, monitor: monitor))
    }
}
