import Glibc
import Locking
import SessionJournal
import Testing

@testable import SQLiteJournal

@Suite struct CommitWindowTests {
    private let start = ContinuousClock.now

    private func at(_ microseconds: Int) -> ContinuousClock.Instant { start + .microseconds(microseconds) }

    private func window(_ milliseconds: Int = 1) -> CommitWindow {
        CommitWindow(length: .milliseconds(milliseconds), items: 4)
    }

    /// Runs transactions of one write, each starting after the previous one. Returns for each if it waited.
    private func runAlone(_ window: inout CommitWindow, _ transactions: Range<Int>) -> [Bool] {
        transactions.map { number in
            let waits = window.wait(pending: 1, now: at(number * 1_000 + 200)) != nil
            window.begins(count: 1, now: at(number * 1_000 + 300))
            return waits
        }
    }

    @Test func `the first transaction begins at once, the next at the window's end, for as many as may come`() {
        var window = window()
        #expect(window.wait(pending: 1, now: at(0)) == nil)
        window.begins(count: 1, now: at(0))
        let (count, time) = window.wait(pending: 1, now: at(300)) ?? (0, .zero)
        #expect(count == 3 && time == .microseconds(700))
    }

    @Test func `a transaction is waited for once`() {
        var window = window()
        window.begins(count: 1, now: at(0))
        #expect(window.wait(pending: 0, now: at(100)) != nil)
        #expect(window.wait(pending: 1, now: at(200)) == nil)
        window.begins(count: 1, now: at(1_000))
        #expect(window.wait(pending: 1, now: at(1_100)) != nil)
    }

    @Test func `nothing waits after the window's end, with enough that waits, or without a window`() {
        var window = window()
        window.begins(count: 1, now: at(0))
        #expect(window.wait(pending: 4, now: at(100)) == nil)
        #expect(window.wait(pending: 1, now: at(1_000)) == nil)
        var none = self.window(0)
        none.begins(count: 1, now: at(0))
        #expect(none.wait(pending: 1, now: at(0)) == nil)
    }

    @Test func `when nothing came the next transaction begins at once`() {
        var window = window()
        window.begins(count: 1, now: at(0))
        #expect(window.wait(pending: 0, now: at(100)) != nil)
        window.stayedEmpty()
        #expect(window.wait(pending: 1, now: at(200)) == nil)
    }

    @Test func `one client that waits for its answers is not kept waiting for long`() {
        var window = window()
        window.begins(count: 1, now: at(0))
        let waits = runAlone(&window, 0..<200)
        #expect(waits.prefix(8).allSatisfy { $0 })
        #expect(waits.dropFirst(16).count { $0 } <= 200 / CommitWindow.trialInterval)
    }

    @Test func `when others come, a trial brings the window back`() {
        var window = window()
        window.begins(count: 1, now: at(0))
        _ = runAlone(&window, 0..<200)
        var waits: [Bool] = []
        for number in 200..<300 {
            waits.append(window.wait(pending: 1, now: at(number * 1_000 + 200)) != nil)
            window.begins(count: waits[waits.count - 1] ? 4 : 1, now: at(number * 1_000 + 900))
        }
        #expect(waits.suffix(60).allSatisfy { $0 })
    }

    @Test(.timeLimit(.minutes(1))) func `appends that come within a window share a transaction`() async throws {
        let folder = try TemporaryFolder()
        // Only the third of three writes can end such a long wait.
        let journal = try await folder.journal {
            $0.commitWindow = .seconds(600)
            $0.windowItems = 3
        }
        // While the writer is busy it is told of another job, and then need not be told of the next write.
        let isBusy = Lock(true)
        let engine = journal.engine
        #expect(engine.enqueue { _ in while isBusy.withLock({ $0 }) { sched_yield() } } == nil)
        #expect(engine.enqueue { _ in } == nil)
        async let first = journal.newSession()
        while engine.length < 1 { await Task.yield() }
        isBusy.withLock { $0 = false }
        var sessions = [try await first]
        async let second = journal.newSession()
        async let third = journal.newSession()
        async let fourth = journal.newSession()
        sessions += try await [second, third, fourth]
        let before = journal.statistics.transactions
        await withTaskGroup(of: Void.self) { group in
            for session in sessions.prefix(3) {
                group.addTask { #expect(await journal.append(session.turn()).isCommitted) }
            }
        }
        #expect(journal.statistics.transactions == before + 1)
        await journal.close()
    }
}
