import MVI
import SessionJournal
import Testing

/// Claims of due reminders by nodes.
extension SharedJournalCheck {
    static let claims: [SharedJournalCheck] = [
        SharedJournalCheck("a reminder that is due is claimed by one node, and the next one's time is told") {
            one, other in
            #expect(try await one.claimAlarms().next == nil)
            var log = try await one.journal.newLog()
            let (early, late) = (log.reminder("a"), log.reminder("b", due: Sample.muchLater))
            try await one.journal.commit(log.batch(reminders: [.set(early), .set(late)]), to: &log)
            let before = try await other.claimAlarms(dueAt: Sample.later - .milliseconds(1))
            #expect(before.due == [] && before.next == Sample.later)
            let first = try await other.claimAlarms(dueAt: Sample.later)
            #expect(first.due == [log.alarm(early)] && first.next == Sample.muchLater)
            let second = try await one.claimAlarms(dueAt: Sample.later)
            #expect(second.due == [] && second.next == Sample.later)
            #expect(try await other.claimAlarms(dueAt: Sample.later).due == [])
            #expect(try await one.claimAlarms(dueAt: Sample.muchLater).due == [log.alarm(late)])
        },
        SharedJournalCheck("two nodes that claim at the same time get each reminder once") { one, other in
            var expected: Set<Alarm> = []
            for _ in 0..<30 {
                var log = try await one.journal.newLog()
                // Two for the same time, which are one alarm.
                let reminders = [log.reminder("a"), log.reminder("b"), log.reminder("c", due: Sample.muchLater)]
                try await one.journal.commit(log.batch(reminders: reminders.map { .set($0) }), to: &log)
                expected.formUnion(reminders.map { log.alarm($0) })
            }
            var claimed: [Alarm] = []
            while claimed.count < expected.count {
                async let first = one.claimAlarms(limit: 7)
                async let second = other.claimAlarms(limit: 7)
                for (due, _) in [try await first, try await second] {
                    #expect(due.count <= 7)
                    #expect(due == due.sorted { ($0.due, $0.session.number) < ($1.due, $1.session.number) })
                    claimed += due
                }
            }
            #expect(claimed.count == expected.count && Set(claimed) == expected)
            #expect(try await one.claimAlarms().due == [])
        },
        SharedJournalCheck("a claim ends after its time") { one, other in
            var log = try await one.journal.newLog()
            let reminder = log.reminder("a")
            try await one.journal.commit(log.batch(reminders: [.set(reminder)]), to: &log)
            #expect(try await one.claimAlarms(for: .milliseconds(20)).due == [log.alarm(reminder)])
            var due: [Alarm] = []
            while due.isEmpty { due = try await other.claimAlarms().due }
            #expect(due == [log.alarm(reminder)])
        },
        SharedJournalCheck("a reminder with a pause is claimed after it, by any node") { one, other in
            var log = try await one.journal.newLog()
            var reminder = log.reminder("a")
            try await one.journal.commit(log.batch(reminders: [.set(reminder)]), to: &log)
            #expect(try await one.claimAlarms(for: .milliseconds(1)).due == [log.alarm(reminder)])
            reminder.notBefore = Sample.muchLater
            let touch = SessionTouch(session: log.key, lastSeen: Sample.start, written: [], reminders: [reminder])
            _ = try await one.journal.touch([touch]).get()
            let early = try await other.claimAlarms(dueAt: Sample.later)
            #expect(early.due == [] && early.next == Sample.muchLater)
            var due: [Alarm] = []
            while due.isEmpty { due = try await other.claimAlarms(dueAt: Sample.muchLater).due }
            #expect(due == [log.alarm(reminder)])
        },
        SharedJournalCheck("a claim ends when its reminder is set anew or forgotten") { one, other in
            var log = try await one.journal.newLog()
            let reminder = log.reminder("a")
            try await one.journal.commit(log.batch(reminders: [.set(reminder)]), to: &log)
            #expect(try await one.claimAlarms().due.count == 1)
            try await one.journal.commit(log.batch(reminders: [.set(reminder)]), to: &log)
            #expect(try await other.claimAlarms().due == [log.alarm(reminder)])
            let moved = log.reminder("a", due: Sample.later + .seconds(1))
            try await one.journal.commit(log.batch(reminders: [.set(moved)]), to: &log)
            #expect(try await other.claimAlarms().due == [log.alarm(moved)])
            try await one.journal.commit(log.batch(reminders: [.forgotten(Sample.counter, id: "a")]), to: &log)
            let none = try await one.claimAlarms()
            #expect(none.due == [] && none.next == nil)
        },
        SharedJournalCheck("reminders of a session with an owner are left to that one as long as it is there") {
            one, other in
            try await one.join()
            try await other.join()
            var log = try await one.journal.newLog()
            let reminder = log.reminder("a")
            try await one.journal.commit(log.batch(reminders: [.set(reminder)]), to: &log)
            let owner = try await one.claim(&log)
            let left = try await other.claimAlarms()
            #expect(left.due == [] && left.next == reminder.due)
            #expect(try await one.claimAlarms(for: .milliseconds(1)).due == [log.alarm(reminder)])
            #expect(try await other.forget(one.id))
            var due: [Alarm] = []
            while due.isEmpty { due = try await other.claimAlarms().due }
            #expect(due == [log.alarm(reminder)])
            #expect(try await other.append(log.batch(), by: owner, change: .released).isCommitted)
        },
        SharedJournalCheck("reminders of a session that is gone are claimed by no node") { one, other in
            var log = try await one.journal.newLog()
            try await one.journal.commit(log.batch(reminders: [.set(log.reminder("a"))]), to: &log)
            _ = try await one.journal.remove(log.key, tombstoneUntil: Sample.later).get()
            let none = try await other.claimAlarms()
            #expect(none.due == [] && none.next == nil)
        },
    ]
}
