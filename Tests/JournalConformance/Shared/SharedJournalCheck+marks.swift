import MVI
import SessionJournal
import Testing

/// Marks of many sessions in one call.
extension SharedJournalCheck {
    static let marks: [SharedJournalCheck] = [
        SharedJournalCheck("marks show what other nodes appended and changed, and leave out what is gone") {
            one, other in
            var logs: [Log] = []
            for _ in 0..<5 { logs.append(try await one.journal.newLogWithStore()) }
            let keys = logs.map(\.key)
            let first = try await other.marks(of: keys + [SessionKey(.max)])
            #expect(first.count == 5)
            for log in logs {
                #expect(
                    first[log.key]
                        == SessionMark(
                            token: log.record.tokenHash, head: log.head, accessChanges: 0, epoch: log.record.epoch))
                #expect(try await other.journal.stored(log).mark == first[log.key])
            }
            try await one.journal.commit(logs[1].batch(.changed(Sample.counter, "1")), to: &logs[1])
            _ = try await one.journal.remove(logs[2].key, tombstoneUntil: Sample.later).get()
            let second = try await other.marks(of: keys)
            #expect(Set(second.keys) == Set(keys).subtracting([logs[2].key]))
            #expect(second[keys[0]] == first[keys[0]])
            #expect(
                second[keys[1]]
                    == SessionMark(
                        token: logs[1].record.tokenHash, head: logs[1].head, accessChanges: 0,
                        epoch: logs[1].record.epoch))
            #expect(try await other.marks(of: []).isEmpty)
        },
        SharedJournalCheck("each change of access gives a new mark, and a failed one does not") {
            one, other in
            let log = try await one.journal.newSignedIn([.sample(0)])
            let before = try #require(try await other.marks(of: [log.key])[log.key])
            #expect(try await other.journal.stored(log).accessChanges == before.accessChanges)
            let subject = Sample.subject("a")
            let change = CredentialChange(session: log.key, expecting: subject, subject: subject, kept: [.sample(1)])
            _ = try await one.journal.change(change).get()
            let after = try #require(try await other.marks(of: [log.key])[log.key])
            #expect(after.accessChanges > before.accessChanges && after.head == before.head)
            #expect(try await other.journal.stored(log).accessChanges == after.accessChanges)
            let stale = CredentialChange(session: log.key, expecting: nil, subject: nil)
            #expect(try await one.journal.change(stale).failure == .contended)
            #expect(try await other.marks(of: [log.key])[log.key] == after)
        },
        SharedJournalCheck("an append that expects another count of changes of access is a conflict") { one, other in
            var log = try await one.journal.newLogWithStore()
            let subject = Sample.subject("a")
            let change = CredentialChange(session: log.key, expecting: nil, subject: subject, kept: [.sample(1)])
            _ = try await one.journal.change(change).get()
            let mark = try #require(try await other.marks(of: [log.key])[log.key])
            var batch = log.batch(.changed(Sample.counter, "1"))
            batch.expectedAccess = mark.accessChanges - 1
            guard case .conflict = try await other.journal.append(batch) else {
                Issue.record("the append was no conflict")
                return
            }
            #expect(try await one.journal.stored(log).head == log.head)
            batch.expectedAccess = mark.accessChanges
            try await other.journal.commit(batch, to: &log)
        },
        SharedJournalCheck("tokens of sessions that are kept, or were ended, are known") { one, other in
            let log = try await one.journal.newLog()
            let removed = try await one.journal.newLog()
            _ = try await one.journal.remove(removed.key, tombstoneUntil: Sample.muchLater).get()
            let (buried, unknown) = (Sample.tokenHash(), Sample.tokenHash())
            _ = try await one.journal.bury(buried, until: Sample.muchLater).get()
            let known = try await other.areKnown([log.record.tokenHash, removed.record.tokenHash, buried, unknown])
            #expect(known == [log.record.tokenHash, removed.record.tokenHash, buried])
            #expect(try await other.areKnown([]).isEmpty)
        },
    ]
}
