import MVI
import SessionJournal
import Testing

/// Queries for sessions.
extension JournalCheck {
    static let subjects: [JournalCheck] = [
        JournalCheck("a session is found by its id, its subject, and as the shared one, as it was created") { journal in
            let subject = Sample.subject("a")
            let shared = Sample.session(credential: .cookie, subject: subject, isShared: true)
            _ = try await journal.newLog(Sample.session())
            _ = try await journal.newLog(shared, credential: .sample(1))
            try await journal.reload()
            #expect(try await journal.find(.id(shared.id)).get() == [shared])
            #expect(try await journal.find(.subject(subject)).get() == [shared])
            #expect(try await journal.find(.shared(subject)).get() == [shared])
        },
        JournalCheck("the sessions of a subject are the shared one and all others, oldest first, as many as asked for")
        {
            journal in
            let subject = Sample.subject("a")
            var records: [SessionRecord] = []
            for number in 0..<20 {
                records.append(Sample.session(subject: subject, isShared: number == 7))
                _ = try await journal.newLog(records[number], credential: .sample(1))
                _ = try await journal.newLog(Sample.session(subject: Sample.subject("b")))
                _ = try await journal.newLog()
            }
            try await journal.reload()
            #expect(try await journal.find(.subject(subject)).get() == records)
            for limit in [0, 1, 7, 19, 20] {
                #expect(try await journal.find(.subject(subject), limit: limit).get() == Array(records.prefix(limit)))
            }
            #expect(try await journal.find(.shared(subject)).get() == [records[7]])
        },
        JournalCheck("a query without a match finds no session") { journal in
            _ = try await journal.newLog(Sample.session(subject: Sample.subject("a")))
            #expect(try await journal.find(.id("unknown")).get() == [])
            #expect(try await journal.find(.subject(Sample.subject("b"))).get() == [])
            #expect(try await journal.find(.subject(Subject(issuer: "", id: "a"))).get() == [])
            #expect(try await journal.find(.shared(Sample.subject("a"))).get() == [])
        },
        JournalCheck("a session that is found was last used when it was appended to") { journal in
            let record = Sample.session(subject: Sample.subject("a"))
            var log = try await journal.newLog(record)
            try await journal.commit(log.batch(.made(), time: Sample.later), to: &log)
            try await journal.reload()
            #expect(try await journal.find(.id(record.id)).get().map(\.lastSeen) == [Sample.later])
        },
        JournalCheck("a list has the newest session first, goes on before any, and says how much is kept of each") {
            journal in
            let subject = Sample.subject("a")
            var logs: [Log] = []
            for number in 0..<6 {
                let record = Sample.session(subject: number % 2 == 0 ? subject : nil, isShared: number == 2)
                logs.append(try await journal.newLog(record))
            }
            let state = StoreChange.sample(.made, state: #"{"a":1}"#, view: "[1]")
            try await journal.commit(logs[4].batch(state, time: Sample.later), to: &logs[4])
            try await journal.reload()
            func list(_ subject: Subject?, _ before: SessionKey?, _ limit: Int) async throws -> [String] {
                try await journal.list(of: subject, before: before, limit: limit).get().map(\.id)
            }
            let ids = logs.map(\.record.id)
            #expect(try await list(nil, nil, 100) == ids.reversed())
            #expect(try await list(nil, nil, 2) == [ids[5], ids[4]])
            #expect(try await list(nil, logs[4].key, 2) == [ids[3], ids[2]])
            #expect(try await list(subject, nil, 100) == [ids[4], ids[2], ids[0]])
            #expect(try await list(subject, logs[4].key, 1) == [ids[2]])
            #expect(try await list(Sample.subject("b"), nil, 100) == [])
            #expect(try await list(nil, nil, 0) == [])
            let all = try await journal.list().get()
            let first = SessionOverview(
                key: logs[4].key, id: ids[4], created: Sample.start, lastSeen: Sample.later, stores: 1, bytes: 10,
                subject: subject)
            #expect(all.first { $0.id == ids[4] } == first)
            #expect(all.first { $0.id == ids[2] }?.isShared == true)
            _ = try await journal.remove(logs[4].key, tombstoneUntil: Sample.muchLater).get()
            #expect(try await list(nil, logs[4].key, 1) == [ids[3]])
            #expect(try await list(nil, nil, 2) == [ids[5], ids[3]])
        },
        JournalCheck("a session follows its subject, in the order of its age") { journal in
            let (first, second) = (Sample.subject("a"), Sample.subject("b"))
            var logs: [Log] = []
            for _ in 0..<3 { logs.append(try await journal.newLog(Sample.session(subject: first))) }
            for index in [2, 0, 1] {
                let change = CredentialChange(session: logs[index].key, expecting: first, subject: second)
                _ = try await journal.change(change).get()
            }
            try await journal.reload()
            #expect(try await journal.find(.subject(first)).get() == [])
            #expect(try await journal.find(.subject(second)).get().map(\.id) == logs.map(\.record.id))
            _ = try await journal.remove(logs[1].key, tombstoneUntil: Sample.muchLater).get()
            try await journal.reload()
            let left = [logs[0], logs[2]].map(\.record.id)
            #expect(try await journal.find(.subject(second)).get().map(\.id) == left)
        },
        JournalCheck("subjects are told apart byte for byte") { journal in
            // Composed and decomposed letters, which `==` on strings treats as equal.
            let ids = ["é", "e\u{301}", "E\u{301}", "", "a\u{0}", "a", " a", "日本"]
            var logs: [Log] = []
            for id in ids {
                let record = Sample.session(subject: Sample.subject(id), isShared: true)
                logs.append(try await journal.newLog(record, credential: .sample(1)))
            }
            try await journal.reload()
            for (id, log) in zip(ids, logs) {
                let found = try await journal.find(.subject(Sample.subject(id))).get()
                #expect(found.map(\.id) == [log.record.id], "\(id.debugDescription)")
                #expect(found.first?.subject.map { Array($0.id.utf8) } == Array(id.utf8))
                #expect(try await journal.find(.shared(Sample.subject(id))).get().map(\.id) == [log.record.id])
            }
            let change = CredentialChange(
                session: logs[0].key, expecting: Sample.subject(ids[1]), subject: Sample.subject("new"))
            #expect(try await journal.change(change).failure == .contended)
        },
    ]
}
