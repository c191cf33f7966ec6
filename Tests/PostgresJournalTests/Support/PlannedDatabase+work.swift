import Locking
import MVI
import PostgreSQL
import SessionJournal
import Testing

@testable import PostgresJournal

extension PlannedDatabase {
    /// Does everything that a journal can do.
    func work() async throws {
        let journal = try await schema.journal { options in
            (options.probeInterval, options.maintenanceInterval) = (.milliseconds(10), .zero)
            // Fewer than there are tombstones, and more than there are sessions.
            options.sessionLimit = 3_000
            // With the key of the database.
            options.forgottenList = ForgottenList("\(schema.cluster.folder)/forgotten-\(schema.name)")
        }
        try await schema.run(
            "INSERT INTO @.tokens (token, until) SELECT sha256(('u' || n)::bytea), 1 FROM generate_series(1, 200) AS n")
        try await append(journal)
        try await read(journal)
        try await share(journal)
        try await end(journal)
        // A round of maintenance that began after all this.
        for _ in 0..<2 {
            try await schema.run("INSERT INTO @.writers VALUES (1, 1, now() - interval '8 days')")
            let deadline = ContinuousClock.now + .seconds(120)
            while try await schema.number("SELECT count(*) FROM @.writers WHERE id = 1") > 0 {
                try #require(ContinuousClock.now < deadline, "there is no maintenance")
                await Task.yield()
            }
        }
        await journal.close()
    }

    private func append(_ journal: PostgresJournal) async throws {
        let session = try await journal.newSession()
        let marker = Array("m".utf8)
        var first = session.turn(labels: ["a", "b"])
        let receipt = StoredReceipt(
            key: .key("k", feature: TestSession.counter), number: 1, bodyHash: [1], intent: "i",
            outcome: .ran(version: 1), made: TestSession.start)
        first.receipts = [receipt]
        first.reminders = [
            .set(StoredReminder(feature: TestSession.counter, id: "m", due: .seconds(1), number: 1, action: marker))
        ]
        let caller = ExpectedCaller(token: session.record.tokenHash, session: session.key, access: 0)
        first.rare = RareBatch(expectedCallers: [caller], heard: [HeardMessage(sender: Array(0..<16), number: 1)])
        #expect(await journal.append(first).isCommitted)
        let recording = RecordedTurn(number: 1, feature: TestSession.counter, time: .zero, recording: marker)
        try await journal.record([recording], of: session.key, keeping: 9)
        #expect(await journal.append(first).isUnknown == false)
        var second = session.turn(after: first.head, state: "2")
        second.stores[0].setsAside = "reason"
        (second.forgottenReceipts, second.forgottenLabels) = ([receipt.key], [LabelID(number: 1, index: 1)])
        let node = NodeID.random()
        second.ownerChange = .owned(SessionOwner(node: node, fence: second.head), working: [TestSession.counter])
        second.rare = RareBatch(heard: [HeardMessage(sender: Array(0..<16), number: 2)])
        #expect(await journal.append(second).isCommitted)
        var third = session.turn(after: second.head, state: "3")
        third.expectedOwner = SessionOwner(node: node, fence: second.head)
        third.stores = [StoreChange(feature: TestSession.counter, kind: .disposed, number: 3, version: 3, made: 1)]
        third.ownerChange = .released
        third.rare = RareBatch(
            expectedCallers: [caller], visits: [Visit(session: session.record.id, lastUse: TestSession.start)])
        #expect(await journal.append(third).isCommitted)
        // Checked on its own: it changes a store that is gone.
        #expect(await journal.append(session.turn(after: third.head, state: "4")).failure == .invalid)
        let touch = SessionTouch(
            session: session.key, lastSeen: TestSession.start + .seconds(1), written: [LabelID(number: 1, index: 0)],
            credentials: [(session.record.tokenHash, .seconds(1))], stores: [(TestSession.counter, .seconds(1))],
            reminders: [
                StoredReminder(feature: TestSession.counter, id: "m", due: .seconds(1), number: 1, action: marker)
            ])
        try await awaitResult { journal.touch([touch], done: $0) }.get()
    }

    private func read(_ journal: PostgresJournal) async throws {
        let session = try await journal.newSession()
        let subject = Subject(issuer: "issuer", id: "s5")
        _ = try await journal.load(session)
        _ = try await journal.news(session)
        let token = session.record.tokenHash
        _ = try await awaitResult {
            journal.loadStores([TestSession.counter], of: session.key, named: token, done: $0)
        }.get()
        let space = TestSession.space("board:7")
        for query in [
            SessionQuery.id("5"), .subject(subject), .shared(subject), .space(try #require(space.space)),
            .spaces(group: "board", after: space.space),
        ] {
            _ = try await awaitResult { journal.find(query, limit: 10, done: $0) }.get()
        }
        for query in [VisitQuery.subject(subject), .forgotten] {
            _ = try await awaitResult { journal.visits(query, limit: 10, done: $0) }.get()
        }
        for of in [nil, subject] {
            _ = try await awaitResult { journal.list(of: of, before: SessionKey(1_000), limit: 10, done: $0) }.get()
        }
        for ofSubjects in [true, false] {
            _ = try await awaitResult {
                journal.findStores(
                    [StoreQuery(TestSession.counter)], ofSubjects: ofSubjects, after: SessionKey(10), limit: 100,
                    done: $0)
            }.get()
        }
        _ = try await awaitResult { journal.alarms(after: nil, limit: 10, done: $0) }.get()
        _ = try await awaitResult { journal.export("5", done: $0) }.get()
        _ = try await awaitResult { journal.secret(done: $0) }.get()
        let tool = try schema.tool()
        _ = try tool.sessions(after: SessionKey(100), limit: 10)
    }

    private func share(_ journal: PostgresJournal) async throws {
        let session = try await journal.newSession()
        let node = NodeRecord(id: .random(), address: "a:1")
        _ = try await awaitResult { journal.join(node, done: $0) }.get()
        _ = try await awaitResult { journal.renew(node, done: $0) }.get()
        _ = try await awaitResult { journal.orphans(limit: 10, done: $0) }.get()
        for count in [1, 0] {
            _ = try await awaitResult {
                journal.noteStreams(count, of: session.key, on: node.id, limit: 2, done: $0)
            }.get()
        }
        _ = try await awaitResult { journal.marks(of: [session.key], done: $0) }.get()
        _ = try await awaitResult { journal.areKnown([session.record.tokenHash], done: $0) }.get()
        _ = try await awaitResult {
            journal.claimAlarms(
                dueAt: .nanoseconds(1 << 60 + 3), by: node.id, for: .seconds(60), limit: 10, done: $0)
        }.get()
        _ = try await awaitResult { journal.forget(node.id, renewals: nil, done: $0) }.get()
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "test"))
        let connection = try PostgresConnection(target, deadline: .now + .seconds(30))
        // Statements for rows that others hold.
        let sql = Statements(schema: schema.name)
        _ = try connection.run(
            [PostgresStatement("BEGIN"), PostgresStatement(sql.plans)]
                + [sql.lockFreeHeads, sql.presentHeads].map { PostgresStatement($0, [.int8s([1])]) },
            deadline: .now + .seconds(30))
    }

    private func end(_ journal: PostgresJournal) async throws {
        let session = try await journal.newSession()
        let subject = Subject(issuer: "issuer", id: "ada")
        let credential = StoredCredential(
            token: TokenHash((0..<32).map { _ in .random(in: 0...255) }), kind: .bearer, number: 1, principal: [],
            made: TestSession.start)
        let change = CredentialChange(
            session: session.key, expecting: nil, subject: subject, kept: [credential],
            reminders: [StoredReminder(feature: TestSession.counter, id: "m", due: .seconds(1), number: 1, action: [])])
        try await awaitResult { journal.change(change, done: $0) }.get()
        var set = CredentialChange(session: session.key, expecting: subject, subject: subject)
        set.settings = .init(token: credential.token, value: ClientSettings(locale: "de", timeZone: nil))
        try await awaitResult { journal.change(set, done: $0) }.get()
        let signedOut = CredentialChange(
            session: session.key, expecting: subject, subject: subject, removed: [credential.token])
        try await awaitResult { journal.change(signedOut, done: $0) }.get()
        var signedIn = TestSession.record()
        (signedIn.subject, signedIn.isShared) = (subject, true)
        _ = try await awaitResult { journal.create(signedIn, credential: nil, done: $0) }.get()
        let space = try await awaitResult { journal.create(TestSession.space("floor"), credential: nil, done: $0) }
            .get()
        try await awaitResult {
            journal.forget(
                visitsOf: ["1"], receipts: [.key("k", feature: TestSession.counter)],
                labels: [LabelID(number: 1, index: 0)], in: space, done: $0)
        }.get()
        try await awaitResult { journal.remove(space, tombstoneUntil: .zero, done: $0) }.get()
        let old = TestSession.start + .seconds(2_000)
        _ = try await awaitResult {
            journal.reclaim(lastSeenBefore: old, usedFor: .seconds(300), tombstoneUntil: .zero, limit: 70, done: $0)
        }.get()
        _ = try await awaitResult {
            journal.expire(
                lastSeenBefore: PerLifeClass(old), now: .seconds(2_000_000), tombstoneUntil: .zero, limit: 70, done: $0)
        }.get()
        try await awaitResult { journal.bury(credential.token, until: .zero, done: $0) }.get()
        let removed = try await journal.newSession()
        #expect(await journal.append(removed.turn(labels: ["a"])).isCommitted)
        try await awaitResult { journal.remove(removed.key, tombstoneUntil: .zero, done: $0) }.get()
        try await schema.run("INSERT INTO @.removed VALUES (7)")
        try await awaitResult { journal.purge(subject, now: .zero, tombstoneUntil: .zero, done: $0) }.get()
    }
}
