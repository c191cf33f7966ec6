import Logging
import MVIServer
import PostgresJournal
import SessionJournal

/// Lets a `FeatureServerCommand` keep its sessions in PostgreSQL (`--journal postgres://…`), together with other servers:
///
/// ```swift
/// var sharedStorage: (any SharedStorage)? { PostgresStorage() }
/// ```
public struct PostgresStorage: SharedStorage {
    /// Storage in the database that the settings name.
    public init() {}

    public func journal(_ settings: ServerSettings, logger: Logger) async throws -> any SharedJournal {
        try await PostgresJournal.open(
            database: Self.url(settings), schema: settings.journalSchema, connections: settings.journalConnections,
            listenDatabase: settings.journalListen, failoverLosesNothing: settings.losslessFailover, logger: logger,
            sessionLimit: settings.maxKeptSessions)
    }

    public func migrate(_ settings: ServerSettings, role: String?) throws {
        try PostgresJournal.migrate(
            database: Self.url(settings), schema: settings.journalSchema, grantingTo: role)
    }

    public func peers() -> any PeerTransport { HTTPPeerTransport() }

    public func maintenance(_ settings: ServerSettings) throws(SettingError) -> any SharedJournalMaintenance {
        guard let database = PostgresJournalDatabase(database: Self.url(settings), schema: settings.journalSchema)
        else {
            throw SettingError(
                name: "journal", given: "postgres",
                expected: "a URL that libpq takes, such as postgres://user@host:5432/name")
        }
        return database
    }

    /// An empty one is the database that the environment names.
    private static func url(_ settings: ServerSettings) -> String {
        guard case .postgres(let url) = settings.journal else { return "" }
        return url
    }
}
