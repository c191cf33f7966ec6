import SessionJournal
import Testing

/// The reminders of one session.
extension JournalCheck {
    static let reminders: [JournalCheck] = [
        JournalCheck("reminders are kept as they were set, in the order of their due times") { journal in
            var log = try await journal.newLog()
            let late = log.reminder("a", due: Sample.muchLater, action: #"{"type":"ring"}"#)
            let early = log.reminder("b", due: Sample.start + .milliseconds(1), feature: Sample.feature(1), action: "")
            let between = log.reminder("c", due: Sample.later)
            try await journal.commit(
                log.batch(.made(), reminders: [.set(late), .set(early), .set(between)]), to: &log)
            try await journal.reload()
            let expected = [early, between, late]
            #expect(try await journal.stored(log).reminders == expected)
            #expect(try await journal.exported(log).session.reminders == expected)
            // Reminders are loaded independently of a head.
            #expect(try await journal.news(log, since: log.head).reminders == expected)
        },
        JournalCheck("a reminder takes the place of one of the same feature instance and id, and of no other") {
            journal in
            var log = try await journal.newLogWithStore()
            let (other, same) = (log.reminder("a", feature: Sample.feature(1)), log.reminder("A"))
            try await journal.commit(
                log.batch(reminders: [.set(log.reminder("a")), .set(other), .set(same)]), to: &log)
            let new = log.reminder("a", due: Sample.muchLater, action: "new")
            try await journal.commit(log.batch(reminders: [.set(new)]), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders == [same, other, new])
        },
        JournalCheck("reminders that a change of credentials sets are kept with it, or not at all") { journal in
            var log = try await journal.newLogWithStore()
            let (first, other) = (log.reminder("a", due: Sample.muchLater), log.reminder("b", due: Sample.muchLater))
            try await journal.commit(log.batch(reminders: [.set(first), .set(other)]), to: &log)
            let new = [("a", Sample.counter), ("c", Sample.feature(1))].map { id, feature in
                StoredReminder(feature: feature, id: id, due: Sample.later, number: 0, action: Sample.bytes("2"))
            }
            let subject = Sample.subject("a")
            let refused = CredentialChange(
                session: log.key, expecting: subject, subject: subject, kept: [.sample(1)], reminders: new)
            #expect(try await journal.change(refused).failure == .contended)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders == [first, other])
            let change = CredentialChange(
                session: log.key, expecting: nil, subject: subject, kept: [.sample(1)], reminders: new)
            _ = try await journal.change(change).get()
            try await journal.reload()
            let stored = try await journal.stored(log)
            #expect(stored.reminders == new + [other] && stored.head == log.head)
            let alarms = [Sample.later, Sample.muchLater].map {
                Alarm(token: log.record.tokenHash, session: log.key, due: $0)
            }
            #expect(try await journal.alarms().get() == alarms)
            #expect(try await journal.expire(lastSeenBefore: Sample.muchLater, limit: 10).get() == 0)
            try await journal.commit(
                log.batch(reminders: [
                    .forgotten(Sample.counter, id: "a"), .forgotten(Sample.feature(1), id: "c"),
                    .forgotten(Sample.counter, id: "b"),
                ]), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders.isEmpty)
            #expect(try await journal.alarms().get().isEmpty)
        },
        JournalCheck("the changes of a batch are made in their order") { journal in
            var log = try await journal.newLogWithStore()
            let (first, last) = (log.reminder("a"), log.reminder("a", due: Sample.muchLater))
            let gone = log.reminder("b")
            try await journal.commit(
                log.batch(reminders: [
                    .set(first), .forgotten(Sample.counter, id: "a"), .set(gone), .set(first), .set(last),
                    .forgotten(Sample.counter, id: "b"),
                ]), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders == [last])
        },
        JournalCheck("a reminder is forgotten, and one that is not there is passed over") { journal in
            var log = try await journal.newLogWithStore()
            let stays = log.reminder("stays")
            try await journal.commit(log.batch(reminders: [.set(log.reminder("goes")), .set(stays)]), to: &log)
            try await journal.commit(
                log.batch(reminders: [
                    .forgotten(Sample.counter, id: "goes"), .forgotten(Sample.counter, id: "unknown"),
                    .forgotten(Sample.feature(1), id: "stays"),
                ]), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders == [stays])
        },
        JournalCheck("a batch without a change of reminders leaves them, also one that disposes of their store") {
            journal in
            var log = try await journal.newLogWithStore()
            let reminder = log.reminder("a")
            try await journal.commit(log.batch(reminders: [.set(reminder)]), to: &log)
            try await journal.commit(log.batch(.changed()), to: &log)
            try await journal.commit(log.batch(.disposed()), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders == [reminder])
            #expect(try await journal.alarms().get() == [log.alarm(reminder)])
        },
        JournalCheck("reminders' ids of any Unicode and the largest numbers come back") { journal in
            var log = try await journal.newLogWithStore()
            let long = String(repeating: "ß", count: 999)
            let ids = ["é", "e\u{301}", "", "a\u{0}b", "👩‍👩‍👧", "'; DROP TABLE reminders; --", long]
            var reminders = ids.map { log.reminder($0) }
            reminders[0].number = .max
            try await journal.commit(log.batch(reminders: reminders.map { .set($0) }), to: &log)
            try await journal.reload()
            let kept = try await journal.stored(log).reminders
            #expect(Set(kept.map { Array($0.id.utf8) }) == Set(ids.map { Array($0.utf8) }))
            #expect(kept.filter { $0.number == .max }.map { Array($0.id.utf8) } == [Array("é".utf8)])
            try await journal.commit(log.batch(reminders: [.forgotten(Sample.counter, id: "e\u{301}")]), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders.count == ids.count - 1)
        },
        JournalCheck("a session with a reminder does not expire; without it it does") { journal in
            var log = try await journal.newLogWithStore()
            let unused = try await journal.newLogWithStore()
            // In two batches: another one makes no difference.
            for id in ["a", "b"] {
                try await journal.commit(log.batch(reminders: [.set(log.reminder(id))]), to: &log)
            }
            for expected in [1, 0, 0] {
                try await journal.reload()
                #expect(try await journal.expire(lastSeenBefore: Sample.later, limit: 10).get() == expected)
            }
            #expect(try await journal.load(unused.record.tokenHash).get().isEnded)
            try await journal.commit(log.batch(reminders: [.forgotten(Sample.counter, id: "a")]), to: &log)
            try await journal.reload()
            #expect(try await journal.expire(lastSeenBefore: Sample.later, limit: 10).get() == 0)
            #expect(try await journal.stored(log).reminders.map(\.id) == ["b"])
            try await journal.commit(log.batch(reminders: [.forgotten(Sample.counter, id: "b")]), to: &log)
            try await journal.reload()
            #expect(try await journal.expire(lastSeenBefore: Sample.start, limit: 10).get() == 0)
            #expect(try await journal.expire(lastSeenBefore: Sample.later, limit: 10).get() == 1)
            #expect(try await journal.load(log.record.tokenHash).get().isEnded)
        },
        JournalCheck(
            "a reminder that could not fire is attempted next after its pause, and keeps its session no longer"
        ) {
            journal in
            var log = try await journal.newLogWithStore()
            let (first, other) = (log.reminder("a", action: #"{"type":"ring"}"#), log.reminder("b"))
            try await journal.commit(log.batch(reminders: [.set(first), .set(other)]), to: &log)
            var (paused, stale, gone) = (first, other, other)
            paused.notBefore = Sample.start + StoredReminder.sessionLife * 2
            // Pauses of reminders that were set anew or forgotten meanwhile.
            (stale.number, stale.notBefore) = (stale.number - 1, paused.notBefore)
            (gone.id, gone.notBefore) = ("c", paused.notBefore)
            func note(_ reminders: StoredReminder...) async throws {
                let touch = SessionTouch(session: log.key, lastSeen: Sample.start, written: [], reminders: reminders)
                _ = try await journal.touch([touch]).get()
                try await journal.reload()
            }
            try await note(paused, stale, gone)
            #expect(try await journal.stored(log).reminders == [paused, other])
            #expect(try await journal.exported(log).session.reminders == [paused, other])
            #expect(try await journal.news(log, since: log.head).reminders == [paused, other])
            #expect(try await journal.alarms().get() == [log.alarm(other), log.alarm(paused)])
            #expect(try await journal.alarms(after: log.alarm(other)).get() == [log.alarm(paused)])
            // Set anew, it has no pause.
            try await journal.commit(log.batch(reminders: [.set(first)]), to: &log)
            try await journal.reload()
            #expect(try await journal.stored(log).reminders == [first, other])
            #expect(try await journal.alarms().get() == [log.alarm(first)])
            try await note(paused)
            let end = first.due + StoredReminder.sessionLife
            for (now, count) in [(end, 0), (end + .milliseconds(1), 1)] {
                #expect(try await journal.expire(lastSeenBefore: Sample.later, now: now, limit: 10).get() == count)
            }
            #expect(try await journal.alarms().get() == [])
        },
        JournalCheck("expiry goes past many sessions with reminders to those without") { journal in
            var reminded: [Log] = []
            for number in 0..<300 {
                var log = try await journal.newLog(Sample.session(lastSeen: Sample.start - .seconds(number)))
                if number % 3 > 0 {
                    let time = log.record.lastSeen
                    try await journal.commit(log.batch(reminders: [.set(log.reminder("a"))], time: time), to: &log)
                    reminded.append(log)
                }
            }
            try await journal.reload()
            var counts: [Int] = []
            for _ in 0..<4 {
                counts.append(try await journal.expire(lastSeenBefore: Sample.later, limit: 40).get())
            }
            #expect(counts == [40, 40, 20, 0])
            try await journal.reload()
            for log in reminded { #expect(try await journal.stored(log).reminders.count == 1) }
        },
        JournalCheck("a session that is removed takes its reminders along") { journal in
            var log = try await journal.newLogWithStore()
            try await journal.commit(
                log.batch(reminders: (0..<200).map { .set(log.reminder("\($0)")) }), to: &log)
            _ = try await journal.remove(log.key, tombstoneUntil: Sample.muchLater).get()
            for _ in 0..<2 {
                try await journal.reload()
                #expect(try await journal.alarms().get() == [])
                #expect(try await journal.load(log.key, since: .empty).get() == nil)
            }
        },
    ]
}

extension Log {
    /// Returns the alarm of a reminder of the session.
    func alarm(_ reminder: StoredReminder) -> Alarm {
        Alarm(token: record.tokenHash, session: key, due: reminder.next)
    }
}
