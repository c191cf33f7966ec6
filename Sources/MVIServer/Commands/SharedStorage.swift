import Logging
import PrometheusMetrics
import SessionJournal

/// The storage that several servers share, as a `FeatureServerCommand` gets it: `SharedStorage.postgres` of the
/// product `PostgresServer`.
public struct SharedStorage: Sendable {
    /// Opens the journal that the settings name. The server closes it.
    let journal: @Sendable (_ settings: ServerSettings, _ logger: Logger) async throws -> any SharedJournal
    /// Makes the journal's schema, or brings it up to date, and lets a role use it if one is given. Blocks until it is done.
    let migrate: @Sendable (_ settings: ServerSettings, _ role: String?) throws -> Void
    /// Returns the transport between servers. The server closes it.
    let peers: @Sendable () -> any PeerTransport
    /// The same journal for the commands that look into it and change it.
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
    /// Takes what it was not given.
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
