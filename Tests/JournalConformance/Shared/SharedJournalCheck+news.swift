import MVI
import SessionJournal
import Testing

/// News between nodes.
extension SharedJournalCheck {
    static let news: [SharedJournalCheck] = [
        SharedJournalCheck("appends are heard by the other node with their heads, and not by the one that appended") {
            one, other in
            try await one.listen(to: other)
            try await other.listen(to: one)
            var log = try await one.journal.newLogWithStore()
            let (key, first) = (log.key, log.head)
            try await other.hear { $0.names(key, at: first) }
            try await one.journal.commit(log.batch(.changed(Sample.counter, "1")), to: &log)
            let second = log.head
            try await other.hear { $0.names(key, at: second) }
            let owner = try await one.claim(&log)
            let third = log.head
            try await other.hear { $0.names(key, at: third) }
            let release = log.batch()
            #expect(try await one.append(release, by: owner, change: .released).isCommitted)
            log.head = release.head
            try await other.hear { $0.names(key, at: release.head) }
            // News of another node after its own append.
            try await other.journal.commit(log.batch(.changed(Sample.counter, "2")), to: &log)
            let last = log.head
            try await one.hear { $0.names(key, at: last) }
            for head in [first, second, third, release.head] {
                #expect(!one.heard.contains { $0.names(key, at: head) })
            }
        },
        SharedJournalCheck("many appends at once are all heard") { one, other in
            try await other.listen(to: one)
            var logs: [Log] = []
            for _ in 0..<300 { logs.append(try await one.journal.newLog()) }
            let batches = logs.map { $0.batch(.made()) }
            for answer in batches.map({ one.journal.startAppend($0) }) {
                #expect(try await answer.value.isCommitted)
            }
            for batch in batches { try await other.hear { $0.names(batch.session, at: batch.head) } }
        },
        SharedJournalCheck("sessions that are made or ended without being made are heard by their tokens") {
            one, other in
            try await other.listen(to: one)
            let token = try await one.journal.newLog().record.tokenHash
            try await other.hear { $0.names(anyOf: [token]) }
            let buried = Sample.tokenHash()
            _ = try await one.journal.bury(buried, until: Sample.later).get()
            try await other.hear { $0.names(anyOf: [buried]) }
        },
        SharedJournalCheck("changes of access and removals are heard") { one, other in
            let log = try await one.journal.newLog()
            let removed = try await one.journal.newLog()
            try await other.listen(to: one)
            let change = CredentialChange(
                session: log.key, expecting: nil, subject: Sample.subject("a"), kept: [.sample(1)])
            _ = try await one.journal.change(change).get()
            try await other.hear { $0.names(log.key) }
            _ = try await one.journal.remove(removed.key, tombstoneUntil: Sample.later).get()
            try await other.hear { $0.names(removed.key) }
        },
        SharedJournalCheck("repeated conflicts of another process are heard") { one, other in
            let log = try await one.journal.newLog()
            try await other.listen(to: one)
            one.tellContention(of: log.key)
            try await other.hear { $0.isContention(of: log.key) }
        },
        SharedJournalCheck("nodes that come, drain and go are heard, and plain renewals are not") { one, other in
            try await other.listen(to: one)
            func count() -> Int { other.heard.count(where: \.isOfNodes) }
            /// Waits for news of a change made after the call, so that all earlier news have arrived.
            func settle() async throws {
                let token = Sample.tokenHash()
                _ = try await one.journal.bury(token, until: Sample.later).get()
                try await other.hear { $0.names(anyOf: [token]) }
            }
            try await one.join()
            try await other.hear(\.isOfNodes)
            let joined = count()
            _ = try await one.renew()
            _ = try await one.renew()
            try await settle()
            #expect(count() == joined)
            _ = try await one.renew(isDraining: true)
            while count() == joined { try await settle() }
            let drained = count()
            _ = try await one.renew(isDraining: true)
            try await settle()
            #expect(count() == drained)
            _ = try await one.forget(one.id)
            while count() == drained { try await settle() }
        },
    ]
}
