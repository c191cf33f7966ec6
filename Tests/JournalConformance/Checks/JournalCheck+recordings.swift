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
            func append(_ turns: [(FeatureID, isRecorded: Bool)], limit: Int) async throws {
                var batch = log.batch(.changed(turns[0].0), turns: UInt64(turns.count))
                for (index, turn) in turns.enumerated() where turn.isRecorded {
                    let number = log.head.number + UInt64(index) + 1
                    batch.recordings.append(
                        RecordedTurn(
                            number: number, feature: turn.0, time: Sample.start + .seconds(number),
                            recording: Sample.bytes("\(number)")))
                }
                batch.recordingLimit = RecordingLimit(turns: limit)
                all += batch.recordings
                try await journal.commit(batch, to: &log)
                try await journal.reload()
            }
            try await append([(counter, true), (counter, false)], limit: 4)
            try await append([(other, true), (counter, true)], limit: 4)
            #expect(try await journal.exported(log).turns == all)
            try await append([(counter, true), (counter, true)], limit: 4)
            #expect(try await journal.exported(log).turns == all.suffix(4))
            try await append(Array(repeating: (counter, true), count: 6), limit: 4)
            #expect(try await journal.exported(log).turns == all.suffix(4))
            try await append([(counter, false)], limit: 0)
            #expect(try await journal.exported(log).turns == all.suffix(4))
            try await append([(other, true)], limit: 2)
            #expect(try await journal.exported(log).turns == all.suffix(2))
            #expect(all.suffix(2).map(\.number) == [13, 15])
        },
        JournalCheck("of the recorded turns of a session the newest are kept that fit into so many bytes") { journal in
            var log = try await journal.newLog()
            var all: [RecordedTurn] = []
            func append(_ sizes: [Int], bytes: Int, turns: Int = 100) async throws {
                var batch = log.batch(all.isEmpty ? .made() : .changed(), turns: UInt64(sizes.count))
                for (index, size) in sizes.enumerated() {
                    let number = log.head.number + UInt64(index) + 1
                    batch.recordings.append(
                        RecordedTurn(
                            number: number, feature: Sample.counter, time: Sample.start,
                            recording: Array(repeating: 7, count: size)))
                }
                batch.recordingLimit = RecordingLimit(turns: turns, bytes: bytes)
                all += batch.recordings
                try await journal.commit(batch, to: &log)
                try await journal.reload()
            }
            try await append([100, 200], bytes: 300)
            #expect(try await journal.exported(log).turns == all)
            try await append([1], bytes: 300)
            #expect(try await journal.exported(log).turns == all.suffix(2))
            // Both limits apply, and older ones never come back behind one that is too large.
            try await append([50, 50, 50], bytes: 300, turns: 2)
            #expect(try await journal.exported(log).turns == all.suffix(2))
            try await append([10, 301, 20], bytes: 300)
            #expect(try await journal.exported(log).turns == all.suffix(1))
            try await append([5_000], bytes: 300)
            #expect(try await journal.exported(log).turns == [])
        },
        JournalCheck("recorded turns outlive their store, and no other session's append drops them") { journal in
            func recorded(_ log: Log) -> JournalBatch {
                var batch = log.batch(.made(), turns: 1)
                batch.recordings = [
                    RecordedTurn(
                        number: batch.head.number, feature: Sample.counter, time: Sample.start,
                        recording: Sample.bytes("{}"))
                ]
                batch.recordingLimit = RecordingLimit(turns: 1)
                return batch
            }
            var log = try await journal.newLog()
            var other = try await journal.newLog()
            try await journal.commit(recorded(log), to: &log)
            for _ in 0..<2 { try await journal.commit(recorded(other), to: &other) }
            try await journal.commit(log.batch(.disposed()), to: &log)
            try await journal.reload()
            #expect(try await journal.exported(log).turns.map(\.number) == [1])
            #expect(try await journal.exported(other).turns.map(\.number) == [2])
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
}
