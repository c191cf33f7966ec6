import MVIServer
import PostgresJournal

extension SharedStorage {
    /// Stores the sessions of a `FeatureServerCommand` in a shared PostgreSQL database (`--journal postgres://…`):
    ///
    /// ```swift
    /// var sharedStorage: SharedStorage? { .postgres }
    /// ```
    public static let postgres = SharedStorage(
        journal: { settings, logger in
            try await PostgresJournal.open(
                database: url(settings), schema: settings.journalSchema, connections: settings.journalConnections,
                listenDatabase: settings.journalListen, rereadDatabase: settings.rereadJournal,
                rereadListenDatabase: settings.rereadJournalListen, failoverLosesNothing: settings.losslessFailover,
                forgottenList: settings.forgottenList, logger: logger, sessionLimit: settings.maxKeptSessions,
                spaceLimit: settings.maxSpaces)
        },
        migrate: { settings, role in
            try PostgresJournal.migrate(
                database: url(settings), schema: settings.journalSchema, grantingTo: role)
        },
        peers: { HTTPPeerTransport() },
        maintenance: { settings throws(SettingError) in
            guard let database = PostgresJournalDatabase(database: url(settings), schema: settings.journalSchema)
            else {
                throw SettingError(
                    name: "journal", given: "postgres",
                    expected: "a URL that libpq accepts, such as postgres://user@host:5432/name")
            }
            return database
        })

    /// An empty URL is the database of the environment.
    private static func url(_ settings: ServerSettings) -> String {
        guard case .postgres(let url) = settings.journal else { return "" }
        return url
    }
}
