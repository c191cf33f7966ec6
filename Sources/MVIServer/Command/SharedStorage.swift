import Logging
import PrometheusMetrics
import SessionJournal

/// Where servers keep sessions that they share, as a `FeatureServerCommand` is given it: `PostgresStorage` of the product
/// `PostgresServer`.
public protocol SharedStorage: Sendable {
    /// Opens the journal that the settings name. The server closes it.
    func journal(_ settings: ServerSettings, logger: Logger) async throws -> any SharedJournal
    /// Makes the journal's schema, or brings it up to date, and lets a role use it if one is given. Blocks until it is done.
    func migrate(_ settings: ServerSettings, role: String?) throws
    /// How the servers reach each other. The server closes it.
    func peers() -> any PeerTransport
    /// The same journal for the commands that look into it and change it.
    func maintenance(_ settings: ServerSettings) throws(SettingError) -> any SharedJournalMaintenance
}

extension FeatureServer {
    /// Takes what it was not given.
    mutating func complete(
        _ settings: ServerSettings, _ logger: Logger, _ metrics: PrometheusRegistry, _ storage: (any SharedStorage)?
    ) async throws {
        let settings = self.settings ?? settings
        self.settings = settings
        self.logger = self.logger ?? logger
        self.metrics = self.metrics ?? metrics
        guard journal == nil, case .postgres = settings.journal, let storage else { return }
        journal = try await storage.journal(settings, logger: logger)
        peers = peers ?? storage.peers()
    }
}
