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

    @Test(arguments: MaintenanceCheck.all)
    func `tools keep every promise of their own`(_ check: MaintenanceCheck) async throws {
        let folder = try TemporaryFolder()
        try await check.run(with: folder.file()) { try await folder.journal() }
    }
}
