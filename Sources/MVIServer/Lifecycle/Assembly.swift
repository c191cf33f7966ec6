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
    /// The way to other nodes; nil where there are none.
    let link: NodeLink?

    /// - Parameters:
    ///   - peers: how other nodes are reached; nil where there are none.
    ///   - node: this one's name among them.
    ///   - owner: which other node runs a session's turns.
    ///   - directory: what the features reach the sessions by.
    ///   - adapt: lets a test give the sessions its own time, clock and journal.
    init(
        _ content: ServerContent, settings: ServerSettings, logger: Logger,
        middleware: [any CommonMiddleware] = [], page: [PageResource] = [],
        journal: any Journal = MemoryJournal(), authenticator: (any Authenticator)? = nil,
        directory: SessionDirectory = SessionDirectory(), peers: (any PeerTransport)? = nil,
        node: NodeID = .random(), owner: @escaping @Sendable (Session) -> NodeRecord? = { $0.owningNode },
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
        let link = peers.map { NodeLink(node, $0, environment, logger: logger) }
        self.link = link
        application = try Application(
            sessions, settings, page: page, endpoints: content.endpoints,
            authenticator: authenticator ?? settings.identityHeader.map { HeaderAuthenticator(field: $0) },
            monitor: monitor, link: link, owner: owner, logger: logger)
        http = HTTPServer(
            configuration: settings.http(hasNodes: link != nil), logger: logger, handler: application)
        parts.setServer(http)
        admin = try Self.admin(sessions, settings, monitor, logger)
    }

    /// Where other nodes reach this one. Known when it listens, if the system gives the port.
    var nodeAddress: String { settings.ownAddress(port: http.port) }

    /// Whether requests are taken.
    var isListening: Bool { http.port != 0 }

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
