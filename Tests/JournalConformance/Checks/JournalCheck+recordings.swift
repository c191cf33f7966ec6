import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let recordings: [JournalCheck] = [
        JournalCheck("of the recorded turns of a session the newest are kept, over all its stores") { journal in
            let (counter, other) = (Sample.counter, Sample.feature(1))
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.made(counter), .made(other)), to: &log)
            var all: [RecordedTurn] = []
            func record(_ numbers: UInt64..., of feature: FeatureID = counter, limit: Int) async throws {
                let turns = numbers.map { recorded($0, feature, Sample.bytes("\($0)")) }
                try await journal.record(turns, of: log, RecordingLimit(turns: limit))
                all += turns
                try await journal.reload()
            }
            try await record(2, limit: 4)
            try await record(4, of: other, limit: 4)
            try await record(5, limit: 4)
            #expect(try await journal.exported(log).turns == all)
            try await record(6, 7, limit: 4)
            #expect(try await journal.exported(log).turns == all.suffix(4))
            try await record(8, 9, 10, 11, 12, 13, limit: 4)
            #expect(try await journal.exported(log).turns == all.suffix(4))
            try await record(15, of: other, limit: 2)
            #expect(try await journal.exported(log).turns == all.suffix(2))
            #expect(all.suffix(2).map(\.number) == [13, 15])
        },
        JournalCheck("of the recorded turns of a session the newest are kept that fit into so many bytes") { journal in
            let log = try await journal.newLogWithStore()
            var all: [RecordedTurn] = []
            func record(_ sizes: Int..., bytes: Int, turns: Int = 100) async throws {
                let new = sizes.enumerated().map { index, size in
                    recorded(UInt64(all.count + index + 1), Sample.counter, Array(repeating: 7, count: size))
                }
                all += new
                try await journal.record(new, of: log, RecordingLimit(turns: turns, bytes: bytes))
                try await journal.reload()
            }
            try await record(100, 200, bytes: 300)
            #expect(try await journal.exported(log).turns == all)
            try await record(1, bytes: 300)
            #expect(try await journal.exported(log).turns == all.suffix(2))
            // Both limits apply, and older ones never come back behind one that is too large.
            try await record(50, 50, 50, bytes: 300, turns: 2)
            #expect(try await journal.exported(log).turns == all.suffix(2))
            try await record(10, 301, 20, bytes: 300)
            #expect(try await journal.exported(log).turns == all.suffix(1))
            try await record(5_000, bytes: 300)
            #expect(try await journal.exported(log).turns == [])
        },
        JournalCheck("recorded turns outlive their store, and those of no other session drop them") { journal in
            var log = try await journal.newLogWithStore()
            let other = try await journal.newLogWithStore()
            let limit = RecordingLimit(turns: 1)
            try await journal.record([recorded(1)], of: log, limit)
            for number in 1...2 as ClosedRange<UInt64> {
                try await journal.record([recorded(number)], of: other, limit)
            }
            try await journal.commit(log.batch(.disposed()), to: &log)
            try await journal.reload()
            #expect(try await journal.exported(log).turns.map(\.number) == [1])
            #expect(try await journal.exported(other).turns.map(\.number) == [2])
        },
        JournalCheck("recorded turns of several sessions are one operation, which skips a session that is gone") {
            journal in
            let (log, gone, other) = (
                try await journal.newLogWithStore(), try await journal.newLogWithStore(),
                try await journal.newLogWithStore()
            )
            try #require(try await journal.remove(gone.key, tombstoneUntil: Sample.later).failure == nil)
            let limit = RecordingLimit(turns: 9)
            let recordings = [log, gone, other].map { SessionRecordings($0.key, [recorded(1)], limit) }
            #expect(try await journal.record(recordings).failure == nil)
            try await journal.reload()
            #expect(try await journal.exported(log).turns.map(\.number) == [1])
            #expect(try await journal.exported(other).turns.map(\.number) == [1])
            #expect(try await journal.record([]).failure == nil)
        },
        JournalCheck("an export leaves out recorded turns up to a number") { journal in
            let log = try await journal.newLogWithStore()
            let turns = (1...9 as ClosedRange<UInt64>).map { recorded($0) }
            try await journal.record(turns, of: log, RecordingLimit(turns: 9))
            for number in [0, 4, 9, UInt64.max] {
                let export = try #require(try await journal.export(log.record.id, turnsAfter: number).get())
                #expect(export.turns == turns.filter { $0.number > number })
                #expect(export.stores.count == 1)
            }
        },
        JournalCheck("an export is everything that was kept, as loading shows it") { journal in
            var log = try await journal.newLog()
            try await journal.commit(
                log.batch(
                    .sample(.made, state: "1", view: "2", viewIntent: "i"), labels: log.labels("a", "b"),
                    receipts: [Sample.receipt("key"), Sample.receipt(sequence: 1, epoch: "e")]), to: &log)
            try await journal.commit(log.batch(.made(Sample.feature(1), "3")), to: &log)
            try await journal.reload()
            let export = try await journal.exported(log)
            let stored = try await journal.stored(log)
            let stores = try await journal.loadStores([Sample.counter, Sample.feature(1)], of: log).get()
            #expect(Set(export.stores) == Set(stores) && export.stores.count == 2)
            #expect(Set(export.stores.map(\.summary)) == Set(stored.stores))
            let again = SessionExport(session: stored, stores: stores, turns: [], setAside: [])
            #expect(pictured(export) == pictured(again))
            let news = try await journal.news(log, since: .empty)
            #expect(Set(news.changed) == Set(stores) && Set(news.stores) == Set(stored.stores))
            #expect(news.labels == stored.labels && news.receipts == stored.receipts)
        },
    ]

    private static func recorded(
        _ number: UInt64, _ feature: FeatureID = Sample.counter, _ recording: [UInt8] = Sample.bytes("{}")
    ) -> RecordedTurn {
        RecordedTurn(number: number, feature: feature, time: Sample.start + .seconds(number), recording: recording)
    }
}
