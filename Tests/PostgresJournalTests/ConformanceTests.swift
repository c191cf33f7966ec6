import JournalConformance
import SessionJournal
import Testing

@testable import PostgresJournal

/// One after the other: each check opens journals with connections of their own.
@Suite(.serialized) struct ConformanceTests {
    @Test(arguments: JournalCheck.all)
    func `the journal keeps every promise of a journal`(_ check: JournalCheck) async throws {
        let schema = try await TestSchema()
        try await check.run { try await schema.journal() }
    }

    @Test(arguments: JournalCheck.all)
    func `the journal keeps every promise of a journal that is opened again and again`(_ check: JournalCheck)
        async throws
    {
        let schema = try await TestSchema()
        try await check.run(reopening: true) { try await schema.journal() }
    }

    @Test(arguments: SharedJournalCheck.all)
    func `servers that share the journal find what they are promised`(_ check: SharedJournalCheck) async throws {
        let schema = try await TestSchema()
        try await check.run { try await schema.journal() }
    }
}
