import Logging
import MVI
import MicroHTTP
import Schema
import SessionJournal
import Sessions
import Tracing

/// The environment of sessions, except time, clock and journal.
struct EnvironmentParts: Sendable {
    let features: FeatureRegistry
    let limits: SessionLimits
    let middleware: [any CommonMiddleware]
    let metrics: SessionMetrics
    let tracer: (any Tracer)?
    let report: @Sendable (StoreReport) -> Void
}

/// The connected parts of one server, which does not listen yet.
struct Assembly: Sendable {
    let settings: ServerSettings
    let logger: Logger
    let sessions: SessionTable
    let application: Application
    let http: HTTPServer
    /// The server of the admin port.
    let admin: HTTPServer?
    /// The application of the admin port.
    let adminApplication: Application?
    /// Monitors the parts.
    let monitor: PartsMonitor
    let hasPage: Bool
    /// The connection to other nodes; nil without them.
    let link: NodeLink?
    /// Notifies systemd; nil without it.
    let systemd: SystemdNotifier?

    /// - Parameters:
    ///   - peers: the transport to other nodes; nil without them.
    ///   - systemd: notifies systemd; nil without it.
    ///   - directory: the features' access to the sessions.
    ///   - observation: the destination of metrics and traces.
    ///   - accessLog: logs each answer; nil for none.
    ///   - adapt: lets a test replace time, clock and journal.
    init(
        _ content: ServerContent, settings: ServerSettings, logger: Logger,
        middleware: [any CommonMiddleware] = [], page: [PageResource] = [],
        journal: any Journal = MemoryJournal(), authenticator: (any Authenticator)? = nil,
        directory: SessionDirectory = SessionDirectory(), peers: (any PeerTransport)? = nil,
        systemd: SystemdNotifier? = nil, observation: ServerObservation = ServerObservation(),
        accessLog: Logger? = nil, adapt: (EnvironmentParts) -> SessionEnvironment? = { _ in nil }
    ) throws {
        var settings = settings
        settings.makeInspectorToken()
        let registry = try FeatureRegistry(try content.features.map { try $0.definition(makesExamples: true, logger) })
        for feature in registry.definitions { _ = try FeatureShape(checking: feature) }
        let names = registry.definitions.map(\.name)
        let storeMetrics = StoreMetrics(observation.factory, features: names)
        let logging = LoggingMiddleware(logger: logger, valueLength: settings.logValueBytes)
        let parts = EnvironmentParts(
            features: registry, limits: settings.sessionLimits, middleware: [logging] + middleware,
            metrics: SessionMetrics(observation.factory, features: names), tracer: observation.tracer
        ) { report in
            storeMetrics.note(report)
            StoreReportLog.log(report, logger)
        }
        let environment =
            adapt(parts)
            ?? SessionEnvironment(
                features: parts.features, limits: parts.limits, journal: journal, middleware: parts.middleware,
                heartbeat: Int(settings.heartbeat.components.seconds), metrics: parts.metrics, tracer: parts.tracer,
                report: parts.report)
        environment.journal.measure(by: TransactionMetrics(observation.factory))
        self.settings = settings
        self.logger = logger
        self.systemd = systemd
        sessions = SessionTable(environment: environment)
        directory.connect(sessions)
        hasPage = page.contains { $0.path == "/" }
        let monitored = ServerParts(sessions)
        monitor = monitored.monitor
        let link = peers.flatMap { NodeLink($0, environment, logger: logger) }
        self.link = link
        let authenticator = settings.authenticator(authenticator)
        application = try Application(
            sessions, settings, page: page, endpoints: content.endpoints,
            authenticator: authenticator,
            monitor: monitor, link: link, observation: observation, accessLog: accessLog, logger: logger)
        http = HTTPServer(
            configuration: settings.http(hasNodes: link != nil), logger: logger, handler: application)
        monitored.setServer(http)
        adminApplication =
            try settings.adminPort == nil
            ? nil
            : Application(
                sessions, settings, isAdmin: true, issuers: authenticator?.issuers ?? [], monitor: monitor,
                observation: observation, logger: logger)
        admin = adminApplication.map { Self.admin(settings, $0, logger) }
        let readiness = Readiness(sessions: sessions, monitor: monitor)
        observation.watch(ServerGauges(observation.factory, sessions, http) { readiness.problem == nil })
    }

    /// Listens. The journal's results arrive on the threads of the connections from now on.
    func listen() throws(HTTPServerError) {
        try http.start()
        sessions.environment.journal.complete(on: http.loops)
        // Before recordings need the key of pseudonyms.
        sessions.refreshSeal()
    }

    /// The address at which other nodes reach this one. Known after the start of listening if the system chooses the
    /// port.
    var nodeAddress: String { settings.ownAddress(port: http.port) }

    /// True if requests are accepted.
    var isListening: Bool { http.port != 0 }

    /// A description of the open work, for a log.
    var openWork: String {
        let statistics = http.statistics
        return "\(statistics.openRequests) requests, \(statistics.openStreams) streams"
    }

    private static func admin(
        _ settings: ServerSettings, _ application: Application, _ logger: Logger
    ) -> HTTPServer {
        var configuration = HTTPServerConfiguration(host: settings.adminHost, port: settings.adminPort ?? 0)
        configuration.threads = 1
        configuration.bodyLimit = settings.bodyLimit
        configuration.bodyBudget = settings.bodyMemory
        // Idle connections of one address leave room for others, and end soon.
        configuration.connectionLimit = 256
        configuration.connectionsPerAddress = 32
        configuration.headTimeout = .seconds(2)
        configuration.idleTimeout = .seconds(5)
        return HTTPServer(configuration: configuration, logger: logger, handler: application)
    }
}

extension ServerSettings {
    /// Returns the program's own authenticator, or else the one of the settings.
    func authenticator(_ own: (any Authenticator)?) -> (any Authenticator)? {
        own ?? identityHeader.map { HeaderAuthenticator(field: $0) }
    }
}
