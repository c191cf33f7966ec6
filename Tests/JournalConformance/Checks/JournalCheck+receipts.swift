import SessionJournal
import Testing

extension JournalCheck {
    static let receipts: [JournalCheck] = [
        JournalCheck("receipts of both kinds and outcomes are loaded with their turns' numbers, in that order") {
            journal in
            var log = try await journal.newLog()
            var receipts = [
                Sample.receipt("z", version: 4, made: Sample.start + .milliseconds(1)),
                Sample.receipt(sequence: 1, epoch: "mine", version: 4),
                Sample.receipt(
                    .key("a", feature: Sample.feature(1)),
                    outcome: .refused(status: 422, body: Sample.bytes(#"{"type":"about:blank"}"#))),
                Sample.receipt(.sequence(2, epoch: "mine"), outcome: .refused(status: 403, body: [])),
                Sample.receipt("m", version: 5),
            ]
            try await journal.commit(log.batch(receipts: Array(receipts[..<2])), to: &log)
            try await journal.commit(log.batch(.made(), turns: 5, receipts: Array(receipts[2..<4])), to: &log)
            try await journal.commit(log.batch(receipts: [receipts[4]]), to: &log)
            for (index, number) in [1, 2, 3, 4, 8].enumerated() { receipts[index].number = UInt64(number) }
            try await journal.reload()
            #expect(try await journal.stored(log).receipts == receipts)
            #expect(try await journal.exported(log).session.receipts == receipts)
            #expect(try await journal.news(log, since: .empty).receipts == receipts)
        },
        JournalCheck("a repeated key is told the receipt that is there, also when the log has gone on") { journal in
            var log = try await journal.newLog()
            let early = log
            var kept = [
                Sample.receipt("key", version: 3),
                Sample.receipt(.sequence(1, epoch: "e"), outcome: .refused(status: 422, body: Sample.bytes("no"))),
            ]
            try await journal.commit(log.batch(.made(), receipts: kept), to: &log)
            for index in kept.indices { kept[index].number = UInt64(index) + 1 }
            try await journal.reload()
            let repeated = Sample.receipt("key", version: 9)
            let batches = [
                log.batch(.changed(), receipts: [repeated]),
                // The client's repetition reaches a server that has not seen the first request.
                early.batch(.made(), receipts: [repeated]),
                log.batch(receipts: [Sample.receipt("other"), repeated]),
            ]
            for batch in batches { #expect(try await journal.append(batch).duplicate == kept[0]) }
            #expect(
                try await journal.append(log.batch(receipts: [Sample.receipt(sequence: 1, epoch: "e")])).duplicate
                    == kept[1])
            #expect(try await journal.stored(log).receipts == kept)
        },
        JournalCheck("a key is the same only in its feature instance and letter for letter, a number in its epoch") {
            journal in
            var log = try await journal.newLog()
            let receipts = [
                Sample.receipt("key"), Sample.receipt("key", feature: Sample.feature(1)),
                Sample.receipt("key", feature: Sample.feature(2)), Sample.receipt("KEY"), Sample.receipt("key "),
                Sample.receipt("1"), Sample.receipt(sequence: 1, epoch: "key"),
                Sample.receipt(sequence: 1, epoch: "KEY"), Sample.receipt(sequence: 2, epoch: "key"),
                Sample.receipt(sequence: 1, epoch: "counter"),
            ]
            for receipt in receipts { try await journal.commit(log.batch(receipts: [receipt]), to: &log) }
            try await journal.reload()
            let kept = try await journal.stored(log).receipts
            #expect(kept.map(\.key) == receipts.map(\.key) && kept.map(\.number) == Array(1...10))
            for (receipt, kept) in zip(receipts, kept) {
                #expect(try await journal.append(log.batch(receipts: [receipt])).duplicate == kept)
            }
        },
        JournalCheck("a forgotten receipt is gone and its key is new again, also in the batch that forgets it") {
            journal in
            var log = try await journal.newLog()
            let (key, other) = (Sample.receipt("key"), Sample.receipt("key", feature: Sample.feature(1)))
            try await journal.commit(
                log.batch(receipts: [key, other, Sample.receipt(sequence: 1, epoch: "e")]), to: &log)
            var batch = log.batch(turns: 0)
            batch.forgottenReceipts = [
                key.key, .key("never there", feature: Sample.counter), .sequence(1, epoch: "e"),
                .sequence(1, epoch: "never there"),
            ]
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).receipts.map(\.number) == [2])
            try await journal.commit(log.batch(receipts: [Sample.receipt("key", version: 2)]), to: &log)

            batch = log.batch(receipts: [Sample.receipt("key", version: 3)])
            batch.forgottenReceipts = [key.key]
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            let receipts = try await journal.stored(log).receipts
            #expect(receipts.map(\.number) == [2, 5] && receipts.map(\.key) == [other.key, key.key])
            #expect(receipts.map(\.outcome) == [.ran(version: 1), .ran(version: 3)])
        },
        JournalCheck("a receipt whose append was a conflict does not count") { journal in
            var log = try await journal.newLogWithStore()
            let receipts = [Sample.receipt("key"), Sample.receipt(sequence: 1, epoch: "e")]
            var batch = log.batch(.changed(), receipts: receipts)
            batch.expecting.nonce ^= 1
            #expect(try await journal.append(batch).isConflict)
            try await journal.reload()
            try await journal.commit(log.batch(.changed(), receipts: receipts), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).receipts.map(\.key) == receipts.map(\.key))
        },
        JournalCheck("eight writers with the same receipt: one append is kept, the others are told of it") { journal in
            var log = try await journal.newLog()
            for round in 1...20 {
                let current = log
                let batches = (0..<8).map {
                    current.batch(receipts: [Sample.receipt("key-\(round)", version: UInt64($0))])
                }
                let results = try await eachOfEight { try await journal.append(batches[$0]) }
                let winners = results.indices.filter { results[$0].isCommitted }
                try #require(winners.count == 1)
                let winner = batches[winners[0]]
                #expect(results.compactMap(\.duplicate) == Array(repeating: winner.receipts[0], count: 7))
                log.head = winner.head
            }
            try await journal.reload()
            #expect(try await journal.stored(log).receipts.map(\.number) == Array(1...20))
        },
    ]
}
