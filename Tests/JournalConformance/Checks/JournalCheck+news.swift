import Locking
import SessionJournal
import Testing

extension JournalCheck {
    static let news: [JournalCheck] = [
        JournalCheck("a log without turns has the empty head and no news") { journal in
            let log = try await journal.newLog()
            try await journal.reload()
            let news = try await journal.news(log, since: .empty)
            #expect(news.recentHeads == [.empty])
            #expect(news.record.epoch == log.record.epoch)
            #expect(news.stores.isEmpty && news.changed.isEmpty && news.labels.isEmpty && news.receipts.isEmpty)
            #expect(news.lostLabels == LostLabels())
        },
        JournalCheck("the news since a head are exactly the rows that are newer, and all stores by their numbers") {
            journal in
            var log = try await journal.newLog()
            let (one, two, three) = (Sample.feature(1), Sample.feature(2), Sample.feature(3))
            var batches: [JournalBatch] = []
            func commit(_ batch: JournalBatch) async throws {
                batches.append(batch)
                try await journal.commit(batch, to: &log)
            }
            try await commit(
                log.batch(
                    .made(one), .made(two), .made(three), labels: log.labels("a", "b"),
                    receipts: [Sample.receipt("a"), Sample.receipt(sequence: 1, epoch: "e")]))
            try await commit(log.batch(.changed(two, "2"), labels: log.labels("c")))
            try await commit(log.batch(.disposed(three), receipts: [Sample.receipt("d")]))
            try await commit(log.batch(.changed(one, "1"), labels: log.labels("e")))
            try await commit(log.batch(receipts: [Sample.receipt("f")]))
            try await journal.reload()
            let stored = try await journal.stored(log)
            for index in 0...batches.count {
                let head = index == 0 ? .empty : batches[index - 1].head
                let news = try await journal.news(log, since: head)
                #expect(news.recentHeads == [.empty] + batches.map(\.head))
                #expect(Set(news.stores) == Set(stored.stores))
                var changed = Set([one, two])
                if index > 1 { changed.remove(two) }
                if index > 3 { changed.remove(one) }
                #expect(Set(news.changed.map(\.summary.feature)) == changed)
                #expect(Set(news.changed.map(\.summary)).isSubset(of: news.stores))
                for store in news.changed {
                    #expect(store.state == Sample.bytes(store.summary.feature == one ? "1" : "2"))
                }
                #expect(news.labels == batches[index...].flatMap(\.labels))
                #expect(news.receipts == batches[index...].flatMap(\.receipts))
            }
        },
        JournalCheck("data that is no longer kept is no news") { journal in
            var log = try await journal.newLog()
            let labels = log.labels("a") + log.labels("b", turn: 2)
            try await journal.commit(
                log.batch(.made(), turns: 2, labels: labels, receipts: [Sample.receipt("a"), Sample.receipt("b")]),
                to: &log)
            var batch = log.batch(turns: 0)
            batch.forgottenReceipts = [Sample.receipt("a").key]
            batch.firstLabel = LabelID(number: 2, index: 0)
            batch.lostLabels = LostLabels()
            batch.lostLabels?.hasAny = true
            try await journal.commit(batch, to: &log)
            try await journal.reload()
            let news = try await journal.news(log, since: .empty)
            #expect(news.labels == [labels[1]])
            #expect(news.receipts.map(\.key) == [Sample.receipt("b").key])
            #expect(news.lostLabels.hasAny)
        },
        JournalCheck("a journal remembers the last 16 heads, the newest last") { journal in
            var log = try await journal.newLogWithStore()
            var heads = [SessionHead.empty, log.head]
            for step in 1...40 {
                // Small steps and large ones, with the one store or without.
                let turns: UInt64 = step % 7 == 0 ? 1 << UInt64(step) : UInt64(step % 3)
                let batch = step % 5 == 0 ? log.batch(turns: turns) : log.batch(.changed(), turns: turns)
                try await journal.commit(batch, to: &log)
                heads.append(log.head)
                if step % 8 == 0 { try await journal.reload() }
                #expect(try await journal.news(log, since: log.head).recentHeads == heads.suffix(16))
            }
            try await journal.reload()
            #expect(try await journal.news(log, since: .empty).recentHeads == heads.suffix(16))
        },
        JournalCheck("news since an unknown head depend on its number; above the log's there are none") { journal in
            var log = try await journal.newLogWithStore()
            try await journal.commit(log.batch(.changed(), turns: 4, labels: log.labels("a")), to: &log)
            let heads = [SessionHead.empty, SessionHead(number: 1, nonce: 0), log.head]
            for (number, count) in [(0, 1), (1, 1), (4, 1), (5, 0), (6, 0), (1 << 40, 0)] {
                let news = try await journal.news(log, since: .random(UInt64(number)))
                #expect(news.changed.count == count)
                #expect(news.labels.count == (number < 2 ? 1 : 0))
                #expect(news.recentHeads.count == 3 && news.recentHeads.first == .empty)
                #expect(news.recentHeads.last == heads.last && news.stores.count == 1)
            }
        },
        JournalCheck("a load that comes while others write sees whole appends") { journal in
            let log = try await journal.newLog()
            try await withThrowingTaskGroup(of: Void.self) { group in
                let isWriting = Lock(true)
                group.addTask {
                    defer { isWriting.withLock { $0 = false } }
                    try await write(200, to: log, of: journal)
                }
                var seen = SessionHead.empty
                while isWriting.withLock({ $0 }) {
                    seen = try await readWhole(log, since: seen, of: journal)
                }
                try await group.waitForAll()
                #expect(try await readWhole(log, since: seen, of: journal).number == 400)
            }
        },
    ]

    /// Appends batches of two turns, each with two stores, two labels, a receipt and a time.
    private static func write(_ count: UInt64, to log: Log, of journal: TestedJournal) async throws {
        var log = log
        for round in 1...count {
            let kind: StoreChange.Kind = round == 1 ? .made : .changed
            let batch = log.batch(
                .sample(kind, Sample.feature(1), state: "\(round)"),
                .sample(kind, Sample.feature(2), state: "\(round)"), turns: 2,
                labels: log.labels("a") + log.labels("b", turn: 2),
                receipts: [Sample.receipt(sequence: round, epoch: "e", version: round)],
                time: Sample.start + .milliseconds(Int64(round)))
            try await journal.commit(batch, to: &log)
        }
    }

    /// Loads in each way, checks that everything comes from one append, and returns its number.
    private static func readWhole(
        _ log: Log, since seen: SessionHead, of journal: TestedJournal
    ) async throws -> SessionHead {
        let news = try await journal.news(log, since: seen)
        let head = news.head
        let state = Sample.bytes("\(head.number / 2)")
        #expect(head.number >= seen.number && news.recentHeads.map(\.number) == news.recentHeads.map(\.number).sorted())
        #expect(news.stores.count == (head.number == 0 ? 0 : 2))
        #expect(news.stores.allSatisfy { $0.number == head.number })
        #expect(news.changed.map(\.state) == (head == seen ? [] : [state, state]))
        #expect(news.labels.map(\.id.number) == Array((seen.number + 1)..<(head.number + 1)))
        #expect(news.receipts.map(\.number) == stride(from: seen.number + 1, to: head.number + 1, by: 2).map { $0 })

        let export = try await journal.exported(log)
        #expect(export.stores.count == (export.session.head.number == 0 ? 0 : 2))
        #expect(export.stores.allSatisfy { $0.state == Sample.bytes("\(export.session.head.number / 2)") })
        let loaded = try await journal.stored(log)
        #expect(export.session.head.number >= head.number && loaded.head.number >= export.session.head.number)
        for session in [export.session, loaded] {
            #expect(session.labels.count == Int(session.head.number))
            #expect(session.receipts.count == Int(session.head.number / 2))
            #expect(session.record.lastSeen == Sample.start + .milliseconds(Int64(session.head.number / 2)))
            #expect(session.stores.allSatisfy { $0.number == session.head.number })
        }
        return head
    }
}
