import SessionJournal
import Testing

extension JournalCheck {
    static let recordings: [JournalCheck] = [
        JournalCheck("of the recorded turns of a session the newest are kept, over all its stores") { journal in
            let (key, record) = try await journal.newSession()
            let (counter, other) = (Sample.counter, Sample.feature(1))
            var tokens: [FeatureID: StoreToken] = [:]
            func append(_ feature: FeatureID, _ recordings: [String?], limit: Int, seconds: Int) async throws {
                let next = StoreToken.next()
                let turns = recordings.map {
                    TurnAppend(labels: [], recording: $0.map(Sample.bytes), recordingLimit: limit)
                }
                try await journal.commit(
                    .turns(
                        key, feature, from: tokens[feature], to: next, turns: turns,
                        time: Sample.start + .seconds(seconds)))
                tokens[feature] = next
                try await journal.reload()
            }
            func turn(_ sequence: UInt64, _ feature: FeatureID, _ recording: String, seconds: Int) -> RecordedTurn {
                RecordedTurn(
                    sequence: sequence, feature: feature, time: Sample.start + .seconds(seconds),
                    recording: Sample.bytes(recording))
            }
            try await append(counter, ["1", nil], limit: 4, seconds: 1)
            try await append(other, ["3", "4"], limit: 4, seconds: 2)
            #expect(
                try await journal.exported(record).turns == [
                    turn(1, counter, "1", seconds: 1), turn(3, other, "3", seconds: 2),
                    turn(4, other, "4", seconds: 2),
                ])
            try await append(counter, ["5", "6"], limit: 4, seconds: 3)
            #expect(
                try await journal.exported(record).turns == [
                    turn(3, other, "3", seconds: 2), turn(4, other, "4", seconds: 2),
                    turn(5, counter, "5", seconds: 3), turn(6, counter, "6", seconds: 3),
                ])
            try await append(counter, ["7", "8", "9", "10", "11", "12"], limit: 4, seconds: 4)
            #expect(try await journal.exported(record).turns.map(\.sequence) == [9, 10, 11, 12])
            try await append(other, ["13"], limit: 2, seconds: 5)
            #expect(
                try await journal.exported(record).turns == [
                    turn(12, counter, "12", seconds: 4), turn(13, other, "13", seconds: 5),
                ])
        },
        JournalCheck("recorded turns outlive their store, and no other session's append drops them") { journal in
            let (key, record) = try await journal.newSession()
            let (other, _) = try await journal.newSession()
            for session in [key, other, other] {
                try await journal.commit(
                    .turns(
                        session, .init(name: "f\(Int.random(in: 0..<1_000_000_000))", key: nil), from: nil,
                        to: .next(),
                        turns: [TurnAppend(labels: [], recording: Sample.bytes("{}"), recordingLimit: 1)]))
            }
            let feature = try #require(try await journal.stored(record).stores.first?.feature)
            _ = try await journal.removeStore(feature, of: key).get()
            try await journal.reload()
            #expect(try await journal.exported(record).turns.map(\.feature) == [feature])
        },
        JournalCheck("an export is everything that was kept, as loading shows it") { journal in
            let (key, record) = try await journal.newSession()
            let first = StoreToken.next()
            try await journal.commit(
                .turns(
                    key, from: nil, to: first, state: "1", view: "2", viewIntent: "i", turns: [Sample.turn("a", "b")],
                    receipts: [Sample.receipt("key"), Sample.receipt(number: 1, epoch: "e")]))
            try await journal.commit(.turns(key, Sample.feature(1), from: nil, to: .next(), state: "3"))
            try await journal.reload()
            let export = try await journal.exported(record)
            let stored = try await journal.stored(record)
            let stores = try await journal.loadStores([Sample.counter, Sample.feature(1)], of: key).get()
            #expect(Set(export.stores) == Set(stores) && export.stores.count == 2)
            #expect(Set(export.stores.map(\.summary)) == Set(stored.stores))
            let again = SessionExport(session: stored, stores: stores, turns: [], setAside: [])
            #expect(pictured(export) == pictured(again))
        },
    ]
}
