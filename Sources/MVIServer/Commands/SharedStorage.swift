import Logging
import PrometheusMetrics
import SessionJournal

/// The storage of servers that share sessions, for a `FeatureServerCommand`: `SharedStorage.postgres` of the product
/// `PostgresServer`.
public struct SharedStorage: Sendable {
    /// Opens the journal of the settings. The server closes it.
    let journal: @Sendable (_ settings: ServerSettings, _ logger: Logger) async throws -> any SharedJournal
    /// Creates or updates the journal's schema, and grants its use to a role if one is given. Blocks until it is done.
    let migrate: @Sendable (_ settings: ServerSettings, _ role: String?) throws -> Void
    /// Creates the transport between the servers. The server closes it.
    let peers: @Sendable () -> any PeerTransport
    /// Opens the same journal for maintenance commands.
    let maintenance: @Sendable (_ settings: ServerSettings) throws(SettingError) -> any SharedJournalMaintenance

    package init(
        journal: @escaping @Sendable (ServerSettings, Logger) async throws -> any SharedJournal,
        migrate: @escaping @Sendable (ServerSettings, String?) throws -> Void,
        peers: @escaping @Sendable () -> any PeerTransport,
        maintenance: @escaping @Sendable (ServerSettings) throws(SettingError) -> any SharedJournalMaintenance
    ) {
        (self.journal, self.migrate, self.peers, self.maintenance) = (journal, migrate, peers, maintenance)
    }
}

extension FeatureServer {
    /// Completes a server with the journal and the transport of the settings.
    mutating func complete(
        _ settings: ServerSettings, _ logger: Logger, _ metrics: PrometheusRegistry, _ storage: SharedStorage?
    ) async throws {
        let settings = self.settings ?? settings
        self.settings = settings
        self.logger = self.logger ?? logger
        self.metrics = self.metrics ?? metrics
        guard journal == nil, case .postgres = settings.journal, let storage else { return }
        journal = try await storage.journal(settings, logger)
        peers = peers ?? storage.peers()
    }
}
