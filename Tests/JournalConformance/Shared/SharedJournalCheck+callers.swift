import MVI
import SessionJournal
import Testing

/// Appends to spaces, which expect the access of their callers' sessions.
extension SharedJournalCheck {
    static let callers: [SharedJournalCheck] = [
        SharedJournalCheck("an append whose callers' access is as expected is kept") { one, other in
            var space = try await one.journal.newLog(Sample.space("board:42"))
            var (first, second) = (ExpectedCaller.unknown(), ExpectedCaller.unknown())
            try await one.journal.commit(space.batch(callers: [first, second]), to: &space)
            let log = try await one.journal.newLogWithStore()
            (first.token, second) = (log.record.tokenHash, ExpectedCaller(log, access: 0))
            try await other.journal.commit(space.batch(callers: [first, .unknown(), second]), to: &space)
            // Turns of a caller's own session do not count.
            var moved = log
            try await other.journal.commit(log.batch(.changed(Sample.counter, "1")), to: &moved)
            try await one.journal.commit(space.batch(callers: [second]), to: &space)
        },
        SharedJournalCheck("an append with a caller whose access has changed names it and keeps nothing") {
            one, other in
            let space = try await one.journal.newLog(Sample.space("board:42"))
            let (still, signedIn, ended) = (
                try await one.journal.newLog(), try await one.journal.newLog(), try await one.journal.newLog()
            )
            let change = CredentialChange(
                session: signedIn.key, expecting: nil, subject: Sample.subject("a"), kept: [.sample(1)])
            _ = try await one.journal.change(change).get()
            _ = try await one.journal.remove(ended.key, tombstoneUntil: Sample.muchLater).get()
            let callers = [still, signedIn, ended].map { ExpectedCaller($0, access: 0) }
            let receipt = Sample.receipt("key")
            let refused = space.batch(callers: callers, receipts: [receipt])
            #expect(try await other.journal.append(refused).changedCallers == [1, 2])
            #expect(try await other.journal.append(space.batch(callers: [callers[2]])).changedCallers == [0])
            #expect(try await one.journal.stored(space).head == space.head)
            // The writer may not know that they are stored.
            let unstored = callers.map { ExpectedCaller(token: $0.token, session: nil, access: 0) }
            #expect(try await other.journal.append(space.batch(callers: unstored)).changedCallers == [1, 2])
            var (log, current) = (space, callers[1])
            current.access = try await one.journal.stored(signedIn).accessChanges
            try await other.journal.commit(log.batch(callers: [callers[0], current], receipts: [receipt]), to: &log)
        },
        SharedJournalCheck("another's append to the space comes before a change of its callers") { one, other in
            let space = try await one.journal.newLog(Sample.space("board:42"))
            let ended = try await one.journal.newLog()
            _ = try await one.journal.remove(ended.key, tombstoneUntil: Sample.muchLater).get()
            var moved = space
            try await one.journal.commit(space.batch(), to: &moved)
            #expect(try await other.journal.append(space.batch(callers: [.init(ended, access: 0)])).isConflict)
        },
        SharedJournalCheck("a change of callers comes before messages that another node's append received") {
            one, other in
            var space = try await one.journal.newLog(Sample.space("board:42"))
            let ended = try await one.journal.newLog()
            _ = try await one.journal.remove(ended.key, tombstoneUntil: Sample.muchLater).get()
            let heard = [HeardMessage(sender: Sample.bytes("0123456789abcdef"), number: 1)]
            var batch = space.batch()
            batch.rare = RareBatch(expectedCallers: [.unknown()], heard: heard)
            try await one.journal.commit(batch, to: &space)
            batch = space.batch()
            batch.rare = RareBatch(expectedCallers: [ExpectedCaller(ended, access: 0)], heard: heard)
            #expect(try await other.journal.append(batch).changedCallers == [0])
            batch.rare = RareBatch(expectedCallers: [.unknown()], heard: heard)
            #expect(try await other.journal.append(batch).heardBefore == [0])
        },
        SharedJournalCheck("of appends at the same time only those of changed callers are refused") { one, other in
            let ended = try await one.journal.newLog()
            _ = try await one.journal.remove(ended.key, tombstoneUntil: Sample.muchLater).get()
            var spaces: [Log] = []
            for number in 0..<20 { spaces.append(try await one.journal.newLog(Sample.space("board:\(number)"))) }
            let answers = spaces.enumerated().map { index, space in
                let callers = index % 4 == 0 ? [.unknown(), ExpectedCaller(ended, access: 0)] : [.unknown()]
                return other.journal.startAppend(space.batch(callers: index % 4 == 3 ? [] : callers))
            }
            for (index, answer) in answers.enumerated() {
                let result = try await answer.value
                #expect(index % 4 == 0 ? result.changedCallers == [1] : result.isCommitted, "\(index): \(result)")
            }
        },
    ]
}

extension ExpectedCaller {
    fileprivate init(_ log: Log, access: UInt64) {
        self.init(token: log.record.tokenHash, session: log.key, access: access)
    }

    /// One that no journal knows.
    fileprivate static func unknown() -> ExpectedCaller {
        ExpectedCaller(token: Sample.tokenHash(), session: nil, access: 0)
    }
}

extension Log {
    fileprivate func batch(callers: [ExpectedCaller], receipts: [StoredReceipt] = []) -> JournalBatch {
        var batch = batch(receipts: receipts)
        batch.rare = RareBatch(expectedCallers: callers)
        return batch
    }
}

extension AppendResult {
    fileprivate var changedCallers: [Int]? { if case .callersChanged(let places) = self { places } else { nil } }
}
