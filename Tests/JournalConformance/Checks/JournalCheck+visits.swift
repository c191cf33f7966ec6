import MVI
import SessionJournal
import Testing

/// The visits of spaces.
extension JournalCheck {
    static let visits: [JournalCheck] = [
        JournalCheck("a visit is noted with its turns, and not with those of a conflict or a failure") { journal in
            var space = try await journal.newLog(Sample.space("board:a"))
            let (ada, bob) = (Sample.visit("s1", of: "a"), Sample.visit("s2", of: "b"))
            try await journal.commit(space.batch(.made(), visits: [ada, Sample.visit("s3")]), to: &space)
            var conflict = space.batch(.changed(), visits: [bob])
            conflict.expecting = .random(7)
            #expect(try await journal.append(conflict).isConflict)
            let missing = space.batch(.changed(Sample.feature(1)), visits: [bob])
            #expect(try await journal.append(missing).failure != nil)
            let known = Sample.receipt("key")
            try await journal.commit(space.batch(.changed(), receipts: [known]), to: &space)
            let repeated = space.batch(.changed(), receipts: [known], visits: [bob])
            #expect(try await journal.append(repeated).duplicate != nil)
            try await journal.reload()
            #expect(try await journal.visits(of: "a") == [space.visited(by: ada)])
            #expect(try await journal.visits(of: "b") == [])
            #expect(try await journal.visits(.forgotten).get() == [])
            // Not as a part of the space's own data.
            #expect(try await journal.exported(space).visits == [])
        },
        JournalCheck("a repeated visit keeps the subject and the later time, also in one batch") { journal in
            var space = try await journal.newLog(Sample.space("board:a"))
            let (ada, late) = (Sample.visit("s1", of: "a"), Sample.visit("s1", at: Sample.later))
            try await journal.commit(space.batch(.made(), visits: [ada]), to: &space)
            try await journal.commit(space.batch(.changed(), visits: [late]), to: &space)
            try await journal.commit(space.batch(.changed(), visits: [Sample.visit("s1")]), to: &space)
            let twice = [Sample.visit("s2", at: Sample.later), Sample.visit("s2", of: "a")]
            try await journal.commit(space.batch(.changed(), visits: twice), to: &space)
            try await journal.reload()
            let expected = ["s1", "s2"].map { space.visited(by: Sample.visit($0, of: "a", at: Sample.later)) }
            #expect(try await journal.visits(of: "a") == expected)
        },
        JournalCheck("visits from before a sign-in get the subject, those of other sessions do not") {
            journal in
            let (session, other) = (try await journal.newLog(), try await journal.newLog())
            var spaces = [try await journal.newLog(Sample.space("a:1")), try await journal.newLog(Sample.space("a:2"))]
            let before = [session, other].map { Sample.visit($0.record.id) }
            for index in spaces.indices {
                try await journal.commit(spaces[index].batch(.made(), visits: before), to: &spaces[index])
            }
            let ada = Sample.subject("a")
            try await journal.change(
                CredentialChange(session: session.key, expecting: nil, subject: ada, kept: [.sample(1)])
            ).get()
            try await journal.reload()
            let expected = spaces.map { $0.visited(by: Sample.visit(session.record.id, of: "a")) }
            #expect(try await journal.visits(of: "a") == expected)
            // Its later visits are of another subject only if they say so.
            try await journal.change(
                CredentialChange(session: other.key, expecting: nil, subject: Sample.subject("b"), kept: [.sample(1)])
            ).get()
            #expect(try await journal.visits(of: "a") == expected)
            #expect(try await journal.visits(of: "b").count == 2)
        },
        JournalCheck("visits from before a sign-in of another person stay without a subject, also those noted later") {
            journal in
            let session = try await journal.newLog()
            var space = try await journal.newLog(Sample.space("a:1"))
            let (before, ada) = (Sample.visit(session.record.id), Sample.subject("a"))
            try await journal.commit(space.batch(.made(), visits: [before]), to: &space)
            var kept = StoredCredential.sample(1)
            kept.number = StoredCredential.ofAnotherPerson
            for credential in [[kept], []] {
                try await journal.change(
                    CredentialChange(
                        session: session.key, expecting: credential.isEmpty ? ada : nil, subject: ada, kept: credential)
                ).get()
                try await journal.commit(space.batch(.changed(), visits: [before]), to: &space)
                try await journal.reload()
                #expect(try await journal.visits(of: "a").isEmpty)
            }
            try await journal.purge(ada).get()
            #expect(try await journal.visits(.forgotten).get().isEmpty)
        },
        JournalCheck("a session that is created with a subject gives it to its visits, one that is refused does not") {
            journal in
            var space = try await journal.newLog(Sample.space("board:a"))
            let session = Sample.session(subject: Sample.subject("a"))
            let taken = try await journal.newLog()
            let visits = [Sample.visit(session.id), Sample.visit(taken.record.id)]
            try await journal.commit(space.batch(.made(), visits: visits), to: &space)
            var second = Sample.session(id: taken.record.id, subject: Sample.subject("a"))
            second.tokenHash = Sample.tokenHash()
            #expect(try await journal.create(second).failure == .exists)
            _ = try await journal.newLog(session)
            try await journal.reload()
            #expect(
                try await journal.visits(of: "a") == [space.visited(by: Sample.visit(session.id, of: "a"))])
        },
        JournalCheck("a space ends with its visits, and a new one of its name has none") { journal in
            var spaces: [Log] = []
            for name in ["board:a", "board:b", "board:c"] {
                var space = try await journal.newLog(Sample.space(name))
                let visits = (0..<600).map { Sample.visit("s\($0)", of: $0 == 0 ? "a" : "b") }
                try await journal.commit(space.batch(.made(), visits: visits, time: Sample.start), to: &space)
                spaces.append(space)
            }
            _ = try await journal.remove(spaces[0].key, tombstoneUntil: .zero).get()
            _ = try await journal.touch([SessionTouch(session: spaces[2].key, lastSeen: Sample.later, written: [])])
                .get()
            try await journal.reload()
            #expect(try await journal.expire(lastSeenBefore: Sample.later, limit: 10).get() == 1)
            for name in ["board:a", "board:b"] { _ = try await journal.newLog(Sample.space(name)) }
            try await journal.purge(Sample.subject("b")).get()
            try await journal.reload()
            let ada = Sample.visit("s0", of: "a")
            #expect(try await journal.visits(of: "a") == [spaces[2].visited(by: ada)])
            #expect(try await journal.visits(.forgotten, limit: 700).get().count == 599)
            #expect(try await journal.visits(.forgotten, limit: 5).get().count == 5)
        },
        JournalCheck("the deletion of a subject marks exactly its visits, and they stay marked") {
            journal in
            let subjects = [
                Sample.subject("caf\u{e9}"), Sample.subject("cafe\u{301}"), Sample.subject("CAF\u{c9}"),
                Subject(issuer: "https://other.example", id: "caf\u{e9}"),
            ]
            var spaces = [try await journal.newLog(Sample.space("a:1")), try await journal.newLog(Sample.space("a:2"))]
            let visits = subjects.enumerated().map { Visit(session: "s\($0)", subject: $1, lastUse: Sample.start) }
            for index in spaces.indices {
                let batch = spaces[index].batch(.made(), visits: visits + [Sample.visit("anonymous")])
                try await journal.commit(batch, to: &spaces[index])
            }
            try await journal.purge(subjects[0]).get()
            try await journal.reload()
            var marked = visits[0]
            marked.isForgotten = true
            let expected = spaces.map { $0.visited(by: marked) }
            #expect(try await journal.sortedVisits(.forgotten) == expected)
            #expect(try await journal.sortedVisits(.subject(subjects[0])) == expected)
            for (subject, visit) in zip(subjects, visits).dropFirst() {
                #expect(try await journal.sortedVisits(.subject(subject)) == spaces.map { $0.visited(by: visit) })
            }
            try await journal.commit(spaces[0].batch(.changed(), visits: [visits[0]]), to: &spaces[0])
            try await journal.reload()
            #expect(try await journal.sortedVisits(.forgotten) == expected)
        },
        JournalCheck("a person's visits, receipts, labels and the space's recorded turns are deleted, and nothing else")
        {
            journal in
            var space = try await journal.newLog(Sample.space("board:a"))
            var other = try await journal.newLog(Sample.space("board:b"))
            let visits = ["s1", "s2", "s3"].map { Sample.visit($0, of: "a") }
            let keys: [ReceiptKey] = [
                .key("one", feature: Sample.counter), .sequence(1, epoch: "tab"), .key("two", feature: Sample.counter),
            ]
            let receipts = keys.map { Sample.receipt($0, outcome: .ran(version: 1)) }
            let turns = [RecordedTurn(number: 1, feature: Sample.counter, time: .zero, recording: Sample.bytes("{}"))]
            func fill(_ log: inout Log) async throws {
                let batch = log.batch(.made(), labels: log.labels("a", "b"), receipts: receipts, visits: visits)
                try await journal.commit(batch, to: &log)
                try await journal.record(turns, of: log, RecordingLimit(turns: 9))
            }
            try await fill(&space)
            try await fill(&other)
            let before = (try await journal.exported(space), try await journal.picture(other))
            let ids = [(1, 0), (1, 7), (9, 0)].map { LabelID(number: $0, index: $1) }
            try await journal.forget(
                ["s1", "s3", "none"], keys.prefix(2) + [.sequence(9, epoch: "tab")], ids, in: space
            ).get()
            try await journal.forget(["s1"], [keys[0]], ids, in: Log(key: SessionKey(99), record: space.record)).get()
            try await journal.reload()
            let after = try await journal.exported(space)
            var expected = before.0
            (expected.turns, expected.session.receipts) = ([], [before.0.session.receipts[2]])
            expected.session.labels.removeFirst()
            #expect(before.0.turns == turns && pictured(after) == pictured(expected))
            #expect(try await journal.picture(other) == before.1)
            let left = [space.visited(by: visits[1])] + visits.map { other.visited(by: $0) }
            #expect(try await journal.visits(of: "a") == left)
            // Its recordings go on, and the intent of a deleted receipt runs.
            try await journal.record(turns, of: space, RecordingLimit(turns: 9))
            try await journal.commit(space.batch(.changed(), receipts: [receipts[0]]), to: &space)
            try await journal.reload()
            let last = try await journal.exported(space)
            #expect(last.turns == turns && last.session.receipts.map(\.key) == [keys[2], keys[0]])
        },
        JournalCheck("anonymous visits end like anonymous sessions, those of subjects with their space") { journal in
            var space = try await journal.newLog(Sample.space("board:a"))
            let (late, session) = (Sample.later, try await journal.newLog())
            let old = (0..<1_100).map { Sample.visit("s\($0)") } + [Sample.visit("ada", of: "a")]
            let new = [Sample.visit(session.record.id, at: late)]
            try await journal.commit(space.batch(.made(), visits: old + new, time: late), to: &space)
            var times = PerLifeClass(Sample.start)
            times.anonymous = late
            _ = try await journal.touch([SessionTouch(session: session.key, lastSeen: late, written: [])]).get()
            #expect(try await journal.expire(lastSeenBefore: times, limit: 10).get() == 0)
            // Whose visits are left shows when the sessions sign in.
            for id in ["s0", "s1099"] {
                _ = try await journal.newLog(Sample.session(id: id, subject: Sample.subject("b")))
            }
            try await journal.change(
                CredentialChange(session: session.key, expecting: nil, subject: Sample.subject("c"), kept: [.sample(1)])
            ).get()
            try await journal.reload()
            #expect(try await journal.visits(of: "a") == [space.visited(by: Sample.visit("ada", of: "a"))])
            #expect(try await journal.visits(of: "b") == [])
            #expect(
                try await journal.visits(of: "c") == [
                    space.visited(by: Sample.visit(session.record.id, of: "c", at: late))
                ])
        },
    ]
}

extension Sample {
    fileprivate static func visit(_ session: String, of subject: String? = nil, at time: Duration = start) -> Visit {
        Visit(session: session, subject: subject.map(Sample.subject), lastUse: time)
    }
}

extension Log {
    fileprivate func batch(
        _ stores: StoreChange, labels: [StoredLabel] = [], receipts: [StoredReceipt] = [], visits: [Visit],
        time: Duration = Sample.start
    ) -> JournalBatch {
        var batch = batch(stores, labels: labels, receipts: receipts, time: time)
        batch.rare = RareBatch(visits: visits)
        return batch
    }

    fileprivate func visited(by visit: Visit) -> SpaceVisit {
        guard let space = record.space else { preconditionFailure("the log of a space") }
        return SpaceVisit(space: space, key: key, visit: visit)
    }
}

extension TestedJournal {
    fileprivate func visits(_ query: VisitQuery, limit: Int = 100) async throws -> Result<[SpaceVisit], StoreError> {
        try await start("visits") { $0.visits(query, limit: limit, done: $1) }.value
    }

    fileprivate func sortedVisits(_ query: VisitQuery) async throws -> [SpaceVisit] {
        try await visits(query).get().sorted { ($0.key.number, $0.visit.session) < ($1.key.number, $1.visit.session) }
    }

    fileprivate func visits(of subject: String) async throws -> [SpaceVisit] {
        try await sortedVisits(.subject(Sample.subject(subject)))
    }

    fileprivate func forget(
        _ sessions: [String], _ receipts: some Sequence<ReceiptKey>, _ labels: [LabelID] = [], in space: Log
    ) async throws -> Result<Void, StoreError> {
        try await start("forget") {
            $0.forget(visitsOf: sessions, receipts: Array(receipts), labels: labels, in: space.key, done: $1)
        }.value
    }
}
