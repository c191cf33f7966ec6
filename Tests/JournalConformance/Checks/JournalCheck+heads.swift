import Locking
import SessionJournal
import Testing

extension JournalCheck {
    static let heads: [JournalCheck] = [
        JournalCheck("a head is expected once: the second batch that expects it is a conflict") { journal in
            var log = try await journal.newLog()
            let late = [log.batch(.made()), log.batch(.changed()), log.batch(receipts: [Sample.receipt("key")])]
            try await journal.commit(log.batch(.made(Sample.counter, "1")), to: &log)
            for batch in late { #expect(try await journal.append(batch).isConflict) }
            try await journal.reload()
            for batch in late { #expect(try await journal.append(batch).isConflict) }
            #expect(try await journal.store(of: log).state == Sample.bytes("1"))
            #expect(try await journal.stored(log).head == log.head)
            try await journal.commit(log.batch(.changed()), to: &log)
        },
        JournalCheck("a head is the number and the random bits, all of them") { journal in
            var log = try await journal.newLog()
            var batch = log.batch(.made(), turns: 5)
            batch.head.nonce = 0x8000_0000_0000_0001
            try await journal.commit(batch, to: &log)
            for wrong: (UInt64, UInt64) in [
                (5, 0x8000_0000_0000_0000), (5, 1), (5, 0), (4, 0x8000_0000_0000_0001), (6, 0x8000_0000_0000_0001),
                (0, 0), (5, 0x7fff_ffff_ffff_ffff),
            ] {
                var other = log
                other.head = SessionHead(number: wrong.0, nonce: wrong.1)
                #expect(try await journal.append(other.batch(.changed())).isConflict)
            }
            try await journal.reload()
            try await journal.commit(log.batch(.changed()), to: &log)
        },
        JournalCheck("the head is that of the session: of two batches for different stores one is a conflict") {
            journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.made(Sample.feature(1)), .made(Sample.feature(2))), to: &log)
            let second = log.batch(.changed(Sample.feature(2), "second"))
            try await journal.commit(log.batch(.changed(Sample.feature(1), "first")), to: &log)
            #expect(try await journal.append(second).isConflict)
            try await journal.reload()
            #expect(try await journal.append(second).isConflict)
            #expect(try await journal.store(Sample.feature(1), of: log).state == Sample.bytes("first"))
            #expect(try await journal.store(Sample.feature(2), of: log).state == Sample.bytes("{}"))
        },
        JournalCheck("the head goes on over whatever a batch changes, and with every reopening") { journal in
            var log = try await journal.newLog()
            let (one, two) = (Sample.feature(1), Sample.feature(2))
            let steps: [@Sendable (Log) -> JournalBatch] = [
                { $0.batch(receipts: [Sample.receipt("refused")]) },
                { $0.batch(.made(one)) },
                { $0.batch(.made(two), turns: 3) },
                { $0.batch(.changed(one)) },
                { $0.batch(.disposed(two)) },
                { $0.batch(receipts: [Sample.receipt("refused again")]) },
                { $0.batch(.changed(one), .made(two)) },
                { $0.batch(.disposed(one)) },
                { $0.batch(.disposed(two)) },
                { $0.batch(turns: 0) },
                { $0.batch(.made(one)) },
                { $0.batch(turns: 0) },
                { $0.batch(.changed(one)) },
                { $0.batch(turns: 0) },
                { $0.batch(.disposed(one), turns: 0) },
                { $0.batch(.made(two)) },
            ]
            var heads = [SessionHead.empty]
            for step in steps {
                let before = log
                try await journal.commit(step(log), to: &log)
                heads.append(log.head)
                try await journal.reload()
                #expect(try await journal.stored(log).head == log.head)
                #expect(try await journal.news(log, since: log.head).recentHeads == heads.suffix(16))
                #expect(try await journal.append(step(before)).isCommitted == false)
            }
        },
        JournalCheck("eight writers to one session lose no update and leave no gap in the numbers") { journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(.made(Sample.counter, "0")), to: &log)
            let first = log
            let numbers = try await eachOfEight { writer in
                var own = first
                var numbers: [UInt64] = []
                while numbers.count < 25 {
                    // The store and the head may be from two moments; then the head is stale and the append a conflict.
                    own.head = try await journal.stored(own).head
                    let news = try await journal.news(own, since: .empty)
                    guard news.head == own.head, let state = news.changed.first?.state,
                        let count = UInt64(String(decoding: state, as: UTF8.self))
                    else { continue }
                    let receipt = Sample.receipt("\(writer)-\(numbers.count)", version: count + 1)
                    let batch = own.batch(
                        .changed(Sample.counter, "\(count + 1)"), labels: own.labels("\(count + 1)"),
                        receipts: [receipt])
                    let result = try await journal.append(batch)
                    if result.isCommitted {
                        // The numbers follow the order of commits: the state counts the earlier ones.
                        #expect(batch.head.number == count + 2)
                        numbers.append(batch.head.number)
                    } else {
                        // Not an expectation, which a broken journal would fail endlessly.
                        try #require(result.isConflict)
                    }
                }
                return numbers
            }
            #expect(numbers.joined().sorted() == Array(2...201))
            try await journal.reload()
            #expect(try await journal.store(of: log).state == Sample.bytes("200"))
            let session = try await journal.stored(log)
            #expect(session.head.number == 201)
            #expect(session.labels.map(\.id) == (2...201).map { LabelID(number: $0, index: 0) })
            #expect(session.labels.map(\.json) == (1...200).map { Sample.bytes("\"\($0)\"") })
            #expect(session.receipts.map(\.outcome) == (1...200).map { .ran(version: $0) })
            #expect(session.receipts.map(\.number) == Array(2...201))
        },
        JournalCheck("eight batches that expect the same head, each for a store of its own: one is kept") { journal in
            var log = try await journal.newLog()
            try await journal.commit(log.batch(turns: 1), to: &log)
            for round in 1...20 {
                let current = log
                let batches = (0..<8).map { current.batch(.made(Sample.feature($0), "\(round)")) }
                let results = try await eachOfEight { try await journal.append(batches[$0]) }
                let winners = results.indices.filter { results[$0].isCommitted }
                try #require(winners.count == 1)
                #expect(results.count { $0.isConflict } == 7)
                log.head = batches[winners[0]].head
                #expect(try await journal.stored(log).head == log.head)
                #expect(try await journal.store(Sample.feature(winners[0]), of: log).state == Sample.bytes("\(round)"))
            }
        },
        JournalCheck("an epoch that a batch brings is the log's name, the head and all else stay") { journal in
            var log = try await journal.newLogWithStore()
            var batch = log.batch(turns: 0)
            batch.epoch = "renamed"
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).record.epoch == "renamed")
            #expect(try await journal.stored(log).head == log.head && log.head.number == 1)
            try await journal.commit(log.batch(.changed()), to: &log)
            try await journal.reload()
            let news = try await journal.news(log, since: .empty)
            #expect(news.record.epoch == "renamed" && news.head == log.head)
            batch = log.batch(.changed())
            batch.epoch = "again"
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            #expect(try await journal.exported(log).session.record.epoch == "again")
        },
    ]
}
