import Locking
import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let order: [JournalCheck] = [
        JournalCheck("of many appends at once the bad ones are refused and all others are kept") { journal in
            var logs: [Log] = []
            for _ in 0..<40 { logs.append(try await journal.newLog()) }
            var known = Sample.receipt("known", version: 9)
            known.number = 1
            for index in logs.indices {
                try await journal.commit(
                    logs[index].batch(.made(Sample.counter, "1"), receipts: [known]), to: &logs[index])
            }
            _ = try await journal.remove(logs[7].key, tombstoneUntil: Sample.muchLater).get()
            let answers = logs.enumerated().map { index, log in
                var batch = log.batch(
                    .changed(Sample.counter, "2"), labels: log.labels("a"), receipts: [Sample.receipt("new")])
                switch index {
                case 3, 21: batch.expecting.nonce ^= 1
                case 11, 39: batch.receipts.append(known)
                case 30: batch.stores[0].feature = Sample.feature(1)
                default: break
                }
                return journal.startAppend(batch)
            }
            var results: [AppendResult] = []
            for answer in answers { results.append(try await answer.value) }
            try await journal.reload()
            for (index, log) in logs.enumerated() {
                switch index {
                case 7: #expect(results[index].failure == .gone)
                case 3, 21: #expect(results[index].isConflict)
                case 30: #expect(results[index].failure == .invalid)
                case 11, 39: #expect(results[index].duplicate == known)
                default: #expect(results[index].isCommitted)
                }
                guard index != 7 else { continue }
                let isKept = results[index].isCommitted
                let stored = try await journal.stored(log)
                #expect(stored.head.number == (isKept ? 2 : 1))
                #expect(stored.labels.count == (isKept ? 1 : 0))
                #expect(stored.receipts.count == (isKept ? 2 : 1))
                #expect(try await journal.store(of: log).state == Sample.bytes(isKept ? "2" : "1"))
            }
        },
        JournalCheck("in a series of batches, those after a conflict continue from the log's head") { journal in
            var log = try await journal.newLog()
            var rows = [log.batch(.made(Sample.counter, "0"))]
            log.head = rows[0].head
            rows.append(log.batch(.changed(Sample.counter, "1"), labels: log.labels("1")))
            var lost = log
            rows.append(lost.batch(.changed(Sample.counter, "conflict"), labels: lost.labels("conflict")))
            lost.head = rows[2].head
            rows.append(lost.batch(.changed(Sample.counter, "after a conflict")))
            log.head = rows[1].head
            rows.append(log.batch(.changed(Sample.counter, "2"), labels: log.labels("2")))
            let answers = rows.map { journal.startAppend($0) }
            var isCommitted: [Bool] = []
            for answer in answers { isCommitted.append(try await answer.value.isCommitted) }
            #expect(isCommitted == [true, true, false, false, true])
            try await journal.reload()
            #expect(try await journal.store(of: log).state == Sample.bytes("2"))
            #expect(try await journal.stored(log).labels.map(\.id.number) == [2, 3])
            #expect(try await journal.stored(log).head == rows[4].head)
        },
        JournalCheck("calls are done in order, and answered in order within a session") { journal in
            var log = try await journal.newLog()
            let answered = Lock<[Int]>([])
            var answers: [Answer<AppendResult>] = []
            for number in 0..<1_000 {
                let answer = Answer<AppendResult> {}
                let done = { @Sendable (result: AppendResult) in
                    answered.withLock { $0.append(result.isCommitted ? number : -1) }
                    answer.give(result)
                }
                let feature = Sample.feature(number % 3)
                let batch = log.batch(.sample(number < 3 ? .made : .changed, feature, state: "\(number)"))
                if let result = journal.journal.append(batch, done: done) { done(result) }
                log.head = batch.head
                answers.append(answer)
            }
            for answer in answers { _ = try await answer.value }
            #expect(answered.withLock { $0 } == Array(0..<1_000))
            try await journal.reload()
            #expect(try await journal.stored(log).head == log.head)
            #expect(try await journal.store(Sample.feature(2), of: log).state == Sample.bytes("998"))
        },
        JournalCheck("every call sees the effects of earlier calls, whatever they are") { journal in
            var log = try await journal.newLog()
            let other = try await journal.newLog()
            let (key, record, otherKey, otherToken) = (log.key, log.record, other.key, other.record.tokenHash)
            // The calls follow each other without waiting.
            let batch = log.batch(.made(Sample.counter, "1"), labels: log.labels("a"))
            let first = journal.startAppend(batch)
            log.head = batch.head
            let touch: Answer<Result<Void, StoreError>> = journal.start("touch") {
                let written = [LabelID(number: 1, index: 0)]
                $0.touch([SessionTouch(session: key, lastSeen: Sample.later, written: written)], done: $1)
            }
            let load: Answer<Result<SessionLoad, StoreError>> = journal.start("load") {
                $0.load(record.tokenHash, now: Sample.later, done: $1)
            }
            let stores: Answer<Result<LoadedStores, StoreError>> = journal.start("loadStores") {
                $0.loadStores([Sample.counter], of: key, named: record.tokenHash, done: $1)
            }
            let news: Answer<Result<StoredSession?, StoreError>> = journal.start("load since") {
                $0.load(key, since: .empty, done: $1)
            }
            // A read may see changes made before its result, so removals come after it.
            guard case .found(let found) = try await load.value.get() else { throw CheckCannotGoOn() }
            #expect(found.head == batch.head && found.stores.map(\.number) == [1])
            #expect(found.record.lastSeen == Sample.later && found.labels.map(\.isWritten) == [true])
            #expect(try await stores.value.get().stores.map(\.state) == [Sample.bytes("1")])
            #expect(try await news.value.get()?.head == batch.head)
            let disposal = log.batch(.disposed())
            let second = journal.startAppend(disposal)
            let late = journal.startAppend(log.batch(.changed()))
            let export: Answer<Result<SessionExport?, StoreError>> = journal.start("export") {
                $0.export(record.id, done: $1)
            }
            let end: Answer<Result<Void, StoreError>> = journal.start("remove") {
                $0.remove(otherKey, tombstoneUntil: Sample.muchLater, done: $1)
            }
            let gone = journal.startAppend(other.batch(.made()))
            let noNews: Answer<Result<StoredSession?, StoreError>> = journal.start("load since") {
                $0.load(otherKey, since: .empty, done: $1)
            }
            let ended: Answer<Result<SessionLoad, StoreError>> = journal.start("load") {
                $0.load(otherToken, now: Sample.later, done: $1)
            }

            #expect(try await first.value.isCommitted)
            _ = try await touch.value.get()
            #expect(try await second.value.isCommitted)
            #expect(try await late.value.isConflict)
            let exported = try #require(try await export.value.get())
            #expect(exported.stores.isEmpty && exported.session.head == disposal.head)
            _ = try await end.value.get()
            #expect(try await gone.value.failure == .gone)
            #expect(try await noNews.value.get() == nil)
            #expect(try await ended.value.get().isEnded)
        },
        JournalCheck("the handler of an answer may append at once") { journal in
            let log = try await journal.newLogWithStore()
            let end = Answer<AppendResult> {}
            appendRow(to: journal.journal, log, left: 100, end: end)
            #expect(try await end.value.isCommitted)
            try await journal.reload()
            #expect(try await journal.stored(log).head.number == 101)
        },
        JournalCheck("the handler of any answer may make any call at once") { journal in
            let log = try await journal.newLog()
            let (key, record, feature) = (log.key, log.record, Sample.counter)
            let calls: [@Sendable (any Journal, @escaping @Sendable () -> Void) -> Void] = [
                { $0.create(Sample.session()) { [done = $1] _ in done() } },
                { $0.load(record.tokenHash, now: Sample.later) { [done = $1] _ in done() } },
                { $0.load(key, since: .empty) { [done = $1] _ in done() } },
                { $0.loadStores([feature], of: key, named: record.tokenHash) { [done = $1] _ in done() } },
                { $0.find(.id(record.id), limit: 1) { [done = $1] _ in done() } },
                { $0.alarms(after: nil, limit: 1) { [done = $1] _ in done() } },
                {
                    $0.change(CredentialChange(session: key, expecting: nil, subject: nil)) { [done = $1] _ in done() }
                },
                { $0.export(record.id) { [done = $1] _ in done() } },
                {
                    $0.touch([SessionTouch(session: key, lastSeen: Sample.later, written: [])]) {
                        [done = $1] _ in done()
                    }
                },
                {
                    $0.expire(
                        lastSeenBefore: PerLifeClass(.zero), now: Sample.later, tombstoneUntil: Sample.later, limit: 10
                    ) { [done = $1] _ in done() }
                },
                { journal, done in
                    if journal.append(log.batch(.made()), done: { _ in done() }) != nil { done() }
                },
                { $0.remove(SessionKey(987_654_321), tombstoneUntil: .zero) { [done = $1] _ in done() } },
            ]
            for outer in calls {
                for inner in calls {
                    let end = Answer<Bool> {}
                    outer(journal.journal) { [journal = journal.journal] in inner(journal) { end.give(true) } }
                    #expect(try await end.value)
                }
            }
        },
    ]

    /// Appends, and again from the result's handler, until none is left.
    private static func appendRow(to journal: any Journal, _ log: Log, left: Int, end: Answer<AppendResult>) {
        let batch = log.batch(.changed())
        let goOn = { @Sendable (result: AppendResult) in
            guard left > 1, result.isCommitted else { return end.give(result) }
            var log = log
            log.head = batch.head
            appendRow(to: journal, log, left: left - 1, end: end)
        }
        if let result = journal.append(batch, done: goOn) { goOn(result) }
    }
}
