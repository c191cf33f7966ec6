import CoreMetrics
import MicroHTTP
import Sessions

/// The current values of a server, read for each request of `/metrics`.
final class ServerGauges: Sendable {
    private let sessions: SessionTable
    private let http: HTTPServer
    private let isReady: @Sendable () -> Bool
    private let meters: [(meter: Meter, value: @Sendable (Reading) -> Double)]
    private let work: [(meter: Meter, feature: FeatureMetrics)]
    private let droppedLines: CountCopy
    /// Nil without a shared journal.
    private let nodes: NodeGauges?

    /// Values that take a system call or a lock, read once for several meters.
    struct Reading {
        let http: HTTPServerStatistics
        let sessions: SessionTable
        let isReady: Bool
    }

    init(
        _ factory: any MetricsFactory, _ sessions: SessionTable, _ http: HTTPServer,
        isReady: @escaping @Sendable () -> Bool
    ) {
        (self.sessions, self.http, self.isReady) = (sessions, http, isReady)
        func meter(_ name: String, _ value: @escaping @Sendable (Reading) -> Double) -> (
            Meter, @Sendable (Reading) -> Double
        ) {
            (Meter(label: name, factory: factory), value)
        }
        meters = [
            meter("mvi_streams_open") { Double($0.http.openStreams) },
            meter("mvi_connections_open") { Double($0.http.openConnections) },
            meter("mvi_requests_open") { Double($0.http.openRequests) },
            meter("mvi_requests_waiting") { Double($0.sessions.environment.openWaits) },
            meter("mvi_sessions_in_memory") { Double($0.sessions.count) },
            meter("mvi_stores_in_memory") { Double($0.sessions.environment.metrics.storesInMemory) },
            meter("mvi_journal_in_trouble") { $0.sessions.environment.journal.trouble == nil ? 0 : 1 },
            meter("mvi_ready") { $0.isReady ? 1 : 0 },
        ]
        work = sessions.environment.features.definitions.compactMap { definition in
            sessions.environment.metrics.of(definition.name).map { feature in
                let dimensions = [("feature", definition.name)]
                return (Meter(label: "mvi_work_running", dimensions: dimensions, factory: factory), feature)
            }
        }
        droppedLines = CountCopy("mvi_log_lines_dropped_total", [], factory)
        nodes = sessions.nodeFigures.map { _ in NodeGauges(factory) }
        Meter(label: "mvi_build_info", dimensions: [("version", ServerVersion.number)], factory: factory).set(1)
    }

    /// Sets all meters.
    func update() {
        let reading = Reading(http: http.statistics, sessions: sessions, isReady: isReady())
        for (meter, value) in meters { meter.set(value(reading)) }
        for (meter, feature) in work { meter.set(feature.runningWork) }
        droppedLines.set(LogOutput.standard.dropped)
        if let nodes, let figures = sessions.nodeFigures { nodes.update(figures) }
    }
}
