import JournalConformance
import SessionJournal
import Testing

@testable import PostgresJournal

/// A few at a time, since each check opens journals with their own connections. They share some schemas, which are
/// emptied before each: creating one takes longer than most checks.
@Suite struct ConformanceTests {
    private static let schemas = SchemaPool(count: 4)

    private func withEmptySchema(_ body: (TestSchema) async throws -> Void) async throws {
        let schema = try await Self.schemas.take()
        do {
            try await schema.empty()
            try await body(schema)
        } catch {
            await Self.schemas.giveBack(schema)
            throw error
        }
        await Self.schemas.giveBack(schema)
    }

    @Test(arguments: JournalCheck.all)
    func `the journal keeps every promise of a journal`(_ check: JournalCheck) async throws {
        try await withEmptySchema { schema in try await check.run { try await schema.journal() } }
    }

    @Test(arguments: JournalCheck.all)
    func `the journal keeps every promise of a journal that is opened again and again`(_ check: JournalCheck)
        async throws
    {
        try await withEmptySchema { schema in try await check.run(reopening: true) { try await schema.journal() } }
    }

    @Test(arguments: MaintenanceCheck.all)
    func `tools keep every promise of their own`(_ check: MaintenanceCheck) async throws {
        try await withEmptySchema { schema in
            try await check.run(with: try schema.tool()) { try await schema.journal() }
        }
    }

    @Test(arguments: SharedJournalCheck.all)
    func `servers that share the journal find what they are promised`(_ check: SharedJournalCheck) async throws {
        try await withEmptySchema { schema in try await check.run { try await schema.journal() } }
    }
}
