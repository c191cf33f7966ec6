import MVI
import SessionJournal
import Testing

/// Ownership of sessions.
extension SharedJournalCheck {
    static let owners: [SharedJournalCheck] = [
        SharedJournalCheck("an append makes a node the owner, and every look at the session shows it") { one, other in
            var log = try await one.journal.newLogWithStore()
            #expect(try await other.journal.stored(log).owner == nil)
            let owner = try await one.claim(&log)
            #expect(try await other.journal.stored(log).owner == owner)
            #expect(try await other.journal.load(log.key, since: .empty).get()?.owner == owner)
            #expect(try await other.journal.exported(log).session.owner == owner)
            #expect(owner.fence == log.head)
        },
        SharedJournalCheck("only appends with the owner's fence are kept while a session has an owner") { one, other in
            var log = try await one.journal.newLogWithStore()
            let owner = try await one.claim(&log)
            let before = try await other.journal.picture(log)
            var wrong: [SessionOwner?] = [nil, SessionOwner(node: other.id, fence: owner.fence)]
            wrong.append(SessionOwner(node: owner.node, fence: .random(owner.fence.number)))
            wrong.append(
                SessionOwner(
                    node: owner.node,
                    fence: SessionHead(number: owner.fence.number + 1, nonce: owner.fence.nonce)))
            for expected in wrong {
                let batch = log.batch(.changed(Sample.counter, "1"))
                #expect(try await other.append(batch, by: expected).isConflict, "\(String(describing: expected))")
                let change = OwnerChange.owned(other.owner(from: batch), working: [])
                #expect(try await other.append(batch, by: expected, change: change).isConflict)
                #expect(try await other.append(batch, by: expected, change: .released).isConflict)
            }
            #expect(try await other.journal.picture(log) == before)
            #expect(try await other.journal.stored(log).owner == owner)
            for count in 1...20 {
                let batch = log.batch(.changed(Sample.counter, "\(count)"))
                #expect(try await one.append(batch, by: owner).isCommitted)
                log.head = batch.head
            }
            #expect(try await other.journal.stored(log).owner == owner)
        },
        SharedJournalCheck("an append that expects an owner is a conflict where there is none") { one, _ in
            var log = try await one.journal.newLogWithStore()
            let batch = log.batch(.changed(Sample.counter, "1"))
            #expect(try await one.append(batch, by: one.owner(from: batch)).isConflict)
            #expect(try await one.append(batch, by: SessionOwner(node: one.id, fence: .empty)).isConflict)
            try await one.journal.commit(batch, to: &log)
        },
        SharedJournalCheck("a session that is released is any node's again") { one, other in
            var log = try await one.journal.newLogWithStore()
            let owner = try await one.claim(&log)
            let release = log.batch(.changed(Sample.counter, "1"))
            #expect(try await one.append(release, by: owner, change: .released).isCommitted)
            log.head = release.head
            #expect(try await other.journal.stored(log).owner == nil)
            try await other.journal.commit(log.batch(.changed(Sample.counter, "2")), to: &log)
            _ = try await other.claim(&log)
        },
        SharedJournalCheck("a takeover ends the owner before for ever, also when the session has no owner again") {
            one, other in
            var log = try await one.journal.newLogWithStore()
            let old = try await one.claim(&log)
            let new = try await other.claim(&log, after: old)
            #expect(try await one.journal.stored(log).owner == new)
            // It knows the newest head, which alone is not enough for an append.
            func tryAsOld() async throws {
                let batch = log.batch(.changed(Sample.counter, "zombie"))
                #expect(try await one.append(batch, by: old).isConflict)
                #expect(try await one.append(batch, by: old, change: .released).isConflict)
                let again = OwnerChange.owned(one.owner(from: batch), working: [])
                #expect(try await one.append(batch, by: old, change: again).isConflict)
            }
            try await tryAsOld()
            let release = log.batch()
            #expect(try await other.append(release, by: new, change: .released).isCommitted)
            log.head = release.head
            try await tryAsOld()
            // Nor when the same node becomes the owner again.
            let newest = try await one.claim(&log)
            try await tryAsOld()
            #expect(try await one.append(log.batch(.changed(Sample.counter, "1")), by: newest).isCommitted)
        },
        SharedJournalCheck("of two nodes that claim a session at the same time one becomes the owner") { one, other in
            for _ in 0..<10 {
                let log = try await one.journal.newLogWithStore()
                let answers = [one, other].map { node in
                    var batch = log.batch()
                    batch.ownerChange = .owned(node.owner(from: batch), working: [Sample.counter])
                    return (node, node.journal.startAppend(batch))
                }
                var winners: [NodeID] = []
                for (node, answer) in answers {
                    let result = try await answer.value
                    if result.isCommitted { winners.append(node.id) } else { #expect(result.isConflict) }
                }
                #expect(winners.count == 1)
                #expect(try await one.journal.stored(log).owner?.node == winners.first)
            }
        },
        SharedJournalCheck("appends with and without owners at the same time are checked separately") {
            one, other in
            var logs: [(log: Log, owner: SessionOwner?)] = []
            for index in 0..<30 {
                var log = try await one.journal.newLogWithStore()
                logs.append((log, index % 3 == 0 ? try await one.claim(&log) : nil))
                logs[index].log = log
            }
            // Of each three, one by its owner, one without an owner, and one by another node.
            let answers = logs.enumerated().map { index, entry in
                var batch = entry.log.batch(.changed(Sample.counter, "\(index)"))
                batch.expectedOwner =
                    index % 3 == 2 ? SessionOwner(node: other.id, fence: entry.log.head) : entry.owner
                return one.journal.startAppend(batch)
            }
            for (index, answer) in answers.enumerated() {
                let result = try await answer.value
                #expect(index % 3 == 2 ? result.isConflict : result.isCommitted, "\(index): \(result)")
                #expect(try await other.journal.stored(logs[index].log).owner == logs[index].owner)
            }
        },
        SharedJournalCheck("a stored receipt is returned, whichever node owns the session") { one, other in
            var log = try await one.journal.newLogWithStore()
            let receipt = Sample.receipt("key")
            try await one.journal.commit(log.batch(receipts: [receipt]), to: &log)
            _ = try await one.claim(&log)
            let result = try await other.append(log.batch(receipts: [receipt]), by: nil)
            #expect(result.duplicate?.key == receipt.key)
        },
    ]
}
