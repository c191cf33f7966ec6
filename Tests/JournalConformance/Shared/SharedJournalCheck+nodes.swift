import MVI
import SessionJournal
import Testing

/// Registration of nodes.
extension SharedJournalCheck {
    static let nodes: [SharedJournalCheck] = [
        SharedJournalCheck("nodes that joined see each other, and count each other's renewals") { one, other in
            #expect(try await one.renew() == nil)
            try await one.join()
            try await other.join()
            for round in 1...3 {
                let nodes = try #require(try await one.renew())
                #expect(Set(nodes.map(\.id)) == [one.id, other.id])
                #expect(Set(nodes.map(\.address)) == [one.record.address, other.record.address])
                #expect(nodes.first { $0.id == one.id }?.renewals == UInt64(round))
                #expect(nodes.first { $0.id == other.id }?.renewals == 0)
            }
            let nodes = try #require(try await other.renew(isDraining: true))
            #expect(nodes.first { $0.id == one.id }?.renewals == 3)
            #expect(nodes.first { $0.id == other.id }?.isDraining == true)
            #expect(try await one.renew()?.first { $0.id == other.id }?.isDraining == true)
            #expect(try await one.renew()?.first { $0.id == one.id }?.isDraining == false)
        },
        SharedJournalCheck("a node is removed only if it was not renewed since it was read") {
            one, other in
            try await one.join()
            try await other.join()
            _ = try await one.renew()
            #expect(try await other.forget(one.id, renewals: 0) == false)
            #expect(try await one.renew()?.count == 2)
            #expect(try await other.forget(one.id, renewals: 2))
            #expect(try await one.renew() == nil)
            #expect(try await other.renew()?.map(\.id) == [other.id])
            // It is gone already.
            #expect(try await other.forget(one.id, renewals: 2))
            #expect(try await other.forget(one.id))
            // A node that leaves.
            #expect(try await other.forget(other.id))
            #expect(try await other.renew() == nil)
            try await other.join()
            #expect(try await other.renew()?.map(\.id) == [other.id])
        },
        SharedJournalCheck("of two nodes that join under one address exactly the later one finds the other") {
            one, other in
            for _ in 0..<20 {
                async let first = one.join(at: "same:1")
                async let second = other.join(at: "same:1")
                let found = (try await first, try await second)
                #expect((found.0.map(\.id) == [other.id]) != (found.1.map(\.id) == [one.id]))
                #expect(found.0.count + found.1.count == 1)
                _ = try await one.forget(one.id)
                _ = try await one.forget(other.id)
            }
            #expect(try await one.join(at: "a:1").isEmpty)
            #expect(try await other.join(at: "b:1").isEmpty)
        },
        SharedJournalCheck("a renewal and being forgotten at the same time do not both succeed") { one, other in
            try await other.join()
            for _ in 0..<20 {
                try await one.join()
                async let renewed = one.renew()
                async let forgotten = other.forget(one.id, renewals: 0)
                let (nodes, isGone) = (try await renewed, try await forgotten)
                #expect((nodes == nil) == isGone)
                _ = try await other.forget(one.id)
            }
        },
    ]

    static let orphans: [SharedJournalCheck] = [
        SharedJournalCheck("sessions of a node that is gone are orphans until another one takes them") { one, other in
            try await one.join()
            try await other.join()
            let features = [Sample.counter, Sample.feature(1), FeatureID(name: "a", key: "X-1_y.z")]
            var (owned, plain) = (try await one.journal.newLogWithStore(), try await one.journal.newLogWithStore())
            let owner = try await one.claim(&owned, working: [])
            // Further stores begin to work.
            let batch = owned.batch()
            let isWorking = OwnerChange.owned(owner, working: features)
            #expect(try await one.append(batch, by: owner, change: isWorking).isCommitted)
            owned.head = batch.head
            var others = try await other.journal.newLogWithStore()
            _ = try await other.claim(&others)
            #expect(try await other.orphans() == [])
            #expect(try await other.forget(one.id))
            let orphans = try await other.orphans()
            #expect(orphans.count == 1)
            #expect(orphans.first?.session == owned.key && orphans.first?.token == owned.record.tokenHash)
            #expect(orphans.first?.owner == owner && orphans.first?.working == features)
            // The node that was declared dead may still append: its fence is the newest.
            let late = owned.batch(.changed(Sample.counter, "late"))
            #expect(try await one.append(late, by: owner).isCommitted)
            owned.head = late.head
            _ = try await other.claim(&owned, after: owner, working: features)
            #expect(try await other.orphans() == [])
            #expect(try await one.append(owned.batch(), by: owner).isConflict)
            try await one.journal.commit(plain.batch(.changed(Sample.counter, "1")), to: &plain)
        },
        SharedJournalCheck("at most the requested number of orphans is returned, and no removed one") {
            one, other in
            try await one.join()
            try await other.join()
            var keys: Set<SessionKey> = []
            for _ in 0..<7 {
                var log = try await one.journal.newLogWithStore()
                _ = try await one.claim(&log)
                keys.insert(log.key)
            }
            #expect(try await other.forget(one.id))
            for limit in [0, 1, 3] { #expect(try await other.orphans(limit: limit).count == limit) }
            let removed = keys.removeFirst()
            _ = try await other.journal.remove(removed, tombstoneUntil: Sample.later).get()
            #expect(Set(try await other.orphans().map(\.session)) == keys)
        },
        SharedJournalCheck("orphans are seen by the node that forgot their owner, and right after an append") {
            one, other in
            try await other.join()
            var log = try await one.journal.newLogWithStore()
            // A node that never joined does not count.
            _ = try await one.claim(&log)
            #expect(try await one.orphans().map(\.session) == [log.key])
            try await one.join()
            #expect(try await one.orphans() == [])
        },
    ]
}
