import SessionJournal
import Testing

extension JournalCheck {
    static let units: [JournalCheck] = [
        JournalCheck("an append is kept whole: state, labels, receipts, marks, time and sequence number together") {
            journal in
            let (key, record) = try await journal.newSession()
            try await prepare(journal, key)
            let append = everything(in: key, from: preparedToken)
            #expect(try await journal.commit(append) == 3)
            try await journal.reload()
            let export = try await journal.exported(record)
            let session = export.session
            #expect(session.sequence == 4)
            #expect(session.record.lastSeen == Sample.later)
            #expect(session.marks == append.marks)
            #expect(
                session.labels.map(\.id) == [
                    LabelID(sequence: 2, index: 0), LabelID(sequence: 3, index: 0), LabelID(sequence: 4, index: 0),
                    LabelID(sequence: 4, index: 1),
                ])
            #expect(
                session.receipts.map(\.key) == [.key("stays", feature: Sample.counter)] + append.receipts.map(\.key))
            #expect(session.lastNumbers == ["new": 5])
            #expect(session.stores.map(\.token) == [append.store?.token])
            #expect(export.stores.map(\.state) == [append.store?.state])
            #expect(export.turns.map(\.sequence) == [3])
        },
        JournalCheck("of an append that is a conflict nothing is kept") { journal in
            try await expectNothingKept(journal) { append in
                append.store?.expecting = .next()
            } ending: {
                $0.isConflict
            }
        },
        JournalCheck("of an append that is a duplicate nothing is kept") { journal in
            try await expectNothingKept(journal) { append in
                append.receipts.append(Sample.receipt("stays"))
            } ending: {
                $0.duplicate?.key == .key("stays", feature: Sample.counter)
            }
        },
        JournalCheck("of an append that would start a store that is there nothing is kept") { journal in
            try await expectNothingKept(journal) { append in
                append.store?.expecting = nil
            } ending: {
                $0.isConflict
            }
        },
        JournalCheck("a store cannot start without a state, nor be appended to without a turn: nothing is kept") {
            journal in
            let isInvalid = { @Sendable (result: AppendResult) in result.failure?.code == .invalid }
            for part in [\StoreAppend.state, \StoreAppend.view] {
                try await expectNothingKept(journal) { append in
                    append.store?.feature = Sample.feature(1)
                    append.store?.expecting = nil
                    append.store?[keyPath: part] = nil
                } ending: {
                    isInvalid($0)
                }
            }
            try await expectNothingKept(journal) { append in
                append.store?.turns = []
            } ending: {
                isInvalid($0)
            }
        },
        JournalCheck("turns of one append have numbers one after the other, and the result is the first") { journal in
            let (key, record) = try await journal.newSession()
            let token = StoreToken.next()
            #expect(
                try await journal.commit(
                    .turns(key, from: nil, to: token, turns: [Sample.turn(), Sample.turn("a"), Sample.turn("b", "c")]))
                    == 1)
            #expect(
                try await journal.commit(
                    .turns(key, Sample.feature(1), from: nil, to: .next(), turns: [Sample.turn("d"), Sample.turn()]))
                    == 4)
            #expect(try await journal.commit(.turns(key, from: token, to: .next(2), turns: [Sample.turn("e")])) == 6)
            try await journal.reload()
            let session = try await journal.stored(record)
            #expect(session.sequence == 6)
            #expect(session.labels.map(\.id.sequence) == [2, 3, 3, 4, 6])
            #expect(session.labels.map(\.id.index) == [0, 0, 1, 0, 0])
            #expect(
                session.labels.map(\.feature)
                    == [Sample.counter, Sample.counter, Sample.counter, Sample.feature(1), Sample.counter])
        },
        JournalCheck("an append without turns has the session's last number and takes none") { journal in
            let (key, record) = try await journal.newSession()
            #expect(try await journal.commit(.receipts(key, Sample.receipt("a"))) == 0)
            let token = StoreToken.next()
            try await journal.commit(.turns(key, from: nil, to: token, turns: [Sample.turn(), Sample.turn()]))
            try await journal.reload()
            #expect(try await journal.commit(.receipts(key, Sample.receipt("b"))) == 2)
            #expect(try await journal.commit(.turns(key, from: token, to: .next(2))) == 3)
            #expect(try await journal.stored(record).receipts.count == 2)
        },
        JournalCheck("marks of the session stay until an append or a removal brings new ones") { journal in
            let (key, record) = try await journal.newSession()
            var append = JournalAppend.receipts(key, Sample.receipt("a"))
            var marks = SessionMarks()
            marks.versionFloor = 3
            marks.droppedSequence = 2
            marks.hasLabels = true
            marks.hasUnheard = true
            append.marks = marks
            try await journal.commit(append)
            try await journal.commit(.turns(key, from: nil, to: .next()))
            try await journal.reload()
            #expect(try await journal.stored(record).marks == marks)
            marks.hasUnheard = false
            _ = try await journal.removeStore(Sample.counter, of: key, marks: marks).get()
            try await journal.reload()
            #expect(try await journal.stored(record).marks == marks)
        },
    ]

    private static let preparedToken = StoreToken(version: 1, nonce: 77)

    /// Two turns with a label each, three receipts, and an epoch.
    private static func prepare(_ journal: TestedJournal, _ key: SessionKey) async throws {
        try await journal.commit(
            .turns(
                key, from: nil, to: preparedToken, turns: [Sample.turn("first"), Sample.turn("second")],
                receipts: [
                    Sample.receipt("stays"), Sample.receipt("goes"), Sample.receipt(number: 4, epoch: "old"),
                ]))
    }

    /// Changes everything that an append can change.
    private static func everything(in key: SessionKey, from token: StoreToken) -> JournalAppend {
        var turn = Sample.turn("third")
        turn.recording = Sample.bytes("{}")
        turn.recordingLimit = 10
        var append = JournalAppend.turns(
            key, from: token, to: .next(2), state: "new", view: "new", viewIntent: "new",
            turns: [turn, Sample.turn("fourth", "fifth")],
            receipts: [Sample.receipt("new"), Sample.receipt(number: 5, epoch: "new")], time: Sample.later)
        append.store?.marks.droppedSequence = 1
        append.forgottenReceipts = [.key("goes", feature: Sample.counter), .sequence(4, epoch: "old")]
        append.forgottenEpochs = ["old"]
        append.firstLabel = LabelID(sequence: 2, index: 0)
        var marks = SessionMarks()
        marks.versionFloor = 1
        append.marks = marks
        return append
    }

    /// Appends everything with a fault in it, and compares what is kept before and after.
    private static func expectNothingKept(
        _ journal: TestedJournal, fault: (inout JournalAppend) -> Void, ending: (AppendResult) -> Bool,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let (key, record) = try await journal.newSession()
        try await prepare(journal, key)
        let before = try await journal.picture(record)
        var append = everything(in: key, from: preparedToken)
        fault(&append)
        let result = try await journal.append(append)
        #expect(ending(result), "the append ended as \(result)", sourceLocation: sourceLocation)
        #expect(try await journal.picture(record) == before, sourceLocation: sourceLocation)
        try await journal.reload()
        #expect(try await journal.picture(record) == before, sourceLocation: sourceLocation)
        // Nor does it stand in the way of the next one, which takes its number.
        #expect(
            try await journal.commit(everything(in: key, from: preparedToken)) == 3, sourceLocation: sourceLocation)
    }
}
