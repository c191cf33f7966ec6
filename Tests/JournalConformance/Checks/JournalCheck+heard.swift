import MVI
import SessionJournal
import Testing

/// Messages of other logs.
extension JournalCheck {
    static let heard: [JournalCheck] = [
        JournalCheck("a message is received once, in order, and nothing of a batch with one from before is stored") {
            journal in
            var log = try await journal.newLogWithStore()
            for number in [1, 2, 5] {
                try await journal.commit(log.batch(.changed(), heard: [.sample("a", number)]), to: &log)
            }
            try await journal.reload()
            let before = try await journal.picture(log)
            for number in [5, 4, 1] {
                let batch = log.batch(
                    .changed(Sample.counter, "no"), receipts: [Sample.receipt("no")],
                    heard: [.sample("b", 1), .sample("a", number)])
                #expect(try await journal.append(batch).heardBefore == [1])
            }
            try await journal.reload()
            #expect(try await journal.picture(log) == before)
            // That of the other sender neither.
            try await journal.commit(log.batch(.changed(), heard: [.sample("b", 1), .sample("a", 6)]), to: &log)
            try await journal.reload()
            #expect(try await journal.append(log.batch(heard: [.sample("a", 6)])).heardBefore == [0])
            #expect(try await journal.append(log.batch(heard: [.sample("b", 1)])).heardBefore == [0])
        },
        JournalCheck("several messages of one sender in one batch count, and so do those that are refused") { journal in
            var log = try await journal.newLogWithStore()
            try await journal.commit(
                log.batch(.changed(), heard: [.sample("a", 3), .sample("b", 1), .sample("a", 2)]), to: &log)
            try await journal.reload()
            let mixed = [HeardMessage.sample("a", 2), .sample("b", 2), .sample("a", 3), .sample("a", 4)]
            #expect(try await journal.append(log.batch(heard: mixed)).heardBefore == [0, 2])
            #expect(try await journal.append(log.batch(heard: [.sample("a", 3)])).heardBefore == [0])
            try await journal.commit(log.batch(heard: [.sample("a", 4), .sample("b", 2)]), to: &log)
        },
        JournalCheck("each session receives a sender's messages by itself, and a later one nothing of an ended one") {
            journal in
            var (first, second) = (try await journal.newLogWithStore(), try await journal.newLogWithStore())
            try await journal.commit(first.batch(heard: [.sample("a", 3)]), to: &first)
            try await journal.commit(second.batch(heard: [.sample("a", 1)]), to: &second)
            try await journal.reload()
            #expect(try await journal.append(second.batch(heard: [.sample("a", 1)])).heardBefore == [0])
            _ = try await journal.remove(first.key, tombstoneUntil: Sample.later).get()
            #expect(try await journal.append(first.batch(heard: [.sample("a", 3)])).failure == .gone)
            #expect(try await journal.append(first.batch(heard: [.sample("a", 4)])).failure == .gone)
            var third = try await journal.newLogWithStore()
            try await journal.commit(third.batch(heard: [.sample("a", 1)]), to: &third)
            try await journal.commit(second.batch(heard: [.sample("a", 2)]), to: &second)
        },
        JournalCheck("a known receipt and a conflict come before a message from before, which comes before a fault") {
            journal in
            var log = try await journal.newLogWithStore()
            let (known, receipt) = ([HeardMessage.sample("a", 1)], Sample.receipt("key"))
            try await journal.commit(log.batch(.changed(), receipts: [receipt], heard: known), to: &log)
            #expect(
                try await journal.append(log.batch(.changed(), receipts: [receipt], heard: known)).duplicate != nil)
            var conflict = log.batch(.changed(), heard: known)
            conflict.expecting = .random(7)
            #expect(try await journal.append(conflict).isConflict)
            let missing = log.batch(.changed(Sample.feature(1)), heard: known)
            #expect(try await journal.append(missing).heardBefore == [0])
            // None of them is received with these.
            conflict.rare = RareBatch(heard: [.sample("a", 2)])
            #expect(try await journal.append(conflict).isConflict)
            let fault = log.batch(.changed(Sample.feature(1)), heard: [.sample("a", 2)])
            #expect(try await journal.append(fault).failure == .invalid)
            try await journal.reload()
            try await journal.commit(log.batch(.changed(), heard: [.sample("a", 2)]), to: &log)
        },
        JournalCheck("of appends at the same time only those with messages from before are refused") { journal in
            var logs: [Log] = []
            for number in 0..<20 {
                var log = try await journal.newLogWithStore()
                let heard = number % 2 == 0 ? [HeardMessage.sample("a", number + 1)] : []
                try await journal.commit(log.batch(.changed(), heard: heard), to: &log)
                logs.append(log)
            }
            let batches = logs.enumerated().map { number, log in
                let heard = [HeardMessage.sample("b", 1), .sample("a", number % 4 == 0 ? number + 1 : number + 2)]
                return log.batch(.changed(), heard: number % 4 == 3 ? [] : heard)
            }
            let answers = batches.map { journal.startAppend($0) }
            for (number, answer) in answers.enumerated() {
                let result = try await answer.value
                #expect(number % 4 == 0 ? result.heardBefore == [1] : result.isCommitted, "\(number): \(result)")
            }
            try await journal.reload()
            for (number, log) in logs.enumerated() {
                var log = log
                if number % 4 != 0 { log.head = batches[number].head }
                let isNew = number % 4 == 0 || number % 4 == 3
                let result = try await journal.append(log.batch(.changed(), heard: [.sample("b", 1)]))
                #expect(isNew ? result.isCommitted : result.heardBefore == [0], "\(number): \(result)")
            }
        },
        JournalCheck("a sender is known for 48 hours after its last message, and then forgotten") { journal in
            let hours = { Duration.seconds($0 * 3_600) }
            #expect(HeardMessage.life == hours(48))
            var log = try await journal.newLogWithStore()
            let many = (0..<1_100).map { HeardMessage.sample("m\($0)", 3) }
            try await journal.commit(log.batch(heard: many + [.sample("a", 7), .sample("b", 7)]), to: &log)
            let later = log.batch(heard: [.sample("b", 8)], time: Sample.start + hours(9))
            try await journal.commit(later, to: &log)
            // The clock of the last one was behind.
            try await journal.commit(log.batch(heard: [.sample("b", 9)]), to: &log)
            func expire(_ time: Duration) async throws {
                let now = Sample.start + time
                #expect(try await journal.expire(lastSeenBefore: Sample.start, now: now, limit: 10).get() == 0)
                try await journal.reload()
            }
            func known(_ heard: [HeardMessage]) async throws -> Int? {
                let result = try await journal.append(log.batch(heard: heard))
                return result.heardBefore?.count
            }
            try await expire(hours(48))
            #expect(try await known(many) == 1_100)
            #expect(try await known([.sample("a", 7)]) == 1)
            try await expire(hours(48) + .milliseconds(1))
            #expect(try await known([.sample("b", 9)]) == 1)
            try await journal.commit(log.batch(heard: many + [.sample("a", 1)]), to: &log)
            try await expire(hours(57))
            #expect(try await known([.sample("b", 9)]) == 1)
            try await expire(hours(57) + .milliseconds(1))
            try await journal.commit(log.batch(heard: [.sample("b", 1)]), to: &log)
        },
    ]
}

extension HeardMessage {
    fileprivate static func sample(_ sender: String, _ number: Int) -> HeardMessage {
        HeardMessage(
            sender: Sample.bytes(sender + String(repeating: ".", count: 16 - sender.utf8.count)), number: UInt64(number)
        )
    }
}

extension Log {
    fileprivate func batch(
        _ stores: StoreChange..., receipts: [StoredReceipt] = [], heard: [HeardMessage], time: Duration = Sample.start
    ) -> JournalBatch {
        var batch = batch(receipts: receipts, time: time)
        batch.stores = stores.map { store in
            var store = store
            (store.number, store.version) = (batch.head.number, batch.head.number)
            return store
        }
        if !heard.isEmpty { batch.rare = RareBatch(heard: heard) }
        return batch
    }
}
