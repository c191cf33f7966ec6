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
/// For a program that is only a server, use ``FeatureServerCommand``, which has flags, help and commands.
public struct FeatureServer: Sendable {
    let content: ServerContent
    let directory: SessionDirectory
    let authenticator: (any Authenticator)?
    let middleware: [any CommonMiddleware]
    let page: [PageResource]
    let services: [any Service]
    // A `FeatureServerCommand` fills in the nil values.
    var settings: ServerSettings?
    var logger: Logger?
    package var journal: (any Journal)?
    var peers: (any PeerTransport)?
    var metrics: (any MetricsFactory)?

    /// Creates a server that does not run yet.
    ///
    /// - Parameters:
    ///   - settings: nil to read the environment and the configuration file.
    ///   - logger: nil for a logger `mvi-server` with the level of the settings.
    ///   - middleware: added to every store, before the feature's own. Logging is built in.
    ///   - page: the files to show in a browser.
    ///   - journal: the journal; nil for that of the settings. The server closes it.
    ///   - authenticator: identifies clients; nil for anonymous sessions only, unless the settings name a header.
    ///   - services: services that the features need, such as a database: started before the first request, stopped
    ///     after the last answer.
    ///   - peers: the transport to other servers with the same `PostgresJournal`; `PostgresServer` has one. Nil for a
    ///     single server. The server closes it.
    ///   - metrics: the destination of metrics. With a `PrometheusRegistry`, `/metrics` on the admin port prints them;
    ///     pass the same to `MetricsSystem.bootstrap` to include the features' metrics. Nil for a registry of its own.
    ///   - onForget: deletes a subject's data outside the sessions, such as an author's own tables. Called before the
    ///     rows of the sessions go, again at each repetition; if it throws, nothing is deleted.
    ///   - content: the features and endpoints.
    public init<Fault: Error>(
        settings: ServerSettings? = nil, logger: Logger? = nil, middleware: [any CommonMiddleware] = [],
        page: [PageResource] = [], journal: (any ServerJournal)? = nil, authenticator: (any Authenticator)? = nil,
        services: [any Service] = [], peers: (any PeerTransport)? = nil,
        metrics: (any MetricsFactory)? = nil, onForget: (@Sendable (Subject) async throws -> Void)? = nil,
        @FeatureBuilder content: () throws(Fault) -> ServerContent
    ) throws(Fault) {
        try self.init(
            settings: settings, logger: logger, middleware: middleware, page: page, journal: journal,
            authenticator: authenticator, services: services, peers: peers, metrics: metrics, onForget: onForget
        ) { _ throws(Fault) in try content() }
    }

    /// Creates a server whose features access its sessions, such as an administrator's list of them.
    ///
    /// ```swift
    /// try await FeatureServer { sessions in
    ///     SessionList(sessions: sessions).requires { $0.claim("role") == "admin" }
    /// }.run()
    /// ```
    ///
    /// They use the directory in launched work.
    public init<Fault: Error>(
        settings: ServerSettings? = nil, logger: Logger? = nil, middleware: [any CommonMiddleware] = [],
        page: [PageResource] = [], journal: (any ServerJournal)? = nil, authenticator: (any Authenticator)? = nil,
        services: [any Service] = [], peers: (any PeerTransport)? = nil,
        metrics: (any MetricsFactory)? = nil, onForget: (@Sendable (Subject) async throws -> Void)? = nil,
        @FeatureBuilder content: (_ sessions: SessionDirectory) throws(Fault) -> ServerContent
    ) throws(Fault) {
        self.authenticator = authenticator
        self.settings = settings
        self.logger = logger
        self.middleware = middleware
        self.page = page
        self.journal = journal as? any Journal
        precondition(journal == nil || self.journal != nil, "a server cannot use a custom journal")
        self.services = services
        (self.peers, self.metrics) = (peers, metrics)
        directory = SessionDirectory()
        if let onForget { directory.onForget(onForget) }
        self.content = try content(directory)
    }

    /// Serves until SIGTERM, SIGINT or SIGHUP. Then the server is not ready, streams are asked to end and closed, waiting
    /// requests are answered, and the call returns within the settings' `grace`.
    ///
    /// Throws before anything is served: `FeatureDefinitionError` for a feature's invalid name, examples or types,
    /// `SettingError` for a setting, `PageResourceError` for a page, `EndpointError` for an endpoint, `HTTPServerError`
    /// for an address. `SettingError` also if the settings name PostgreSQL but the program was built without its
    /// module.
    public func run() async throws {
        let settings: ServerSettings
        if let given = self.settings { settings = given } else { settings = try ServerSettings.load() }
        let own = self.logger ?? Self.logger(settings)
        let logger = Self.bounded(own)
        if self.settings == nil { EnvironmentCheck(nil, ServerSettings.catalogue).warnOfServiceLinks(logger) }
        let journal = try await openJournal(settings, logger)
        let assembly = try Assembly(
            content, settings: settings, logger: logger, middleware: middleware, page: page, journal: journal,
            authenticator: authenticator, directory: directory,
            peers: peers, systemd: SystemdNotifier(logger: logger),
            observation: ServerObservation(metrics ?? PrometheusRegistry(), tracer: ServerObservation.tracer),
            accessLog: settings.accessLog ? Self.unbounded(own) : nil)
        let watchdog = StopWatchdog(grace: settings.grace, logger: logger) { assembly.openWork }
        var configuration = ServiceGroupConfiguration(
            services: services.map { Self.named("\(type(of: $0))", watchdog.watched($0, "\(type(of: $0))")) } + [
                // Services stop in the reverse order: this one after the last answer.
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
            gracefulShutdownSignals: [.sigterm, .sigint] + (StopWatchdog.heedsHangUp ? [.sighup] : []), logger: logger)
        // Services that react to cancellation end in time; the watchdog, a little later, is for the others.
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

    /// Wraps a service with a name: the group would log the service's properties, which may contain secrets.
    private static func named(
        _ name: String, _ service: any Service
    ) -> ServiceGroupConfiguration.ServiceConfiguration {
        .init(service: service, serviceName: name)
    }

    /// Returns the wire types of the server's features. Throws the errors of `FeatureTypes.init`.
    public func types() throws -> FeatureTypes { try FeatureTypes(content) }

    func openJournal(_ settings: ServerSettings, _ logger: Logger) async throws -> any Journal {
        if let journal { return journal }
        if case .postgres = settings.journal {
            throw SettingError(
                name: "journal", given: "postgres",
                expected:
                    "sqlite or memory: this server was built without PostgreSQL (see FeatureServerCommand.sharedStorage)"
            )
        }
        guard settings.journal == .sqlite, let folder = settings.dataFolder else {
            logger.notice("Sessions are in memory only: they end with the process")
            return MemoryJournal(sessionLimit: settings.maxKeptSessions, spaceLimit: settings.maxSpaces)
        }
        return try await SQLiteJournal.open(
            directory: folder, logger: logger, commitWindow: settings.commitWindow,
            sessionLimit: settings.maxKeptSessions, spaceLimit: settings.maxSpaces)
    }

    private static func bounded(_ logger: Logger) -> Logger {
        let clock = ContinuousClock()
        let start = clock.now
        return Logger(label: logger.label) { _ in BoundedLogHandler(logger.handler) { clock.now - start } }
    }

    /// Returns a logger without limits, for the access log.
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
