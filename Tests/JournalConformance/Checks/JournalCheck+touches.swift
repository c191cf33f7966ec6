import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let touches: [JournalCheck] = [
        JournalCheck("a session was last seen at the newest of its touches and appends; that never goes back") {
            journal in
            var log = try await journal.newLogWithStore()
            func seen(_ seconds: Int, _ changes: StoreChange?..., byTouch: Bool = false) async throws -> Duration {
                let time = Sample.start + .seconds(seconds)
                if byTouch {
                    _ = try await journal.touch([SessionTouch(session: log.key, lastSeen: time, written: [])]).get()
                } else {
                    var batch = log.batch(time: time)
                    batch.stores = changes.compactMap { $0 }
                    try await journal.commit(batch, to: &log)
                }
                try await journal.reload()
                return try await journal.stored(log).record.lastSeen - Sample.start
            }
            #expect(try await seen(10, byTouch: true) == .seconds(10))
            #expect(try await seen(5, byTouch: true) == .seconds(10))
            #expect(try await seen(7) == .seconds(10))
            #expect(try await seen(9, .changed()) == .seconds(10))
            #expect(try await seen(20, .changed()) == .seconds(20))
            #expect(try await seen(15, .changed()) == .seconds(20))
            #expect(try await seen(15, byTouch: true) == .seconds(20))
            #expect(try await seen(30, .changed()) == .seconds(30))
            #expect(try await seen(25, .disposed()) == .seconds(30))
            #expect(try await seen(40) == .seconds(40))
            let now = try await journal.stored(log).record
            #expect(now.created == log.record.created && now.epoch == log.record.epoch)
        },
        JournalCheck("a store was last seen at its own newest append or touch, not at its session's") { journal in
            let other = FeatureID(name: "other", key: nil)
            var log = try await journal.newLog()
            func seen(_ seconds: Int, _ change: StoreChange) async throws -> [Duration] {
                var batch = log.batch(time: Sample.start + .seconds(seconds))
                batch.stores = [change]
                try await journal.commit(batch, to: &log)
                try await journal.reload()
                return try await times()
            }
            func times() async throws -> [Duration] {
                let session: StoredSession = try await journal.stored(log)
                return [Sample.counter, other].compactMap { feature in
                    session.stores.first { $0.feature == feature }.map { $0.lastSeen - Sample.start }
                }
            }
            #expect(try await seen(10, .made()) == [.seconds(10)])
            #expect(try await seen(20, .made(other)) == [.seconds(10), .seconds(20)])
            #expect(try await seen(30, .changed()) == [.seconds(30), .seconds(20)])
            let touch = SessionTouch(
                session: log.key, lastSeen: Sample.start + .seconds(50), written: [],
                stores: [(feature: other, lastSeen: Sample.start + .seconds(40))])
            _ = try await journal.touch([touch]).get()
            try await journal.reload()
            #expect(try await times() == [.seconds(30), .seconds(40)])
            #expect(try await seen(60, .changed(other)) == [.seconds(30), .seconds(60)])
        },
        JournalCheck("touches of sessions that are gone are passed over, and the others count") { journal in
            let first = try await journal.newLog()
            let gone = try await journal.newLog()
            var last = try await journal.newLog()
            try await journal.commit(last.batch(.made(), labels: last.labels("a")), to: &last)
            _ = try await journal.remove(gone.key, tombstoneUntil: Sample.muchLater).get()
            let written = [LabelID(number: 1, index: 0)]
            let touches = [first.key, gone.key, SessionKey(987_654_321), last.key].map {
                SessionTouch(session: $0, lastSeen: Sample.later, written: written)
            }
            #expect(try await journal.touch(touches).failure == nil)
            #expect(try await journal.touch([]).failure == nil)
            try await journal.reload()
            #expect(try await journal.stored(first).record.lastSeen == Sample.later)
            #expect(try await journal.stored(last).record.lastSeen == Sample.later)
            #expect(try await journal.stored(last).labels.map(\.isWritten) == [true])
            #expect(try await journal.load(gone.record.tokenHash).get().isEnded)
        },
    ]
}
