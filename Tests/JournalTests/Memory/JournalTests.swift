import JournalConformance
import SessionJournal
import TestSupport
import Testing

@Suite struct JournalTests {
    @Test(arguments: JournalCheck.all)
    func `a journal in memory keeps every promise of a journal`(_ check: JournalCheck) async throws {
        try await check.run { MemoryJournal() }
    }

    @Test(arguments: JournalCheck.all, [false, true])
    func `a journal that answers later and can be opened again passes the same checks`(
        _ check: JournalCheck, reopening: Bool
    ) async throws {
        let kept = MemoryJournal()
        try await check.run(reopening: reopening) { LateJournal(kept) }
    }

    @Test(arguments: SharedJournalCheck.all)
    func `nodes of one process that share a journal find what they are promised`(_ check: SharedJournalCheck)
        async throws
    {
        let (kept, cluster) = (MemoryJournal(), NodeJournal.Cluster())
        let start = ContinuousClock.now
        try await check.run { NodeJournal(kept, cluster) { ContinuousClock.now - start } }
    }
}
