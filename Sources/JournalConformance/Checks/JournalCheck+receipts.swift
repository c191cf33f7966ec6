import SessionJournal
import Testing

extension JournalCheck {
    static let receipts: [JournalCheck] = [
        JournalCheck("receipts of both kinds and outcomes are loaded as they were made, in that order") { journal in
            let (key, record) = try await journal.newSession()
            let receipts = [
                Sample.receipt("z", version: 4, made: Sample.start + .milliseconds(1)),
                Sample.receipt(number: 1, epoch: "mine", version: 4),
                Sample.receipt(
                    .key("a", feature: Sample.feature(1)),
                    outcome: .refused(status: 422, body: Sample.bytes(#"{"type":"about:blank"}"#))),
                Sample.receipt(.sequence(2, epoch: "mine"), outcome: .refused(status: 403, body: [])),
                Sample.receipt("m", version: 5),
            ]
            try await journal.commit(.receipts(key, receipts[0], receipts[1]))
            try await journal.commit(.turns(key, from: nil, to: .next(), receipts: [receipts[2], receipts[3]]))
            try await journal.commit(.receipts(key, receipts[4]))
            try await journal.reload()
            #expect(try await journal.stored(record).receipts == receipts)
            #expect(try await journal.exported(record).session.receipts == receipts)
        },
        JournalCheck("a repeated key is told the receipt that is there, also when its store has gone on") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            let keyed = Sample.receipt("key", version: 3)
            let numbered = Sample.receipt(
                .sequence(1, epoch: "e"), outcome: .refused(status: 422, body: Sample.bytes("no")))
            try await journal.commit(.turns(key, from: nil, to: token, receipts: [keyed, numbered]))
            try await journal.reload()
            let results = [
                try await journal.append(
                    .turns(key, from: token, to: .next(2), receipts: [Sample.receipt("key", version: 9)])),
                // The client's repetition reaches a server that has not seen the first one.
                try await journal.append(.turns(key, from: nil, to: .next(1), receipts: [Sample.receipt("key")])),
                try await journal.append(.receipts(key, Sample.receipt("other"), Sample.receipt("key"))),
            ]
            #expect(results.map(\.duplicate) == [keyed, keyed, keyed])
            #expect(
                try await journal.append(.receipts(key, Sample.receipt(number: 1, epoch: "e"))).duplicate == numbered)
            #expect(try await journal.stored(record).receipts == [keyed, numbered])
        },
        JournalCheck("a key is the same only in its feature instance and letter for letter, a number in its epoch") {
            journal in
            let (key, record) = try await journal.newSession()
            let receipts = [
                Sample.receipt("key"), Sample.receipt("key", feature: Sample.feature(1)),
                Sample.receipt("key", feature: Sample.feature(2)), Sample.receipt("KEY"), Sample.receipt("key "),
                Sample.receipt("1"), Sample.receipt(number: 1, epoch: "key"), Sample.receipt(number: 1, epoch: "KEY"),
                Sample.receipt(number: 2, epoch: "key"), Sample.receipt(number: 1, epoch: "counter"),
            ]
            for receipt in receipts { try await journal.commit(.receipts(key, receipt)) }
            try await journal.reload()
            #expect(try await journal.stored(record).receipts == receipts)
            for receipt in receipts {
                #expect(try await journal.append(.receipts(key, receipt)).duplicate == receipt)
            }
        },
        JournalCheck("the last number of each epoch is kept, also when its receipt is forgotten") { journal in
            let (key, record) = try await journal.newSession()
            for number in 1...UInt64(3) {
                try await journal.commit(.receipts(key, Sample.receipt(number: number, epoch: "a")))
            }
            try await journal.commit(
                .receipts(key, Sample.receipt(number: 1, epoch: "b"), Sample.receipt(number: 2, epoch: "b")))
            var append = JournalAppend.receipts(key)
            append.forgottenReceipts = (1...3).map { .sequence($0, epoch: "a") }
            try await journal.commit(append)
            try await journal.reload()
            let session = try await journal.stored(record)
            #expect(session.lastNumbers == ["a": 3, "b": 2])
            #expect(session.receipts.map(\.key) == [.sequence(1, epoch: "b"), .sequence(2, epoch: "b")])
        },
        JournalCheck("an epoch that is forgotten has no last number, and may come back with one") { journal in
            let (key, record) = try await journal.newSession()
            try await journal.commit(
                .receipts(key, Sample.receipt(number: 7, epoch: "a"), Sample.receipt(number: 8, epoch: "b")))
            var append = JournalAppend.receipts(key)
            append.forgottenReceipts = [.sequence(7, epoch: "a")]
            append.forgottenEpochs = ["a", "never there"]
            try await journal.commit(append)
            try await journal.reload()
            #expect(try await journal.stored(record).lastNumbers == ["b": 8])
            append = .receipts(key, Sample.receipt(number: 1, epoch: "a"), Sample.receipt(number: 1, epoch: "b"))
            append.forgottenReceipts = [.sequence(8, epoch: "b")]
            append.forgottenEpochs = ["b"]
            try await journal.commit(append)
            try await journal.reload()
            #expect(try await journal.stored(record).lastNumbers == ["a": 1, "b": 1])
        },
        JournalCheck("a forgotten receipt is gone and its key is new again, also in the append that forgets it") {
            journal in
            let (key, record) = try await journal.newSession()
            let first = Sample.receipt("key", version: 1)
            let other = Sample.receipt("key", feature: Sample.feature(1), version: 1)
            try await journal.commit(.receipts(key, first, other))
            var append = JournalAppend.receipts(key)
            append.forgottenReceipts = [first.key, .key("never there", feature: Sample.counter)]
            try await journal.commit(append)
            try await journal.reload()
            #expect(try await journal.stored(record).receipts == [other])
            let second = Sample.receipt("key", version: 2)
            try await journal.commit(.receipts(key, second))

            let third = Sample.receipt("key", version: 3)
            append = .receipts(key, third)
            append.forgottenReceipts = [second.key]
            try await journal.commit(append)
            try await journal.reload()
            #expect(try await journal.stored(record).receipts == [other, third])
        },
        JournalCheck("a receipt whose append was a conflict does not count") { journal in
            let (key, record) = try await journal.newSession()
            let receipts = [Sample.receipt("key"), Sample.receipt(number: 1, epoch: "e")]
            #expect(
                try await journal.append(.turns(key, from: .next(), to: .next(), receipts: receipts)).isConflict)
            try await journal.reload()
            #expect(try await journal.stored(record).lastNumbers.isEmpty)
            try await journal.commit(.turns(key, from: nil, to: .next(), receipts: receipts))
            try await journal.reload()
            #expect(try await journal.stored(record).receipts == receipts)
        },
    ]
}
