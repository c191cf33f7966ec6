import Locking
import MVI
import MVITesting
import SessionJournal
import Sessions
import TestSupport
import Testing

@Suite("60: reminders")
struct ReminderTests {
    private func rings(_ fixture: ProductFixture) throws -> Int {
        try fixture.state(Till.State.self, fixture.till).rings
    }

    @Test("60: a reminder fires once when its time has come, and not before")
    func fires() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"ring","after":60}"#, to: fixture.till)
        #expect(await fixture.table.fireDueReminders() != nil)
        #expect(try rings(fixture) == 0)
        fixture.time.advance(by: .seconds(60))
        #expect(await fixture.table.fireDueReminders() == nil)
        #expect(try rings(fixture) == 1)
        fixture.time.advance(by: .seconds(600))
        _ = await fixture.table.fireDueReminders()
        #expect(try rings(fixture) == 1)
    }

    @Test("60: setting it again replaces it, and canceling removes it")
    func replaced() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"ring","after":10}"#, to: fixture.till)
        try fixture.send(#"{"type":"ring","after":100}"#, to: fixture.till)
        fixture.time.advance(by: .seconds(50))
        _ = await fixture.table.fireDueReminders()
        #expect(try rings(fixture) == 0)
        try fixture.send(#"{"type":"hush"}"#, to: fixture.till)
        fixture.time.advance(by: .seconds(100))
        #expect(await fixture.table.fireDueReminders() == nil)
        #expect(try rings(fixture) == 0)
    }

    @Test("60: it fires after a restart, late, and keeps its session alive meanwhile")
    func restarted() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let first = try ProductFixture(kept: kept, time: time)
        try first.send(#"{"type":"ring","after":60}"#, to: first.till)
        // Longer than the lifetime of an unused session.
        time.advance(by: .seconds(10 * 24 * 3600))
        let second = try ProductFixture(kept: kept, time: time)
        for _ in 0..<12 { second.table.sweep() }
        _ = await second.table.fireDueReminders()
        let session = try second.table.live(first.token)
        #expect(String(decoding: try session.stateNow(of: second.till).view, as: UTF8.self).contains(#""rings":1"#))
    }

    @Test("60: one whose turn cannot be committed fires again, once")
    func notCommitted() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"ring","after":1}"#, to: fixture.till)
        fixture.time.advance(by: .seconds(2))
        fixture.journal.fail(.unavailable)
        _ = await fixture.table.fireDueReminders()
        fixture.journal.fail(nil)
        #expect(try rings(fixture) == 0)
        _ = await fixture.table.fireDueReminders()
        #expect(try rings(fixture) == 1)
        _ = await fixture.table.fireDueReminders()
        #expect(try rings(fixture) == 1)
    }

    @Test("60: one whose store could not be loaded when it was asked for before fires")
    func failedLoad() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let first = try ProductFixture(kept: kept, time: time)
        try first.send(#"{"type":"ring","after":60}"#, to: first.till)
        let second = try ProductFixture(kept: kept, time: time)
        let session = try second.table.live(first.token)
        second.journal.failLoads(.unavailable)
        #expect(try session.told(#"{"type":"stamp"}"#, to: second.till) == "unavailable")
        second.journal.failLoads(nil)
        time.advance(by: .seconds(60))
        _ = await second.table.fireDueReminders()
        #expect(String(decoding: try session.stateNow(of: second.till).view, as: UTF8.self).contains(#""rings":1"#))
    }

    @Test("60: disposal deletes it")
    func disposed() async throws {
        let fixture = try ProductFixture()
        try fixture.send(#"{"type":"ring","after":1}"#, to: fixture.till)
        #expect(try fixture.session.removed(fixture.till))
        fixture.time.advance(by: .seconds(2))
        #expect(await fixture.table.fireDueReminders() == nil)
        #expect(!fixture.session.hasStore(fixture.till))
    }

    @Test("60: a session has at most 64, and a turn that sets more fails")
    func bounded() throws {
        let failures = Collected<String>()
        let fixture = try ProductFixture(till: Till(failures: failures))
        #expect(try fixture.send(#"{"type":"alarm"}"#, to: fixture.till).code == .failed)
        #expect(failures.all == ["execute"])
        #expect(
            try fixture.send(#"{"type":"ring","after":\#(31 * 24 * 3600)}"#, to: fixture.till).code == .failed)
    }

    @Test("60: an action that throws is tried 5 times, then passed to onFailure")
    func retried() async throws {
        let failures = Collected<String>()
        let fixture = try ProductFixture(till: Till(failures: failures))
        try remind(refuses: false, in: fixture)
        for attempt in 1...5 {
            #expect(failures.all.isEmpty, "before attempt \(attempt)")
            _ = await fixture.table.fireDueReminders()
            fixture.time.advance(by: .seconds(60))
        }
        #expect(failures.all == ["execute"])
        #expect(await fixture.table.fireDueReminders() == nil)
        #expect(failures.all == ["execute"])
    }

    /// An action whose turn fails without an error in its own code.
    enum Failing: String, CaseIterable {
        /// Another store's turn throws in its chain; its chain is too long.
        case jam, loop
        /// Its state is too large, or not JSON.
        case swell, spoil
    }

    @Test("68: one that cannot be committed is tried 5 times, then passed to onFailure", arguments: Failing.allCases)
    func notKept(_ failing: Failing) async throws {
        let (failures, performed, reports) = (Collected<String>(), Collected<String>(), Collected<String>())
        let fixture = try ProductFixture(
            till: Till(failures: failures, performed: performed), { $0.stateBytes = 4_000 },
            report: { if case .failure(_, let place) = $0, place.instance == "till" { reports.append("failure") } })
        let action = #"{"type":"\#(failing.rawValue)"}"#
        // There, so that its start has no turn run again.
        #expect(try fixture.send(#"{"type":"put","items":1}"#, to: fixture.basket).code == nil)
        #expect(try fixture.send(#"{"type":"remind","of":\#(action)}"#, to: fixture.till).code == nil)
        fixture.time.advance(by: .seconds(2))
        for _ in 1...20 {
            _ = await fixture.table.fireDueReminders()
            fixture.time.advance(by: .seconds(60))
        }
        #expect(performed.all == Array(repeating: failing.rawValue, count: 5))
        #expect(failures.all == ["execute"])
        #expect(reports.all.count == 5)
        #expect(fixture.session.keptReminders.isEmpty)
    }

    @Test("60: a chain leaves no more reminders than a session may have")
    func boundedInChain() throws {
        let fixture = try ProductFixture()
        #expect(try fixture.send(#"{"type":"nag"}"#, to: fixture.till).code == .failed)
        #expect(fixture.session.keptReminders.isEmpty)
    }

    @Test("60: a refusal consumes it")
    func refused() async throws {
        let failures = Collected<String>()
        let fixture = try ProductFixture(till: Till(failures: failures))
        try remind(refuses: true, in: fixture)
        _ = await fixture.table.fireDueReminders()
        #expect(await fixture.table.fireDueReminders() == nil)
        #expect(failures.all.isEmpty)
    }

    /// Sets a reminder of an action that fails, and advances the time until it is due.
    private func remind(refuses: Bool, in fixture: ProductFixture) throws {
        try fixture.send(#"{"type":"fuse","refuses":\#(refuses)}"#, to: fixture.till)
        fixture.time.advance(by: .seconds(2))
    }

    @Test("60: late ones of many sessions all fire, each once")
    func many() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let first = try ProductFixture(kept: kept, time: time)
        var tokens: [SessionToken] = []
        for _ in 0..<1_500 {
            let (session, token) = try first.table.made(.bearer)
            let answer = Answer()
            session.send(
                IntentRequest(body: Array(#"{"type":"ring","after":5}"#.utf8)), to: first.till
            ) { answer.set($0) }
            _ = try #require(answer.value).get()
            tokens.append(token)
        }
        time.advance(by: .seconds(10))
        let second = try ProductFixture(kept: kept, time: time)
        #expect(await second.table.fireDueReminders() == nil)
        for token in tokens {
            let session = try second.table.live(token)
            #expect(String(decoding: try session.stateNow(of: second.till).view, as: UTF8.self).contains(#""rings":1"#))
        }
    }

    @Test("60: the service sleeps until the next one is due, and wakes for an earlier one")
    func service() async throws {
        let fixture = try ProductFixture()
        let service = Task { await fixture.table.runReminders() }
        await fixture.clock.sleepers(atLeast: 1)
        try fixture.send(#"{"type":"ring","after":3}"#, to: fixture.till)
        fixture.time.advance(by: .seconds(3))
        while try rings(fixture) == 0 {
            // A sleep of half a minute would not have ended.
            fixture.clock.advance(by: .milliseconds(1))
            await fixture.clock.sleepers(atLeast: 1)
            if fixture.clock.now.offset > .seconds(10) { break }
        }
        #expect(try rings(fixture) == 1)
        service.cancel()
        await service.value
    }
}
