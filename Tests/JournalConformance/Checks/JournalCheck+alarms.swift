import MVI
import SessionJournal
import Testing

/// The reminders of all sessions.
extension JournalCheck {
    static let alarms: [JournalCheck] = [
        JournalCheck("a journal without reminders has no alarms") { journal in
            _ = try await journal.newLogWithStore()
            #expect(try await journal.alarms().get() == [])
        },
        JournalCheck("alarms come by due time and then by age of the session, each pair of them once") { journal in
            var (first, second) = (try await journal.newLog(), try await journal.newLog())
            let times = (1...3).map { Sample.start + .seconds($0) }
            func reminders(_ log: Log, _ numbers: [Int]) -> [ReminderChange] {
                numbers.enumerated().map { .set(log.reminder("\($0.offset)", due: times[$0.element])) }
            }
            try await journal.commit(second.batch(reminders: reminders(second, [0, 1, 1, 2])), to: &second)
            try await journal.commit(first.batch(reminders: reminders(first, [1, 2, 2])), to: &first)
            try await journal.reload()
            let expected = [(second, 0), (first, 1), (second, 1), (first, 2), (second, 2)].map { log, time in
                Alarm(token: log.record.tokenHash, session: log.key, due: times[time])
            }
            #expect(try await journal.alarms().get() == expected)
            for limit in 0...5 {
                #expect(try await journal.alarms(limit: limit).get() == Array(expected.prefix(limit)))
            }
            for (index, alarm) in expected.enumerated() {
                #expect(try await journal.alarms(after: alarm).get() == Array(expected[(index + 1)...]))
            }
            // An alarm that does not exist.
            let place = Alarm(token: Sample.tokenHash(), session: first.key, due: times[1] - .milliseconds(1))
            #expect(try await journal.alarms(after: place).get() == Array(expected[1...]))
            // The token does not affect an alarm's position.
            var other = expected[1]
            other.token = Sample.tokenHash()
            #expect(try await journal.alarms(after: other, limit: 1).get() == [expected[2]])
        },
        JournalCheck("an alarm follows its reminder, and stays as long as another is due then") { journal in
            var log = try await journal.newLog()
            try await journal.commit(
                log.batch(reminders: [.set(log.reminder("a")), .set(log.reminder("b"))]), to: &log)
            let alarm = log.alarm(log.reminder("a"))
            #expect(try await journal.alarms().get() == [alarm])
            try await journal.commit(log.batch(reminders: [.forgotten(Sample.counter, id: "a")]), to: &log)
            try await journal.reload()
            #expect(try await journal.alarms().get() == [alarm])
            let moved = log.reminder("b", due: Sample.muchLater)
            try await journal.commit(log.batch(reminders: [.set(moved)]), to: &log)
            try await journal.reload()
            #expect(try await journal.alarms().get() == [log.alarm(moved)])
            try await journal.commit(log.batch(reminders: [.forgotten(Sample.counter, id: "b")]), to: &log)
            try await journal.reload()
            #expect(try await journal.alarms().get() == [])
        },
        JournalCheck("a batch that is not kept leaves no alarm") { journal in
            var log = try await journal.newLogWithStore()
            var batch = log.batch(reminders: [.set(log.reminder("a"))])
            batch.expecting.nonce ^= 1
            #expect(try await journal.append(batch).isConflict)
            #expect(try await journal.alarms().get() == [])
            // The refused reminders do not keep the session alive.
            #expect(try await journal.expire(lastSeenBefore: Sample.later, limit: 10).get() == 1)
            log.head = .empty
            #expect(try await journal.append(log.batch(reminders: [.set(log.reminder("a"))])).failure == .gone)
            #expect(try await journal.alarms().get() == [])
        },
        JournalCheck("alarms see the append that was handed over before them") { journal in
            let log = try await journal.newLogWithStore()
            let reminder = log.reminder("a")
            let append = journal.startAppend(log.batch(reminders: [.set(reminder)]))
            let alarms: Answer<Result<[Alarm], StoreError>> = journal.start("alarms") {
                $0.alarms(after: nil, limit: 10, done: $1)
            }
            #expect(try await alarms.value.get() == [log.alarm(reminder)])
            #expect(try await append.value.isCommitted)
        },
        JournalCheck("thousands of reminders that come, move and go are read in pages as they are") { journal in
            var logs: [Log] = []
            for _ in 0..<40 { logs.append(try await journal.newLog()) }
            // The expected due times of each session's reminders, by id.
            var model: [[Int: Duration]] = Array(repeating: [:], count: logs.count)
            var random = SystemRandomNumberGenerator()
            for round in 0..<12 {
                for index in logs.indices {
                    var changes: [ReminderChange] = []
                    for _ in 0..<60 {
                        let id = Int.random(in: 0..<120, using: &random)
                        // In the last rounds most are removed.
                        if Int.random(in: 0..<12, using: &random) < round {
                            model[index][id] = nil
                            changes.append(.forgotten(Sample.counter, id: "\(id)"))
                        } else {
                            let due = Sample.start + .milliseconds(Int.random(in: 0..<2_000, using: &random))
                            model[index][id] = due
                            changes.append(.set(logs[index].reminder("\(id)", due: due)))
                        }
                    }
                    try await journal.commit(logs[index].batch(reminders: changes), to: &logs[index])
                }
                guard round % 4 == 3 else { continue }
                try await journal.reload()
                let expected = zip(logs, model).flatMap { log, times in
                    Set(times.values).map { Alarm(token: log.record.tokenHash, session: log.key, due: $0) }
                }.sorted { ($0.due, $0.session.number) < ($1.due, $1.session.number) }
                var read: [Alarm] = []
                while true {
                    let page = try await journal.alarms(after: read.last, limit: 97).get()
                    read += page
                    if page.count < 97 { break }
                }
                #expect((read == expected) as Bool, "\(read.count) alarms were read of \(expected.count)")
            }
        },
    ]
}
