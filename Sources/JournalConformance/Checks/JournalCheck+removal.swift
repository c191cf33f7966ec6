import SessionJournal
import Testing

extension JournalCheck {
    static let removal: [JournalCheck] = [
        JournalCheck("the token of a removed session is remembered until its tombstone's time, and no longer") {
            journal in
            let (key, record) = try await journal.newSession()
            _ = try await journal.remove(key, tombstoneUntil: Sample.later).get()
            try await journal.reload()
            #expect(try await journal.load(record.tokenHash, now: Sample.later - .milliseconds(1)).get().isEnded)
            #expect(try await journal.load(record.tokenHash, now: Sample.later + .milliseconds(1)).get().isUnknown)
            // The sweep that clears it away changes nothing that anybody sees, before its time or after.
            _ = try await journal.expire(lastSeenBefore: .zero, now: Sample.later - .milliseconds(2), limit: 10).get()
            #expect(try await journal.load(record.tokenHash, now: Sample.later - .milliseconds(1)).get().isEnded)
            _ = try await journal.expire(lastSeenBefore: .zero, now: Sample.later + .milliseconds(1), limit: 10).get()
            try await journal.reload()
            #expect(try await journal.load(record.tokenHash, now: Sample.later + .milliseconds(1)).get().isUnknown)
        },
        JournalCheck("nothing of a removed session is left, and what comes for it finds it gone") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            try await journal.commit(.turns(key, from: nil, to: token, turns: [Sample.turn("a")]))
            _ = try await journal.remove(key, tombstoneUntil: Sample.muchLater).get()
            try await journal.reload()
            #expect(try await journal.export(record.id).get() == nil)
            try await expectNoStores(journal, of: key)
            #expect(try await journal.append(.turns(key, from: token, to: .next())).failure?.code == .gone)
            #expect(try await journal.append(.turns(key, from: nil, to: .next())).failure?.code == .gone)
            #expect(try await journal.append(.receipts(key, Sample.receipt("key"))).failure?.code == .gone)
            #expect(
                try await journal.touch([SessionTouch(session: key, lastSeen: Sample.later, written: [])]).failure
                    == nil)
            try await journal.reload()
            #expect(try await journal.load(record.tokenHash).get().isEnded)
            #expect(try await journal.export(record.id).get() == nil)
            try await expectNoStores(journal, of: key)
        },
        JournalCheck("removing a session that is gone, or that never was, succeeds") { journal in
            let (key, record) = try await journal.newSession()
            #expect(try await journal.remove(key, tombstoneUntil: Sample.later).failure == nil)
            #expect(try await journal.remove(key, tombstoneUntil: Sample.later).failure == nil)
            #expect(try await journal.remove(SessionKey(987_654_321), tombstoneUntil: Sample.later).failure == nil)
            try await journal.reload()
            #expect(try await journal.load(record.tokenHash, now: Sample.start).get().isEnded)
        },
        JournalCheck("an append to a session that never was fails, for it is gone") { journal in
            let result = try await journal.append(.turns(SessionKey(987_654_321), from: nil, to: .next()))
            #expect(result.failure?.code == .gone)
        },
        JournalCheck("a key is never given a second time, not even the last one after its session's removal") {
            journal in
            var keys: Set<SessionKey> = []
            for _ in 0..<4 {
                let (key, _) = try await journal.newSession()
                #expect(keys.insert(key).inserted)
                _ = try await journal.remove(key, tombstoneUntil: Sample.later).get()
                try await journal.reload()
            }
            let (newest, record) = try await journal.newSession()
            for key in keys {
                #expect(try await journal.append(.turns(key, from: nil, to: .next())).failure?.code == .gone)
            }
            #expect(!keys.contains(newest))
            #expect(try await journal.stored(record).stores.isEmpty)
        },
        JournalCheck("a session with the id and token of a removed one starts with nothing of it") { journal in
            let (old, record) = try await journal.newSession()
            try await journal.commit(
                .turns(
                    old, from: nil, to: .next(), turns: [Sample.turn("a")],
                    receipts: [Sample.receipt("key"), Sample.receipt(number: 1, epoch: "e")]))
            _ = try await journal.remove(old, tombstoneUntil: Sample.muchLater).get()
            let (key, _) = try await journal.newSession(record)
            try await journal.reload()
            let export = try await journal.exported(record)
            #expect(export.session.key == key && key != old)
            #expect(export.session.sequence == 0)
            #expect(export.stores.isEmpty && export.session.labels.isEmpty && export.session.receipts.isEmpty)
            #expect(export.session.lastNumbers.isEmpty)
            #expect(try await journal.append(.turns(old, from: nil, to: .next())).failure?.code == .gone)
            #expect(
                try await journal.commit(.turns(key, from: nil, to: .next(), receipts: [Sample.receipt("key")])) == 1)
        },
        JournalCheck("removing one session leaves the others as they are") { journal in
            let (kept, keptRecord) = try await journal.newSession()
            let (removed, _) = try await journal.newSession()
            for key in [kept, removed] {
                try await journal.commit(
                    .turns(
                        key, from: nil, to: .next(), turns: [Sample.turn("a")],
                        receipts: [Sample.receipt("key"), Sample.receipt(number: 1, epoch: "e")]))
            }
            let before = try await journal.picture(keptRecord)
            _ = try await journal.remove(removed, tombstoneUntil: Sample.later).get()
            try await journal.reload()
            #expect(try await journal.picture(keptRecord) == before)
        },
    ]

    /// No store comes back, be it as an empty list or because the session is gone.
    static func expectNoStores(
        _ journal: TestedJournal, of key: SessionKey, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        switch try await journal.loadStores([Sample.counter], of: key) {
        case .success(let stores): #expect(stores.isEmpty, sourceLocation: sourceLocation)
        case .failure(let failure): #expect(failure.code == .gone, sourceLocation: sourceLocation)
        }
    }
}
