import JournalConformance
import SessionJournal
import Testing

@testable import PostgresJournal

/// One after the other: each check opens journals with connections of their own. All have one schema, which is emptied before
/// each: to make one takes longer than most checks.
@Suite(.serialized) struct ConformanceTests {
    private static let schema = Task { try await TestSchema() }

    private func emptySchema() async throws -> TestSchema {
        let schema = try await Self.schema.value
        try await schema.empty()
        return schema
    }

    @Test(arguments: JournalCheck.all)
    func `the journal keeps every promise of a journal`(_ check: JournalCheck) async throws {
        let schema = try await emptySchema()
        try await check.run { try await schema.journal() }
    }

    @Test(arguments: JournalCheck.all)
    func `the journal keeps every promise of a journal that is opened again and again`(_ check: JournalCheck)
        async throws
    {
        let schema = try await emptySchema()
        try await check.run(reopening: true) { try await schema.journal() }
    }

    @Test(arguments: SharedJournalCheck.all)
    func `servers that share the journal find what they are promised`(_ check: SharedJournalCheck) async throws {
        let schema = try await emptySchema()
        try await check.run { try await schema.journal() }
    }
}
