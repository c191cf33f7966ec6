import Locking
import SessionJournal
import Testing

extension JournalCheck {
    static let writers: [JournalCheck] = [
        JournalCheck("eight writers to one store lose no update and leave no gap in the sequence numbers") { journal in
            let (key, record) = try await journal.newSession()
            try await journal.commit(.turns(key, from: nil, to: .next(0), state: "0"))
            let counts = try await eachOfEight { writer in
                var sequences: [UInt64] = []
                while sequences.count < 25 {
                    let store = try await journal.store(of: key)
                    let count = try #require(UInt64(String(decoding: store.state, as: UTF8.self)))
                    let receipt = Sample.receipt("\(writer)-\(sequences.count)", version: count + 1)
                    let result = try await journal.append(
                        .turns(
                            key, from: store.summary.token, to: .next(count + 1), state: "\(count + 1)",
                            turns: [Sample.turn("\(count + 1)")], receipts: [receipt]))
                    if let sequence = result.sequence {
                        // The numbers are in the order of the commits: the state tells how many were before.
                        #expect(sequence == count + 2)
                        sequences.append(sequence)
                    } else {
                        // Not an expectation, which a broken journal would fail without end.
                        try #require(result.isConflict)
                    }
                }
                return sequences
            }
            for sequences in counts { #expect(sequences == sequences.sorted()) }
            #expect(counts.joined().sorted() == Array(2...201))
            try await journal.reload()
            let store = try await journal.store(of: key)
            #expect(store.state == Sample.bytes("200"))
            #expect(store.summary.token.version == 200)
            let session = try await journal.stored(record)
            #expect(session.sequence == 201)
            #expect(session.labels.map(\.id) == (2...201).map { LabelID(sequence: $0, index: 0) })
            #expect(session.labels.map(\.label.json) == (1...200).map { Sample.bytes("\"\($0)\"") })
            #expect(session.receipts.map(\.outcome) == (1...200).map { .ran(version: $0) })
            #expect(
                Set(session.receipts.map(\.key))
                    == Set((0..<200).map { .key("\($0 / 25)-\($0 % 25)", feature: Sample.counter) }))
        },
        JournalCheck("eight writers with the same token: one append is kept") { journal in
            let (key, record) = try await journal.newSession()
            var token = StoreToken.next()
            try await journal.commit(.turns(key, from: nil, to: token))
            for round in 1...20 {
                let expected = token
                let next = (0..<8).map { _ in StoreToken.next(UInt64(round) + 1) }
                let results = try await eachOfEight { writer in
                    try await journal.append(.turns(key, from: expected, to: next[writer], state: "\(writer)"))
                }
                let winners = results.indices.filter { results[$0].sequence != nil }
                try #require(winners.count == 1)
                #expect(results.count { $0.isConflict } == 7)
                #expect(results[winners[0]].sequence == UInt64(round) + 1)
                let store = try await journal.store(of: key)
                #expect(store.summary.token == next[winners[0]])
                #expect(store.state == Sample.bytes("\(winners[0])"))
                token = store.summary.token
            }
            try await journal.reload()
            #expect(try await journal.stored(record).sequence == 21)
        },
        JournalCheck("of eight who start a store one succeeds") { journal in
            for _ in 0..<20 {
                let (key, record) = try await journal.newSession()
                let results = try await eachOfEight { writer in
                    try await journal.append(.turns(key, from: nil, to: .next(), state: "\(writer)"))
                }
                let winners = results.indices.filter { results[$0].sequence == 1 }
                try #require(winners.count == 1)
                #expect(results.count { $0.isConflict } == 7)
                #expect(try await journal.store(of: key).state == Sample.bytes("\(winners[0])"))
                #expect(try await journal.stored(record).sequence == 1)
            }
        },
        JournalCheck("eight writers with the same receipt: one append is kept, the others are told of it") { journal in
            let (key, record) = try await journal.newSession()
            for round in 1...20 {
                let receipts = (0..<8).map { Sample.receipt("key-\(round)", version: UInt64($0)) }
                let results = try await eachOfEight { writer in
                    try await journal.append(.receipts(key, receipts[writer]))
                }
                let winners = results.indices.filter { results[$0].sequence != nil }
                try #require(winners.count == 1)
                #expect(results.compactMap(\.duplicate) == Array(repeating: receipts[winners[0]], count: 7))
            }
            try await journal.reload()
            #expect(try await journal.stored(record).receipts.count == 20)
        },
        JournalCheck("eight stores of a session share one row of sequence numbers, dense and in commit order") {
            journal in
            let (key, record) = try await journal.newSession()
            let sequences = try await eachOfEight { writer in
                var token: StoreToken?
                var sequences: [UInt64] = []
                for version in 1...UInt64(25) {
                    let next = StoreToken.next(version)
                    sequences.append(
                        try await journal.commit(
                            .turns(
                                key, Sample.feature(writer), from: token, to: next, turns: [Sample.turn("\(writer)")])
                        ))
                    token = next
                }
                return sequences
            }
            for sequences in sequences { #expect(sequences == sequences.sorted()) }
            #expect(sequences.joined().sorted() == Array(1...200))
            try await journal.reload()
            let session = try await journal.stored(record)
            #expect(session.sequence == 200)
            for label in session.labels {
                #expect(
                    sequences[Int(label.feature.key ?? "") ?? 0].contains(label.id.sequence),
                    "each label has the number that its writer was told")
            }
            #expect(session.labels.map(\.id.sequence) == Array(1...200))
        },
        JournalCheck("whoever reads while others write sees whole appends") { journal in
            let (key, record) = try await journal.newSession()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let isWriting = Lock(true)
                group.addTask {
                    defer { isWriting.withLock { $0 = false } }
                    try await write(200, to: key, of: journal)
                }
                var seen: UInt64 = 0
                while isWriting.withLock({ $0 }) {
                    seen = try await readWhole(record, notBefore: seen, of: journal)
                }
                try await group.waitForAll()
            }
            #expect(try await readWhole(record, notBefore: 200, of: journal) == 200)
        },
    ]

    /// Appends that each bring two labels, a receipt, a state and a time.
    private static func write(_ count: UInt64, to key: SessionKey, of journal: TestedJournal) async throws {
        var token: StoreToken?
        for version in 1...count {
            let next = StoreToken.next(version)
            try await journal.commit(
                .turns(
                    key, from: token, to: next, state: "\(version)", turns: [Sample.turn("a", "b")],
                    receipts: [Sample.receipt(number: version, epoch: "e", version: version)],
                    time: Sample.start + .milliseconds(Int64(version))))
            token = next
        }
    }

    /// Reads twice, sees to it that everything is of one append, and tells of which.
    private static func readWhole(
        _ record: SessionRecord, notBefore seen: UInt64, of journal: TestedJournal
    ) async throws -> UInt64 {
        let export = try await journal.exported(record)
        let sequence = export.session.sequence
        #expect(export.stores.map(\.state) == (sequence == 0 ? [] : [Sample.bytes("\(sequence)")]))
        let loaded = try await journal.stored(record)
        #expect(sequence >= seen && loaded.sequence >= sequence, "what was there once stays")
        for session in [export.session, loaded] {
            let sequence = session.sequence
            #expect(session.labels.count == 2 * Int(sequence))
            #expect(session.receipts.count == Int(sequence))
            #expect(session.lastNumbers == (sequence == 0 ? [:] : ["e": sequence]))
            #expect(session.record.lastSeen == Sample.start + .milliseconds(Int64(sequence)))
            #expect(session.stores.map(\.token.version) == (sequence == 0 ? [] : [sequence]))
        }
        return loaded.sequence
    }

    /// Eight tasks at once; their results in the order of their numbers.
    static func eachOfEight<Value: Sendable>(
        _ body: @escaping @Sendable (_ writer: Int) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            for writer in 0..<8 { group.addTask { (writer, try await body(writer)) } }
            var results: [Int: Value] = [:]
            for try await (writer, value) in group { results[writer] = value }
            return (0..<8).compactMap { results[$0] }
        }
    }
}
