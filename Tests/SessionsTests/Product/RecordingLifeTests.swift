import MVI
import MVITesting
import SessionJournal
import TestSupport
import Testing

@testable import Sessions

@Suite("The recording of one session", .timeLimit(.minutes(5)))
struct RecordingLifeTests {
    private static let ring = #"{"type":"ring","after":3600}"#

    /// - Parameter process: the one that asks; nil for the fixture's own.
    private func recorded(_ fixture: ProductFixture, in process: ProductFixture? = nil) async throws -> [RecordedTurn] {
        try #require(try await (process ?? fixture).table.export(fixture.session.id)).turns
    }

    @Test func `it begins at once, survives a restart, and ends at its time`() async throws {
        let (kept, time) = (MemoryJournal(), ManualTime())
        let first = try ProductFixture(kept: kept, time: time)
        try first.send(Self.ring, to: first.till)
        #expect(try await recorded(first).isEmpty)
        let until = time.source.sinceEpoch() + .seconds(60)
        let limit = RecordingLimit(turns: 2, bytes: 100_000)
        #expect(try await first.table.record(first.session.id, limit, until: until))
        for _ in 0..<3 { try first.send(Self.ring, to: first.till) }
        #expect(try await recorded(first).count == 2)
        // It takes no reminder of the features.
        #expect(first.session.keptReminders.count == 1)

        let second = try ProductFixture(kept: kept, time: time)
        let session = try second.table.live(first.token)
        _ = try session.told(Self.ring, to: second.till)
        let last = try #require(try await recorded(first, in: second).last)
        #expect(last.number == session.core.withLock { $0.head.number })

        time.advance(by: .seconds(61))
        _ = await second.table.fireDueReminders()
        #expect(session.core.withLock { $0.recording } == nil)
        _ = try session.told(Self.ring, to: second.till)
        #expect(try await recorded(first, in: second).last?.number == last.number)
        let export = try #require(try await second.table.export(session.id))
        #expect(export.session.reminders.allSatisfy { $0.recordingLimit == nil })
    }

    @Test func `another request replaces it, and one without time ends it`() async throws {
        let fixture = try ProductFixture()
        try fixture.send(Self.ring, to: fixture.till)
        let now = fixture.time.source.sinceEpoch()
        for turns in [5, 7] {
            let limit = RecordingLimit(turns: turns, bytes: 100_000)
            _ = try await fixture.table.record(fixture.session.id, limit, until: now + .seconds(60))
            #expect(fixture.session.core.withLock { $0.recording } == limit)
        }
        _ = try await fixture.table.record(fixture.session.id, RecordingLimit(turns: 7), until: now)
        _ = await fixture.table.fireDueReminders()
        #expect(fixture.session.core.withLock { $0.recording } == nil)
        #expect(try await fixture.table.record("nobody", RecordingLimit(turns: 7), until: now) == false)
    }

    @Test func `a node that takes the session over records it`() async throws {
        let nodes = try NodePair()
        _ = try nodes.here.send(#"{"type":"add","amount":1}"#).get()
        let until = nodes.here.time.source.sinceEpoch() + .seconds(60)
        let id = nodes.here.session.id
        #expect(try await nodes.here.table.record(id, RecordingLimit(turns: 9, bytes: 9_999), until: until))
        _ = try nodes.sendThere(#"{"type":"add","amount":1}"#).get()
        let export = try #require(try await nodes.there.table.export(id))
        #expect(nodes.other.core.withLock { $0.recording != nil && $0.head.number == export.turns.last?.number })
    }
}
