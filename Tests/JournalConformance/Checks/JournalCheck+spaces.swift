import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let spaces: [JournalCheck] = [
        JournalCheck("a space is found by its name and by the hash of it, and has its log as any session") { journal in
            var log = try await journal.newLog(Sample.space("board:42"))
            let other = try await journal.newLog(Sample.space("floor"))
            let session = try await journal.newLog()
            try await journal.commit(
                log.batch(
                    .made(), labels: log.labels("a"), receipts: [Sample.receipt("key")],
                    reminders: [.set(log.reminder("r"))]), to: &log)
            try await journal.reload()
            let stored = try await journal.stored(TokenHash(space: Sample.name("board:42")))
            #expect(stored.record == log.record && stored.record.space == Sample.name("board:42"))
            #expect(stored.record.subject == nil && stored.record.lifeClass == .space && stored.credentials.isEmpty)
            #expect(stored.labels.count == 1 && stored.receipts.count == 1 && stored.reminders.count == 1)
            #expect(try await journal.store(of: log).state == Sample.bytes("{}"))
            #expect(try await journal.exported(log).session.record.space == log.record.space)
            #expect(try await journal.find(.space(Sample.name("board:42"))).get() == [log.record])
            #expect(try await journal.find(.space(Sample.name("board:4"))).get() == [])
            #expect(try await journal.find(.id(other.record.id)).get() == [other.record])
            let list = try await journal.list().get()
            #expect(list.map(\.space) == [nil, other.record.space, log.record.space])
            #expect(list.map(\.id) == [session, other, log].map(\.record.id))
        },
        JournalCheck("the keyed spaces of a group are listed by name, page by page, without those of others") {
            journal in
            for name in ["board:b", "board", "board-1:a", "board:C", "boards:a", "board:a", "a:board", "board:10"] {
                _ = try await journal.newLog(Sample.space(name))
            }
            try await journal.reload()
            var names: [String] = []
            var last: SpaceName?
            while true {
                let page = try await journal.find(.spaces(group: "board", after: last), limit: 3).get()
                names += page.compactMap(\.space?.text)
                guard let next = page.last?.space else { break }
                last = next
            }
            #expect(names == ["board:10", "board:C", "board:a", "board:b"])
            #expect(try await journal.find(.spaces(group: "board", after: Sample.name("a:z"))).get().count == 4)
            #expect(try await journal.find(.spaces(group: "board", after: Sample.name("boards:a"))).get() == [])
            #expect(try await journal.find(.spaces(group: "none", after: nil)).get() == [])
        },
        JournalCheck("a name that is in use is refused, also with another token, and the space is unharmed") {
            journal in
            let log = try await journal.newLog(Sample.space("board:a"))
            for _ in 0..<2 {
                #expect(try await journal.create(Sample.space("board:a")).failure == .exists)
                var other = Sample.space("board:a")
                other.tokenHash = Sample.tokenHash()
                #expect(try await journal.create(other).failure == .exists)
                try await journal.reload()
            }
            _ = try await journal.newLog(Sample.space("board:A"))
            #expect(try await journal.stored(log).record == log.record)
            #expect(try await journal.find(.space(Sample.name("board:a"))).get() == [log.record])
        },
        JournalCheck("of eight who make a space one succeeds") { journal in
            let results = try await eachOfEight { _ in
                var results: [StoreError.Code?] = []
                for number in 0..<20 {
                    results.append(try await journal.create(Sample.space("board:\(number)")).failure)
                }
                return results
            }
            for number in 0..<20 {
                let codes = results.map { $0[number] }
                #expect(codes.count { $0 == nil } == 1 && codes.count { $0 == .exists } == 7)
            }
        },
        JournalCheck("a space that was removed leaves no tombstone: its name is free at once") { journal in
            let name = Sample.name("board:a")
            for _ in 0..<3 {
                var log = try await journal.newLogWithStore(Sample.space("board:a"))
                try await journal.commit(log.batch(.changed(), receipts: [Sample.receipt("key")]), to: &log)
                try await journal.reload()
                _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
                _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
                try await journal.reload()
                #expect(try await journal.load(TokenHash(space: name)).get().isUnknown)
                #expect(try await journal.find(.space(name)).get() == [])
                #expect(try await journal.append(log.batch(.changed())).failure == .gone)
            }
            let new = try await journal.newLog(Sample.space("board:a"))
            try await journal.reload()
            let stored = try await journal.stored(new)
            #expect(stored.head == .empty && stored.stores.isEmpty && stored.receipts.isEmpty)
        },
        JournalCheck("a space expires by a time of its own, without a tombstone, and other sessions do not") {
            journal in
            let (late, early) = (Sample.later, Sample.start - .seconds(1))
            let space = try await journal.newLog(Sample.space("floor"))
            var used = try await journal.newLog(Sample.space("board:a"))
            try await journal.commit(used.batch(.made(), time: late), to: &used)
            let touched = try await journal.newLog(Sample.space("board:b"))
            _ = try await journal.touch([SessionTouch(session: touched.key, lastSeen: late, written: [])]).get()
            let others = [try await journal.newLog(), try await journal.newSignedIn([.sample(1)], isShared: true)]
            try await journal.reload()
            let none = PerLifeClass(anonymous: early, unshared: early, shared: early, space: early)
            #expect(try await journal.expire(lastSeenBefore: none, limit: 10).get() == 0)
            var times = none
            times.space = late
            #expect(try await journal.expire(lastSeenBefore: times, limit: 10).get() == 1)
            try await journal.reload()
            #expect(try await journal.load(space.record.tokenHash).get().isUnknown)
            for log in others + [used, touched] { _ = try await journal.stored(log) }
            _ = try await journal.newLog(Sample.space("floor"))
            // The other classes do not take a space.
            times = PerLifeClass(late)
            times.space = early
            #expect(try await journal.expire(lastSeenBefore: times, limit: 10).get() == 2)
            try await journal.reload()
            #expect(try await journal.list().get().compactMap(\.space?.text) == ["floor", "board:b", "board:a"])
        },
        JournalCheck("a space with a reminder lives until 30 days after it was due") { journal in
            var log = try await journal.newLogWithStore(Sample.space("floor"))
            let due = Sample.later
            try await journal.commit(log.batch(reminders: [.set(log.reminder("a", due: due))]), to: &log)
            try await journal.reload()
            func expire(now: Duration) async throws -> Int {
                try await journal.expire(lastSeenBefore: Sample.muchLater, now: now, limit: 10).get()
            }
            #expect(try await expire(now: due + StoredReminder.sessionLife) == 0)
            #expect(try await expire(now: due + StoredReminder.sessionLife + .milliseconds(1)) == 1)
            try await journal.reload()
            #expect(try await journal.load(log.record.tokenHash).get().isUnknown)
            #expect(try await journal.alarms().get().isEmpty)
        },
        JournalCheck("no space is reclaimed, however briefly it was used") { journal in
            let space = try await journal.newLog(Sample.space("floor"))
            let session = try await journal.newLog()
            try await journal.reload()
            let reclaimed = try await journal.reclaim(lastSeenBefore: Sample.later, usedFor: .seconds(10), limit: 10)
            #expect(try reclaimed.get() == 1)
            try await journal.reload()
            _ = try await journal.stored(space)
            #expect(try await journal.load(session.record.tokenHash).get().isEnded)
        },
        JournalCheck("nobody signs in to a space, and the deletion of a subject keeps it") { journal in
            let log = try await journal.newLogWithStore(Sample.space("floor"))
            _ = try await journal.newSignedIn([.sample(1)])
            let subject = Sample.subject("a")
            for change in [
                CredentialChange(session: log.key, expecting: nil, subject: subject, kept: [.sample(1)]),
                CredentialChange(session: log.key, expecting: nil, subject: nil),
            ] { #expect(try await journal.change(change).failure == .invalid) }
            try await journal.purge(subject).get()
            try await journal.reload()
            let stored = try await journal.stored(log)
            #expect(stored.record == log.record && stored.credentials.isEmpty && stored.stores.count == 1)
            #expect(try await journal.list().get().map(\.id) == [log.record.id])
        },
    ]
}
