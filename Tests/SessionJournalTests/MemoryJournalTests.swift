import JournalConformance
import SessionJournal
import Testing

@Suite struct MemoryJournalTests {
    @Test(arguments: JournalCheck.all)
    func `a journal in memory keeps every promise of a journal`(_ check: JournalCheck) async throws {
        try await check.run { MemoryJournal() }
    }
}
