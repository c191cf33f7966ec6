import CoreMetrics
import Logging
import MVI
import PrometheusMetrics
import ServiceLifecycle
import SQLiteJournal
import SessionJournal

/// A server for features: sessions, intents, states and streams over HTTP.
///
/// ```swift
/// try await FeatureServer {
///     Counter(numbers: numbers)
///     Keyed(examples: ["42"]) { OrderDetail(id: $0, orders: orders) }
/// }.run()
/// ```
///
/// A program that is nothing but a server is a ``FeatureServerCommand``, which has flags, help and commands.
public struct FeatureServer: Sendable {
    let content: ServerContent
    let directory: SessionDirectory
    let authenticator: (any Authenticator)?
    let middleware: [any CommonMiddleware]
    let page: [PageResource]
    let services: [any Service]
    // What a `FeatureServerCommand` adds where it is nil.
    var settings: ServerSettings?
    var logger: Logger?
    package var journal: (any Journal)?
    var peers: (any PeerTransport)?
    var metrics: (any MetricsFactory)?

    /// A server that does not run yet.
    ///
    /// - Parameters:
    ///   - settings: nil for those of the environment and the configuration file.
    ///   - logger: nil for one called `mvi-server` with the level of the settings.
    ///   - middleware: installed in every store, before the feature's own. Logging is there without it.
    ///   - page: what is shown to a browser.
    ///   - journal: where sessions are kept; nil for what the settings say. The server closes it.
    ///   - authenticator: finds out who clients are; nil for anonymous sessions only, unless the settings name a header.
    ///   - services: what the features need, such as a database: started before the first request is taken, stopped
    ///     after the last was answered.
    ///   - peers: how other servers with the same journal are reached, which has to be a `PostgresJournal`: `PostgresServer` has
    ///     one. Nil for one server. The server closes it.
    ///   - metrics: where metrics go: with a `PrometheusRegistry` they are read at `/metrics` on the admin port; give the
    ///     same to `MetricsSystem.bootstrap` to have those of features among them. Nil for one of its own.
    ///   - content: what is served.
    public init(
        settings: ServerSettings? = nil, logger: Logger? = nil, middleware: [any CommonMiddleware] = [],
        page: [PageResource] = [], journal: (any ServerJournal)? = nil, authenticator: (any Authenticator)? = nil,
        services: [any Service] = [], peers: (any PeerTransport)? = nil,
        metrics: (any MetricsFactory)? = nil, @FeatureBuilder content: () throws -> ServerContent
    ) rethrows {
        try self.init(
            settings: settings, logger: logger, middleware: middleware, page: page, journal: journal,
            authenticator: authenticator, services: services, peers: peers, metrics: metrics
        ) { _ in try content() }
    }

    /// The same for features that reach the server's sessions, such as an administrator's list of them.
    ///
    /// ```swift
    /// try await FeatureServer { sessions in
    ///     SessionList(sessions: sessions).requires { $0.claim("role") == "admin" }
    /// }.run()
    /// ```
    ///
    /// They use the directory in launched work.
    public init(
        settings: ServerSettings? = nil, logger: Logger? = nil, middleware: [any CommonMiddleware] = [],
        page: [PageResource] = [], journal: (any ServerJournal)? = nil, authenticator: (any Authenticator)? = nil,
        services: [any Service] = [], peers: (any PeerTransport)? = nil,
        metrics: (any MetricsFactory)? = nil,
        @FeatureBuilder content: (_ sessions: SessionDirectory) throws -> ServerContent
    ) rethrows {
        self.authenticator = authenticator
        self.settings = settings
        self.logger = logger
        self.middleware = middleware
        self.page = page
        self.journal = journal as? any Journal
        precondition(journal == nil || self.journal != nil, "a server takes no journal of another library")
        self.services = services
        (self.peers, self.metrics) = (peers, metrics)
        directory = SessionDirectory()
        self.content = try content(directory)
    }

    /// Serves until the process gets SIGTERM or SIGINT: then it is not ready any more, streams are told to go and
    /// closed, requests that wait are answered, and it returns, within the settings' `grace`.
    ///
    /// Throws before anything is served: `FeatureDefinitionError` for a feature whose name or examples do not fit the
    /// wire, `SettingError` for a setting, `PageResourceError` for a page, `EndpointError` for an endpoint, `HTTPServerError` for an address that cannot
    /// be listened on. `SettingError` also if the settings name PostgreSQL and the server was not given the journal: its module
    /// is one that most servers do not build.
    public func run() async throws {
        let settings: ServerSettings
        if let given = self.settings { settings = given } else { settings = try ServerSettings.load() }
        let own = self.logger ?? Self.logger(settings)
        let logger = Self.bounded(own)
        let journal = try await openJournal(settings, logger)
        let assembly = try Assembly(
            content, settings: settings, logger: logger, middleware: middleware, page: page, journal: journal,
            authenticator: authenticator, directory: directory,
            peers: journal is any SharedJournal ? peers : nil, systemd: SystemdNotifier(logger: logger),
            observation: ServerObservation(metrics ?? PrometheusRegistry(), tracer: ServerObservation.tracer),
            accessLog: settings.accessLog ? Self.unbounded(own) : nil)
        let watchdog = StopWatchdog(grace: settings.grace, logger: logger) { assembly.openWork }
        var configuration = ServiceGroupConfiguration(
            services: services.map { Self.named("\(type(of: $0))", watchdog.watched($0, "\(type(of: $0))")) } + [
                // Stopped in the opposite order: after the last answer was sent.
                Self.named("journal", watchdog.watched(JournalService(sessions: assembly.sessions), "journal")),
                Self.named("session sweeper", SessionSweeper(sessions: assembly.sessions, logger: logger)),
                Self.named("reminders", ReminderService(sessions: assembly.sessions)),
                Self.named("nodes", NodeService(assembly)),
                Self.named("parts monitor", assembly.monitor),
                Self.named(
                    "systemd watchdog", SystemdWatchdog(notifier: assembly.systemd, monitor: assembly.monitor)),
                Self.named(
                    "requests and streams", watchdog.watched(HTTPService(assembly), "requests and streams")),
                Self.named("stop watchdog", watchdog.service),
            ],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // What heeds its cancellation ends by it; the watchdog, a little later, is for what does not.
        configuration.maximumGracefulShutdownDuration = max(settings.grace / 2, settings.grace - .milliseconds(1_500))
        watchdog.install()
        defer { watchdog.finish() }
        do {
            try await ServiceGroup(configuration: configuration).run()
        } catch {
            await peers?.close()
            throw error
        }
        await peers?.close()
        logger.info("Stopped")
    }

    /// A service under a name: the group would log a service as its members, and with them what an author's one, or the
    /// settings, keep secret.
    private static func named(
        _ name: String, _ service: any Service
    ) -> ServiceGroupConfiguration.ServiceConfiguration {
        .init(service: service, serviceName: name)
    }

    /// Returns the wire types of the server's features. Throws as `FeatureTypes.init` does.
    public func types() throws -> FeatureTypes { try FeatureTypes(content) }

    private func openJournal(_ settings: ServerSettings, _ logger: Logger) async throws -> any Journal {
        if let journal { return journal }
        if case .postgres = settings.journal {
            throw SettingError(
                name: "journal", given: "postgres",
                expected:
                    "sqlite or memory: this server was built without PostgreSQL (see FeatureServerCommand.sharedStorage)"
            )
        }
        guard settings.journal == .sqlite, let folder = settings.dataFolder else {
            logger.notice("Sessions are kept in memory only: they end with the process")
            return MemoryJournal(sessionLimit: settings.maxKeptSessions)
        }
        return try await SQLiteJournal.open(
            directory: folder, logger: logger, commitWindow: settings.commitWindow,
            sessionLimit: settings.maxKeptSessions)
    }

    private static func bounded(_ logger: Logger) -> Logger {
        let clock = ContinuousClock()
        let start = clock.now
        return Logger(label: logger.label) { _ in BoundedLogHandler(logger.handler) { clock.now - start } }
    }

    /// For the access log: all its lines are wanted.
    private static func unbounded(_ logger: Logger) -> Logger {
        var logger = Logger(label: "\(logger.label).access") { _ in BoundedLogHandler(unbounded: logger.handler) }
        logger.logLevel = .info
        return logger
    }

    private static func logger(_ settings: ServerSettings) -> Logger {
        var logger = Logger(label: "mvi-server") { settings.logFormat.handler(label: $0) }
        logger.logLevel = settings.logLevel
        return logger
    }
}
