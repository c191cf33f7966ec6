import Locking
import SessionJournal
import Testing

extension JournalCheck {
    static let expiry: [JournalCheck] = [
        JournalCheck("sessions that nobody came for expire with all that is theirs; their tokens are remembered") {
            journal in
            let limit = Sample.start + .seconds(10)
            let (old, oldRecord) = try await journal.newSession()
            let (_, youngRecord) = try await journal.newSession(Sample.session(lastSeen: limit + .milliseconds(1)))
            try await journal.commit(
                .turns(old, from: nil, to: .next(), turns: [Sample.turn("a")], receipts: [Sample.receipt("key")]))
            try await journal.reload()
            #expect(
                try await journal.expire(
                    lastSeenBefore: limit, now: Sample.later, tombstoneUntil: Sample.muchLater, limit: 10
                ).get() == 1)
            try await journal.reload()
            #expect(try await journal.load(oldRecord.tokenHash, now: Sample.later).get().isEnded)
            #expect(
                try await journal.load(oldRecord.tokenHash, now: Sample.muchLater + .milliseconds(1)).get().isUnknown)
            #expect(try await journal.export(oldRecord.id).get() == nil)
            try await expectNoStores(journal, of: old)
            #expect(try await journal.append(.turns(old, from: nil, to: .next())).failure?.code == .gone)
            #expect(try await journal.stored(youngRecord).record == youngRecord)
            #expect(try await journal.expire(lastSeenBefore: limit, limit: 10).get() == 0)
        },
        JournalCheck("a step of expiry takes at most as many as it may, and says how many it took") { journal in
            for _ in 0..<150 { _ = try await journal.newSession() }
            let (_, youngRecord) = try await journal.newSession(Sample.session(lastSeen: Sample.muchLater))
            var counts: [Int] = []
            for limit in [7, 40, 40, 1, 40, 40, 40] {
                counts.append(try await journal.expire(lastSeenBefore: Sample.later, limit: limit).get())
            }
            #expect(counts == [7, 40, 40, 1, 40, 22, 0])
            try await journal.reload()
            #expect(try await journal.stored(youngRecord).record == youngRecord)
        },
        JournalCheck("a touch or an append keeps a session from expiring") { journal in
            let (touched, touchedRecord) = try await journal.newSession()
            let (appended, appendedRecord) = try await journal.newSession()
            let (_, leftRecord) = try await journal.newSession()
            _ = try await journal.touch([SessionTouch(session: touched, lastSeen: Sample.later, written: [])]).get()
            try await journal.commit(.turns(appended, from: nil, to: .next(), time: Sample.later))
            try await journal.reload()
            #expect(try await journal.expire(lastSeenBefore: Sample.start + .seconds(1), limit: 10).get() == 1)
            try await journal.reload()
            #expect(try await journal.stored(touchedRecord).record.lastSeen == Sample.later)
            #expect(try await journal.stored(appendedRecord).stores.count == 1)
            #expect(try await journal.load(leftRecord.tokenHash).get().isEnded)
        },
        JournalCheck("an append that a session's expiry comes across is kept, or finds the session gone") { journal in
            // The moment between finding a session old and forgetting it is short: many tries.
            for _ in 0..<40 { try await raceExpiry(journal, sessions: 64) }
        },
    ]

    /// Six writers append to sessions, each to its own, while two sweeps forget them, from before the first append to
    /// after the last.
    private static func raceExpiry(_ journal: TestedJournal, sessions count: Int) async throws {
        let records = (0..<count).map { _ in Sample.session() }
        let answers = records.map { record in journal.start("create") { $0.create(record, done: $1) } }
        var keys: [SessionKey] = []
        for answer: Answer<Result<SessionKey, JournalFailure>> in answers { keys.append(try await answer.value.get()) }
        let all = keys
        let results = Lock<[Int: AppendResult]>([:])
        let counts = try await eachOfEight { number in
            guard number > 1 else {
                var expired = 0
                while results.withLock({ $0.count }) < count {
                    expired += try await journal.expire(lastSeenBefore: Sample.later, limit: 2).get()
                }
                return expired
            }
            // From the oldest on, as sweeps do, so that they are about the same sessions.
            for index in all.indices where index % 6 == number - 2 {
                let result = try await journal.append(
                    .turns(
                        all[index], from: nil, to: .next(), receipts: [Sample.receipt("key")],
                        time: Sample.later + .seconds(1)))
                results.withLock { $0[index] = result }
            }
            return 0
        }
        try await journal.reload()
        var gone = 0
        for (index, record) in records.enumerated() {
            let result = try #require(results.withLock { $0[index] })
            if result.sequence != nil {
                #expect(result.sequence == 1)
                let stored = try await journal.stored(record)
                #expect(stored.stores.count == 1 && stored.receipts.count == 1 && stored.sequence == 1)
            } else {
                gone += 1
                #expect(result.failure?.code == .gone)
                #expect(try await journal.load(record.tokenHash).get().isEnded)
            }
        }
        #expect(counts.reduce(0, +) == gone, "each is counted by the sweep that took it")
    }
}
