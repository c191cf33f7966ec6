import SessionJournal
import Testing

extension JournalCheck {
    static let touches: [JournalCheck] = [
        JournalCheck("a session was last seen at the newest of its touches and appends; that never goes back") {
            journal in
            let (key, record) = try await journal.newSession()
            func seen(_ seconds: Int, byTouch: Bool) async throws -> Duration {
                let time = Sample.start + .seconds(seconds)
                if byTouch {
                    _ = try await journal.touch([SessionTouch(session: key, lastSeen: time, written: [])]).get()
                } else {
                    try await journal.commit(JournalAppend(session: key, time: time))
                }
                try await journal.reload()
                return try await journal.stored(record).record.lastSeen - Sample.start
            }
            #expect(try await seen(10, byTouch: true) == .seconds(10))
            #expect(try await seen(5, byTouch: true) == .seconds(10))
            #expect(try await seen(7, byTouch: false) == .seconds(10))
            #expect(try await seen(20, byTouch: false) == .seconds(20))
            #expect(try await seen(15, byTouch: true) == .seconds(20))
            #expect(try await seen(30, byTouch: true) == .seconds(30))
            let now = try await journal.stored(record).record
            #expect(now.created == record.created && now.epoch == record.epoch)
        },
        JournalCheck("touches of sessions that are gone are passed over, and the others count") { journal in
            let (first, firstRecord) = try await journal.newSession()
            let (gone, goneRecord) = try await journal.newSession()
            let (last, lastRecord) = try await journal.newSession()
            try await journal.commit(.turns(last, from: nil, to: .next(), turns: [Sample.turn("a")]))
            _ = try await journal.remove(gone, tombstoneUntil: Sample.muchLater).get()
            let written = [LabelID(sequence: 1, index: 0)]
            let touches = [first, gone, SessionKey(987_654_321), last].map {
                SessionTouch(session: $0, lastSeen: Sample.later, written: written)
            }
            #expect(try await journal.touch(touches).failure == nil)
            #expect(try await journal.touch([]).failure == nil)
            try await journal.reload()
            #expect(try await journal.stored(firstRecord).record.lastSeen == Sample.later)
            #expect(try await journal.stored(lastRecord).record.lastSeen == Sample.later)
            #expect(try await journal.stored(lastRecord).labels.map(\.isWritten) == [true])
            #expect(try await journal.load(goneRecord.tokenHash).get().isEnded)
        },
    ]
}
