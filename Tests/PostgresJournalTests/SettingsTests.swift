import Logging
import PostgresServer
import Testing

@testable import MVIServer
@testable import PostgresJournal

@Suite struct SettingsTests {
    @Test func `a server's limits are those of its journal`() async throws {
        let schema = try await TestSchema()
        let settings = try ServerSettings.load(
            flags: [
                "journal": schema.cluster.url(user: "mvi"), "journal-schema": schema.name,
                "max-kept-sessions": "7", "max-spaces": "5",
            ], environment: [:])
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let journal = try #require(try await SharedStorage.postgres.journal(settings, logger) as? PostgresJournal)
        #expect(journal.engine.options.sessionLimit == 7 && journal.engine.options.spaceLimit == 5)
        await journal.close()
    }
}
