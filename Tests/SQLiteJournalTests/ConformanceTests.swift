import JournalConformance
import SessionJournal
import Testing

@testable import SQLiteJournal

@Suite struct ConformanceTests {
    @Test(arguments: JournalCheck.all, [false, true])
    func `the journal keeps every promise of a journal`(_ check: JournalCheck, reopening: Bool) async throws {
        let folder = try TemporaryFolder()
        try await check.run(reopening: reopening) { try await folder.journal() }
    }
}
