import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let units: [JournalCheck] = [
        JournalCheck("a batch is kept whole: stores, labels, receipts, reminders, lost labels, time and head together")
        {
            journal in
            var log = try await prepared(journal)
            let batch = everything(log)
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            let export = try await journal.exported(log)
            let session = export.session
            #expect(session.head == batch.head)
            #expect(session.record.lastSeen == Sample.later && session.record.epoch == "new")
            #expect(session.lostLabels == batch.lostLabels)
            let new = batch.labels.map(\.id).filter { !batch.forgottenLabels.contains($0) }
            #expect(session.labels.map(\.id) == [LabelID(number: 2, index: 0)] + new)
            #expect(
                session.receipts.map(\.key) == [.key("stays", feature: Sample.counter)] + batch.receipts.map(\.key))
            #expect(
                Set(export.stores.map(\.state)) == [Sample.bytes("new"), Sample.bytes("made"), Sample.bytes("over")])
            #expect(export.setAside.map(\.reason) == ["unreadable"])
            #expect(session.reminders.map(\.id) == ["new", "stays"])
            #expect(session.reminders.map(\.action) == [Sample.bytes("{}"), Sample.bytes("1")])
        },
        JournalCheck("of a batch that is a conflict nothing is kept") { journal in
            try await expectNothingKept(journal) {
                $0.expecting.nonce ^= 1
            } ending: {
                $0.isConflict
            }
            try await expectNothingKept(journal) {
                $0.expecting = .empty
            } ending: {
                $0.isConflict
            }
        },
        JournalCheck("of a batch that is a duplicate nothing is kept") { journal in
            try await expectNothingKept(journal) { batch in
                batch.receipts.append(Sample.receipt("stays"))
            } ending: {
                $0.duplicate?.key == .key("stays", feature: Sample.counter)
            }
        },
        JournalCheck("an inconsistent batch is invalid, and nothing of it is kept") { journal in
            let faults: [@Sendable (inout JournalBatch) -> Void] = [
                { $0.stores[2].state = nil },
                { $0.stores[2].view = nil },
                { $0.stores[1].state = nil },
                { $0.stores[0].feature = Sample.feature(9) },
                { $0.stores.append(.disposed(Sample.feature(9))) },
                { $0.stores[2].setsAside = "nothing" },
                { $0.head.number = $0.expecting.number - 1 },
                { $0.receipts.append($0.receipts[0]) },
            ]
            for fault in faults {
                try await expectNothingKept(journal, fault: fault) { $0.failure == .invalid }
            }
        },
        JournalCheck("what another writer changed is a conflict, not a fault of the batch") { journal in
            var log = try await journal.newLogWithStore()
            let late = log
            try await journal.commit(log.batch(.disposed()), to: &log)
            #expect(try await journal.append(late.batch(.changed())).isConflict)
            #expect(try await journal.append(late.batch(.disposed())).isConflict)
            #expect(try await journal.append(late.batch(.sample(.made, setsAside: "x"))).isConflict)
        },
    ]

    /// Three stores, two turns with a label each, and three receipts.
    private static func prepared(_ journal: TestedJournal) async throws -> Log {
        var log = try await journal.newLog()
        try await journal.commit(
            log.batch(
                .made(), .made(Sample.feature(1)), .made(Sample.feature(3)), turns: 2,
                labels: log.labels("first") + log.labels("second", turn: 2),
                receipts: [
                    Sample.receipt("stays"), Sample.receipt("goes"), Sample.receipt(sequence: 4, epoch: "old"),
                ], reminders: [.set(log.reminder("stays")), .set(log.reminder("goes"))]), to: &log)
        return log
    }

    /// Changes everything that a batch can change.
    private static func everything(_ log: Log) -> JournalBatch {
        var batch = log.batch(
            .changed(Sample.counter, "new"), .sample(.made, Sample.feature(1), state: "over", setsAside: "unreadable"),
            .made(Sample.feature(2), "made"), .disposed(Sample.feature(3)), turns: 3,
            labels: log.labels("third") + log.labels("fourth", "fifth", turn: 2),
            receipts: [Sample.receipt("new"), Sample.receipt(sequence: 5, epoch: "new")], time: Sample.later)
        batch.forgottenReceipts = [.key("goes", feature: Sample.counter), .sequence(4, epoch: "old")]
        batch.firstLabel = LabelID(number: 2, index: 0)
        batch.forgottenLabels = [LabelID(number: log.head.number + 2, index: 0)]
        var lost = LostLabels()
        lost.hasAny = true
        lost.dropped[Sample.counter] = .init(number: 1, isUnheard: true)
        batch.lostLabels = lost
        batch.epoch = "new"
        batch.reminders = [
            .set(log.reminder("new")), .forgotten(Sample.counter, id: "goes"), .set(log.reminder("stays", action: "1")),
        ]
        return batch
    }

    /// Appends everything with a fault in it, and compares the stored data before and after.
    private static func expectNothingKept(
        _ journal: TestedJournal, fault: (inout JournalBatch) -> Void, ending: (AppendResult) -> Bool
    ) async throws {
        var log = try await prepared(journal)
        let before = try await journal.picture(log)
        var batch = everything(log)
        fault(&batch)
        let result = try await journal.append(batch)
        #expect(ending(result), "the append ended as \(result)")
        #expect(try await journal.picture(log) == before)
        try await journal.reload()
        #expect(try await journal.picture(log) == before)
        // It does not block the next batch either.
        try await journal.commit(everything(log), to: &log)
    }
}
