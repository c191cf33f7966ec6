import Locking
import MVI
import SessionJournal
import Testing

extension JournalCheck {
    static let expiry: [JournalCheck] = [
        JournalCheck("unused sessions expire with all that is theirs; their tokens are remembered") { journal in
            let limit = Sample.start + .seconds(10)
            var old = try await journal.newLog()
            let young = try await journal.newLog(Sample.session(lastSeen: limit + .milliseconds(1)))
            try await journal.commit(
                old.batch(.made(), labels: old.labels("a"), receipts: [Sample.receipt("key")]), to: &old)
            try await journal.reload()
            #expect(try await journal.expire(lastSeenBefore: limit, limit: 10).get() == 1)
            try await journal.reload()
            let token = old.record.tokenHash
            #expect(try await journal.load(token, now: Sample.later).get().isEnded)
            #expect(try await journal.load(token, now: Sample.muchLater + .milliseconds(1)).get().isUnknown)
            #expect(try await journal.export(old.record.id).get() == nil)
            #expect(try await journal.load(old.key, since: .empty).get() == nil)
            #expect(try await journal.append(old.batch(.changed())).failure == .gone)
            #expect(try await journal.stored(young).record == young.record)
            #expect(try await journal.expire(lastSeenBefore: limit, limit: 10).get() == 0)
        },
        JournalCheck("anonymous sessions that were used once, and not lately, are reclaimed, and no others") {
            journal in
            let (limit, brief) = (Sample.start + .seconds(100), Duration.seconds(10))
            let once = try await journal.newLog()
            var appended = try await journal.newLog()
            try await journal.commit(appended.batch(.made(), time: Sample.start + brief), to: &appended)
            var longer = try await journal.newLog()
            try await journal.commit(longer.batch(.made(), time: Sample.start + .seconds(11)), to: &longer)
            let touched = try await journal.newLog(Sample.session(lastSeen: Sample.start + .seconds(11)))
            let young = try await journal.newLog(Sample.session(created: limit, lastSeen: limit))
            var reminded = try await journal.newLogWithStore()
            try await journal.commit(reminded.batch(reminders: [.set(reminded.reminder("a"))]), to: &reminded)
            let signedIn = try await journal.newSignedIn([.sample(1)])
            try await journal.reload()
            #expect(try await journal.reclaim(lastSeenBefore: limit, usedFor: brief, limit: 10).get() == 2)
            try await journal.reload()
            for log in [once, appended] {
                #expect(try await journal.load(log.record.tokenHash).get().isEnded)
                #expect(try await journal.export(log.record.id).get() == nil)
            }
            for log in [longer, touched, young, reminded, signedIn] { _ = try await journal.stored(log) }
            #expect(try await journal.reclaim(lastSeenBefore: limit, usedFor: brief, limit: 10).get() == 0)
        },
        JournalCheck("each class of lifetime expires by its own time, also after a sign-in") { journal in
            func logs() async throws -> [Log] {
                let anonymous = try await journal.newLog()
                let signedIn = try await journal.newLog()
                let change = CredentialChange(
                    session: signedIn.key, expecting: nil, subject: Sample.subject("b"), kept: [.sample(1)])
                _ = try await journal.change(change).get()
                return [
                    anonymous, signedIn, try await journal.newSignedIn([.sample(1)]),
                    try await journal.newSignedIn([.sample(1)], isShared: true),
                ]
            }
            let (late, early) = (Sample.later, Sample.start - .seconds(1))
            for (times, expected) in [
                (PerLifeClass(anonymous: late, unshared: early, shared: early, space: early), [0]),
                (PerLifeClass(anonymous: early, unshared: late, shared: early, space: early), [1, 2]),
                (PerLifeClass(anonymous: early, unshared: early, shared: late, space: early), [3]),
            ] {
                let logs = try await logs()
                try await journal.reload()
                #expect(try await journal.expire(lastSeenBefore: times, limit: 10).get() == expected.count)
                try await journal.reload()
                for (index, log) in logs.enumerated() {
                    let isGone = try await journal.load(log.record.tokenHash).get().isEnded
                    #expect(isGone == expected.contains(index))
                    if !isGone { _ = try await journal.remove(log.key, tombstoneUntil: Sample.later).get() }
                }
            }
        },
        JournalCheck("a limit of expiry counts all classes together") { journal in
            for number in 0..<9 {
                let subject = number < 3 ? nil : Sample.subject("\(number)")
                _ = try await journal.newLog(Sample.session(subject: subject, isShared: number >= 6))
            }
            var counts: [Int] = []
            for limit in [2, 4, 10, 10] {
                counts.append(try await journal.expire(lastSeenBefore: Sample.later, limit: limit).get())
            }
            #expect(counts == [2, 4, 3, 0])
        },
        JournalCheck("the last use of a credential is noted, and never goes back") { journal in
            var (used, unused) = (StoredCredential.sample(1), StoredCredential.sample(2))
            let log = try await journal.newSignedIn([used, unused], isShared: true)
            for time in [Sample.later, Sample.start] {
                let touch = SessionTouch(
                    session: log.key, lastSeen: time, written: [],
                    credentials: [(used.token, time), (Sample.tokenHash(), Sample.muchLater)])
                _ = try await journal.touch([touch]).get()
            }
            used.lastSeen = Sample.later
            try await journal.reload()
            #expect(try await journal.stored(log).credentials == [used, unused])
            // A renewal is a use.
            unused.lastSeen = Sample.muchLater
            let subject = Sample.subject("a")
            let change = CredentialChange(session: log.key, expecting: subject, subject: subject, kept: [unused])
            _ = try await journal.change(change).get()
            try await journal.reload()
            #expect(try await journal.stored(log).credentials == [used, unused])
        },
        JournalCheck("stores of subjects' sessions that were not used for long are found, page by page") { journal in
            let (draft, other) = (FeatureID(name: "draft", key: "1"), FeatureID(name: "drafty", key: nil))
            var tokens: [TokenHash] = []
            for (number, features) in [[draft], [other], [draft, other], [Sample.counter]].enumerated() {
                let subject = Sample.subject("\(number)")
                var log = try await journal.newLog(Sample.session(subject: subject, isShared: number > 1))
                for feature in features { try await journal.commit(log.batch(.made(feature)), to: &log) }
                tokens.append(log.record.tokenHash)
            }
            var anonymous = try await journal.newLog()
            try await journal.commit(anonymous.batch(.made(draft)), to: &anonymous)
            try await journal.reload()
            func pages(
                _ time: Duration, _ name: String = "draft", ofSubjects: Bool = true
            ) async throws -> [TokenHash] {
                var (found, last) = ([TokenHash](), SessionKey(.min))
                while true {
                    let page = try await journal.storesOf(
                        [StoreQuery(name: name, lastSeenBefore: time)], ofSubjects: ofSubjects, after: last, limit: 3
                    ).get()
                    found += page.sessions
                    guard let next = page.last else { return found }
                    last = next
                }
            }
            #expect(try await pages(Sample.start).isEmpty)
            let all = try await pages(.nanoseconds(Int64.max), draft.text, ofSubjects: false)
            #expect(all == [tokens[0], tokens[2], anonymous.record.tokenHash])
            #expect(try await pages(.nanoseconds(Int64.max), "draft:2", ofSubjects: false).isEmpty)
            #expect(try await pages(Sample.start + .seconds(1)) == [tokens[0], tokens[2]])
            let first = try await journal.stored(tokens[0])
            let touch = SessionTouch(
                session: first.key, lastSeen: Sample.start, written: [],
                stores: [(draft, Sample.later), (other, Sample.later)])
            _ = try await journal.touch([touch]).get()
            try await journal.reload()
            #expect(try await pages(Sample.later) == [tokens[2]])
            #expect(try await journal.stored(tokens[0]).stores.map(\.lastSeen) == [Sample.later])
        },
        JournalCheck("at most the limit is reclaimed, longest unused first") { journal in
            var logs: [Log] = []
            for number in 0..<60 {
                let time = Sample.start + .milliseconds(number)
                // Most were used for too long.
                let created = number % 3 == 0 ? time : time - .seconds(60)
                logs.append(try await journal.newLog(Sample.session(created: created, lastSeen: time)))
            }
            var counts: [Int] = []
            for limit in [7, 1, 40] {
                let reclaimed = try await journal.reclaim(
                    lastSeenBefore: Sample.later, usedFor: .seconds(10), limit: limit)
                counts.append(try reclaimed.get())
                if limit == 7 {
                    try await journal.reload()
                    for number in [0, 3, 18] {
                        #expect(try await journal.load(logs[number].record.tokenHash).get().isEnded)
                    }
                    _ = try await journal.stored(logs[21])
                }
            }
            #expect(counts == [7, 1, 12])
        },
        JournalCheck("a step of expiry removes at most its limit, and returns the number") { journal in
            for _ in 0..<150 { _ = try await journal.newLog() }
            let young = try await journal.newLog(Sample.session(lastSeen: Sample.muchLater))
            var counts: [Int] = []
            for limit in [7, 40, 40, 1, 40, 40, 40] {
                counts.append(try await journal.expire(lastSeenBefore: Sample.later, limit: limit).get())
            }
            #expect(counts == [7, 40, 40, 1, 40, 22, 0])
            try await journal.reload()
            #expect(try await journal.stored(young).record == young.record)
        },
        JournalCheck("a touch or an append keeps a session from expiring") { journal in
            let touched = try await journal.newLog()
            var appended = try await journal.newLog()
            let left = try await journal.newLog()
            _ = try await journal.touch([SessionTouch(session: touched.key, lastSeen: Sample.later, written: [])])
                .get()
            try await journal.commit(appended.batch(.made(), time: Sample.later), to: &appended)
            try await journal.reload()
            #expect(try await journal.expire(lastSeenBefore: Sample.start + .seconds(1), limit: 10).get() == 1)
            try await journal.reload()
            #expect(try await journal.stored(touched).record.lastSeen == Sample.later)
            #expect(try await journal.stored(appended).stores.count == 1)
            #expect(try await journal.load(left.record.tokenHash).get().isEnded)
        },
        JournalCheck("a session lives until its last reminder was due 30 days ago, and no longer unless it is used") {
            journal in
            let (due, life) = (Sample.later, Duration.seconds(30 * 24 * 3600))
            var old = try await journal.newLogWithStore()
            try await journal.commit(
                old.batch(reminders: [.set(old.reminder("a", due: Sample.start)), .set(old.reminder("b", due: due))]),
                to: &old)
            var used = try await journal.newLogWithStore()
            try await journal.commit(used.batch(reminders: [.set(used.reminder("a", due: due))]), to: &used)
            var later = try await journal.newLogWithStore()
            let reminder = later.reminder("a", due: due + .seconds(1))
            try await journal.commit(later.batch(reminders: [.set(reminder)]), to: &later)
            func expire(now: Duration) async throws -> Int {
                try await journal.expire(lastSeenBefore: Sample.muchLater, now: now, limit: 10).get()
            }
            #expect(try await expire(now: due + life) == 0)
            _ = try await journal.touch([SessionTouch(session: used.key, lastSeen: Sample.muchLater, written: [])])
                .get()
            try await journal.reload()
            #expect(try await expire(now: due + life + .milliseconds(1)) == 1)
            try await journal.reload()
            #expect(try await journal.load(old.record.tokenHash).get().isEnded)
            #expect(try await journal.stored(later).reminders == [reminder])
            // A late reminder stays as long as its session, and another one keeps the session alive again.
            #expect(try await journal.stored(used).reminders.map(\.id) == ["a"])
            let new = used.reminder("b", due: due + .seconds(2))
            try await journal.commit(used.batch(reminders: [.set(new)], time: Sample.muchLater), to: &used)
            let end = Sample.muchLater + .milliseconds(1)
            #expect(
                try await journal.expire(lastSeenBefore: end, now: due + .seconds(1) + life, limit: 10).get() == 0)
            try await journal.reload()
            #expect(try await journal.alarms().get().map(\.due) == [due, due + .seconds(1), due + .seconds(2)])
            #expect(
                try await journal.expire(lastSeenBefore: end, now: due + .seconds(3) + life, limit: 10).get() == 2)
            #expect(try await journal.alarms().get().isEmpty)
        },
        JournalCheck("an append during its session's expiry is kept, or finds the session gone") { journal in
            // The moment between finding a session unused and removing it is short: many tries.
            for _ in 0..<40 { try await raceExpiry(journal, sessions: 64) }
        },
    ]

    /// Six writers append to sessions, each to its own, while two sweeps remove sessions for the whole time.
    private static func raceExpiry(_ journal: TestedJournal, sessions count: Int) async throws {
        let records = (0..<count).map { _ in Sample.session() }
        let answers = records.map { record in journal.start("create") { $0.create(record, done: $1) } }
        var logs: [Log] = []
        for (record, answer): (SessionRecord, Answer<Result<SessionKey, StoreError>>) in zip(records, answers) {
            logs.append(Log(key: try await answer.value.get(), record: record))
        }
        let all = logs
        let results = Lock<[Int: AppendResult]>([:])
        let counts = try await eachOfEight { number in
            guard number > 1 else {
                var expired = 0
                while results.withLock({ $0.count }) < count {
                    expired += try await journal.expire(lastSeenBefore: Sample.later, limit: 2).get()
                }
                return expired
            }
            // Oldest first, like sweeps, so that both use the same sessions.
            for index in all.indices where index % 6 == number - 2 {
                let result = try await journal.append(
                    all[index].batch(
                        .made(), receipts: [Sample.receipt("key")], time: Sample.later + .seconds(1)))
                results.withLock { $0[index] = result }
            }
            return 0
        }
        try await journal.reload()
        var gone = 0
        for (index, log) in logs.enumerated() {
            let result = try #require(results.withLock { $0[index] })
            if result.isCommitted {
                let stored = try await journal.stored(log)
                #expect(stored.stores.count == 1 && stored.receipts.count == 1 && stored.head.number == 1)
            } else {
                gone += 1
                #expect(result.failure == .gone)
                #expect(try await journal.load(log.record.tokenHash).get().isEnded)
            }
        }
        #expect(counts.reduce(0, +) == gone, "each is counted by the sweep that took it")
    }
}
