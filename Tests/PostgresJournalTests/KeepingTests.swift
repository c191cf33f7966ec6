import Locking
import MVI
import PostgreSQL
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// The contents of the database and their lifetimes.
@Suite struct KeepingTests {
    @Test
    func `a session from before a restore gets a new epoch when it is loaded, and an append is a conflict`()
        async throws
    {
        let schema = try await TestSchema()
        let first = try await schema.journal()
        let (loaded, appended) = (try await first.newSession(), try await first.newSession())
        let (turn, other) = (loaded.turn(), appended.turn())
        #expect(await first.append(turn).isCommitted)
        #expect(await first.append(other).isCommitted)
        let secret = try await secret(of: first)
        await first.close()
        // As after a restore.
        try await schema.run("UPDATE @.meta SET place = 'elsewhere'")
        let second = try await schema.journal()
        #expect(try await self.secret(of: second).key == secret.key)
        #expect(try await self.secret(of: second).generation != secret.generation)
        guard case .found(let session) = try await second.load(loaded) else {
            Issue.record("the session is not found")
            return
        }
        #expect(session.record.epoch != "e" && session.head == turn.head)
        #expect(await second.append(loaded.turn(after: turn.head, state: "2")).isCommitted)

        let next = appended.turn(after: other.head, state: "2")
        #expect(await second.append(next).isConflict)
        let news = try #require(try await second.news(appended, since: other.head))
        #expect(news.record.epoch != "e" && news.head == other.head)
        #expect(await second.append(next).isCommitted)
        // A node may have a session in memory that the database lost: no new one gets its key.
        let fresh = try await second.newSession()
        #expect(fresh.key.number > appended.key.number + 1 << 40)
        // Only once.
        let epoch = try await second.news(appended)?.record.epoch
        await second.close()
        let third = try await schema.journal()
        #expect(try await third.news(appended)?.record.epoch == epoch)
        #expect(try await third.newSession().key.number < fresh.key.number + 1 << 20)
        await third.close()
    }

    @Test func `an expiry looks at sessions of all classes of lifetime in one transaction`() async throws {
        let journal = try await TestSchema().journal()
        let session = try await journal.newSession()
        for count in [1, 0] {
            let before = journal.statistics.transactions
            let later = TestSession.start + .seconds(1)
            let removed = try await awaitResult { done in
                journal.expire(
                    lastSeenBefore: PerLifeClass(later), now: later, tombstoneUntil: later, limit: 100, done: done)
            }.get()
            #expect(removed == count)
            #expect(journal.statistics.transactions == before + 1)
        }
        if case .found = try await journal.load(session) { Issue.record("the session is there") }
        await journal.close()
    }

    @Test func `nobody is signed out while a server uses the journal, and its key is not replaced twice at once`()
        async throws
    {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let session = try await journal.newSession()
        let node = NodeRecord(id: .random(), address: "a:1")
        _ = try await awaitResult { journal.join(node, done: $0) }.get()
        let tool = try schema.tool()
        let error = #expect(throws: StoreError.self) { try tool.signOutAll() }
        #expect(error?.code == .contended && error?.detail.contains("Stop all of them first") == true)
        #expect(try await isNamed(session, in: journal))

        // Beside running servers, which read the secret from time to time.
        let (old, now) = (try await secret(of: journal), Duration.seconds(1_000_000))
        try tool.rotateKey(now: now, tokenLife: .seconds(60))
        let new = try await secret(of: journal)
        #expect(new.formerKeys.map(\.key) == [old.key] && new.since == now + JournalSecret.spread)
        let soon = now + .seconds(1)
        let early = #expect(throws: StoreError.self) { try tool.rotateKey(now: soon, tokenLife: .seconds(60)) }
        #expect(early?.code == .contended && early?.detail.contains("Try again in 120 seconds") == true)
        #expect(try await secret(of: journal) == new)

        // A killed server is not waited for.
        try await schema.run("UPDATE @.nodes SET seen = now() - interval '1 minute'")
        #expect(try tool.signOutAll() == 1)
        #expect(try await !isNamed(session, in: journal))
        await journal.close()
    }

    /// True if the session's token names it.
    private func isNamed(_ session: TestSession, in journal: PostgresJournal) async throws -> Bool {
        if case .found = try await journal.load(session) { true } else { false }
    }

    private func secret(of journal: PostgresJournal) async throws -> JournalSecret {
        try await awaitResult { journal.secret(done: $0) }.get()
    }

    /// Opens a journal for at least one whole round of its maintenance.
    private func maintain(
        _ schema: TestSchema, _ change: @escaping (inout PostgresOptions) -> Void = { _ in }
    ) async throws -> PostgresJournal {
        let journal = try await schema.journal { options in
            (options.probeInterval, options.maintenanceInterval) = (.milliseconds(10), .zero)
            change(&options)
        }
        // A round ends later than it looks at partitions.
        for _ in 0..<2 {
            try await schema.run("INSERT INTO @.writers VALUES (1, 1, now() - interval '8 days')")
            let end = ContinuousClock.now + .seconds(60)
            while try await schema.number("SELECT count(*) FROM @.writers WHERE id = 1") > 0 {
                try #require(ContinuousClock.now < end, "there is no maintenance")
                await Task.yield()
            }
        }
        return journal
    }

    /// Makes a session with a label, and an era in the past that has its rows.
    private func fillEra(_ era: Int64, expiry: Duration, _ schema: TestSchema) async throws -> TestSession {
        let journal = try await schema.journal()
        let session = try await journal.newSession()
        #expect(await journal.append(session.turn(labels: ["a"], expiry: expiry)).isCommitted)
        await journal.close()
        for table in ["labels", "receipts"] {
            try await schema.run("CREATE TABLE @.\(table)_\(era) PARTITION OF @.\(table) FOR VALUES IN (\(era))")
        }
        try await schema.run("INSERT INTO @.eras VALUES (\(era))")
        try await schema.run("UPDATE @.labels SET era = \(era) WHERE session = \(session.key.number)")
        try await schema.run("UPDATE @.heads SET label_era = \(era) WHERE key = \(session.key.number)")
        return session
    }

    @Test func `partitions are made ahead, and dropped when labels' time and receipts' time are surely over`()
        async throws
    {
        let schema = try await TestSchema()
        await (try await schema.journal()).close()
        #expect(try await schema.number("SELECT count(*) FROM @.eras") == 3)
        let today = try await schema.number("SELECT min(era)::bigint FROM @.eras")
        // Two old eras, one with a label that is still to be delivered.
        let old = try await fillEra(today - 10, expiry: .seconds(1), schema)
        let live = try await fillEra(today - 9, expiry: .seconds(1 << 33), schema)
        // It was old by a clock that went back.
        try await schema.run("UPDATE @.eras SET old_since = now() - interval '2 hours' WHERE era = \(today)")
        await (try await maintain(schema)).close()
        // The first look drops nothing.
        #expect(try await schema.number("SELECT count(*) FROM @.eras") == 5)
        #expect(
            try await schema.number("SELECT count(*) FROM @.eras WHERE old_since > now() - interval '30 minutes'") == 2)
        #expect(try await schema.number("SELECT count(*) FROM @.eras WHERE old_since IS NULL AND era >= \(today)") == 3)
        // Nor does a node of an older build.
        try await schema.run("SELECT @.drop_era('receipts', \(today - 10)), @.drop_era('labels', \(today - 10))")
        #expect(try await schema.number("SELECT count(*) FROM @.eras WHERE has_receipts") == 5)

        try await schema.run("UPDATE @.eras SET old_since = old_since - interval '61 minutes'")
        let again = try await maintain(schema)
        #expect(try await schema.number("SELECT count(*) FROM @.eras") == 4)
        #expect(try await schema.number("SELECT min(era)::bigint FROM @.eras") == today - 9)
        #expect(
            try await schema.number(
                "SELECT count(*) FROM pg_class WHERE relnamespace = '@'::regnamespace AND relkind = 'r' AND relname LIKE '%\\_\(today - 10)'"
            ) == 0)
        #expect(try await again.news(live)?.labels.count == 1)
        let news = try #require(try await again.news(old))
        #expect(news.labels.isEmpty && news.lostLabels.hasAny)
        #expect(await again.append(old.turn(after: news.head, state: "2", labels: ["new"])).isCommitted)
        await again.close()
    }

    @Test(arguments: [-61, 61])
    func `no partition is dropped while the database's clock differs from the machine's`(seconds: Int) async throws {
        let schema = try await TestSchema()
        await (try await schema.journal()).close()
        let today = try await schema.number("SELECT min(era)::bigint FROM @.eras")
        _ = try await fillEra(today - 10, expiry: .seconds(1), schema)
        _ = try await fillEra(today - 9, expiry: .seconds(1), schema)
        try await schema.run("UPDATE @.eras SET old_since = now() - interval '2 hours' WHERE era = \(today - 10)")
        await (try await maintain(schema) { $0.systemTime = { Timestamp.system.sinceEpoch + .seconds(seconds) } })
            .close()
        #expect(try await schema.number("SELECT count(*) FROM @.eras WHERE has_receipts") == 5)
        #expect(try await schema.number("SELECT count(*) FROM @.eras WHERE old_since IS NOT NULL") == 1)
    }

    @Test func `a partition that is missing is made when a row needs it`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let session = try await journal.newSession()
        for era in [0, 1, 2] {
            let name = try await schema.number("SELECT (min(era) + \(era))::bigint FROM @.eras")
            try await schema.run("DROP TABLE @.labels_\(name)")
            try await schema.run("DROP TABLE @.receipts_\(name)")
        }
        try await schema.run("DELETE FROM @.eras")
        #expect(await journal.append(session.turn(labels: ["a"])).isCommitted)
        #expect(try await journal.news(session)?.labels.count == 1)
        await journal.close()
    }

    @Test func `many sessions that append at once share transactions`()
        async throws
    {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        var clients: [Client] = []
        for _ in 0..<200 { clients.append(Client(try await journal.newSession())) }
        let before = journal.statistics
        let deadline = ContinuousClock.now + .seconds(60)
        try await withThrowingTaskGroup { group in
            for client in clients {
                group.addTask {
                    var client = client
                    for _ in 0..<20 { try await client.count(in: journal, until: deadline) }
                    try await client.expectAll(in: journal)
                }
            }
            try await group.waitForAll()
        }
        let after = journal.statistics
        #expect(after.appends - before.appends == 4_000)
        #expect(after.transactions - before.transactions < 2_000)
        #expect(after.largestGroup > 20 && after.largestGroup <= 256)
        #expect(after.splits == before.splits)
        await journal.close()
    }

    @Test func `in a group only the append to a missing store is refused`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal { ($0.writers, $0.groupLockTime) = (1, .seconds(4)) }
        var turns: [JournalBatch] = []
        for _ in 0..<3 {
            let session = try await journal.newSession()
            let first = session.turn()
            #expect(await journal.append(first).isCommitted)
            turns.append(session.turn(after: first.head, state: "2"))
        }
        try await schema.run("DELETE FROM @.stores WHERE session = \(turns[1].session.number)")
        // The lane waits for this row while all three appends gather.
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        _ = try holder.run(
            [
                PostgresStatement("BEGIN"),
                PostgresStatement("SELECT FROM \(schema.name).heads WHERE key = \(turns[0].session.number) FOR UPDATE"),
            ], deadline: .now + .seconds(30))
        let results = try await withThrowingTaskGroup(of: (Int, AppendResult).self) { group in
            for (place, turn) in turns.enumerated() { group.addTask { (place, await journal.append(turn)) } }
            let end = ContinuousClock.now + .seconds(30)
            while journal.statistics.queueLength < 3 {
                try #require(ContinuousClock.now < end, "the appends do not wait")
                await Task.yield()
            }
            _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
        #expect(results[0]?.isCommitted == true && results[2]?.isCommitted == true)
        #expect(results[1]?.failure == .invalid)
        #expect(journal.statistics.splits == 0)
        let stored = try await schema.number("SELECT number FROM @.heads WHERE key = \(turns[1].session.number)")
        #expect(stored == 1)
        await journal.close()
    }

    @Test func `sessions beyond the limit are refused once they are counted`() async throws {
        let schema = try await TestSchema()
        let first = try await schema.journal()
        for _ in 0..<3 { _ = try await first.newSession() }
        await first.close()
        let journal = try await schema.journal {
            ($0.sessionLimit, $0.probeInterval, $0.maintenanceInterval) = (4, .milliseconds(10), .zero)
        }
        // The first count is part of the first round of maintenance.
        let end = ContinuousClock.now + .seconds(60)
        var refusal: StoreError?
        var made = 0
        while refusal == nil {
            try #require(ContinuousClock.now < end && made < 10_000, "no session is refused")
            do {
                _ = try await journal.newSession()
                made += 1
            } catch { refusal = error as? StoreError }
        }
        #expect(refusal?.code == .tooManySessions)
        await journal.close()
    }

    @Test func `tombstones beyond the limit are deleted, those that end first`() async throws {
        let schema = try await TestSchema()
        await (try await schema.journal()).close()
        try await schema.run(
            """
            INSERT INTO @.tokens (token, until)
            SELECT sha256(n::text::bytea), \(1 << 60) + n FROM generate_series(1, 25000) AS n
            """)
        let journal = try await schema.journal {
            ($0.sessionLimit, $0.probeInterval, $0.maintenanceInterval) = (12_000, .milliseconds(10), .zero)
        }
        let end = ContinuousClock.now + .seconds(60)
        while try await schema.number("SELECT count(*) FROM @.tokens") > 12_000 {
            try #require(ContinuousClock.now < end, "the tombstones stay")
            await Task.yield()
        }
        await journal.close()
        #expect(try await schema.number("SELECT count(*) FROM @.tokens") == 12_000)
        #expect(try await schema.number("SELECT min(until) FROM @.tokens") == 1 << 60 + 13_001)
    }

    @Test func `a server starts before its maintenance ends`() async throws {
        let schema = try await TestSchema()
        await (try await schema.journal()).close()
        try await schema.run("INSERT INTO @.tokens (token, until) SELECT sha256('a'), 1 UNION SELECT sha256('b'), 2")
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        try holder.script("BEGIN; LOCK TABLE \(schema.name).tokens IN SHARE MODE", deadline: .now + .seconds(30))
        let log = LogKeeper()
        let journal = try await schema.journal(logger: log.logger) { options in
            (options.sessionLimit, options.transactionTime) = (1, .seconds(20))
        }
        // The deletion of tombstones waits.
        #expect(try await schema.number("SELECT count(*) FROM @.tokens") == 2)
        #expect(!log.messages.contains { $0.contains("was deferred") }, "\(log.lines)")
        try holder.script("ROLLBACK", deadline: .now + .seconds(30))
        await journal.close()
    }

    @Test func `an expiry that waits for the database delays no session`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { options in
            (options.writers, options.groupLockTime, options.lockTime) = (1, .seconds(30), .seconds(60))
        }
        let session = try await journal.newSession()
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        // Nothing but an expiry reads this table now.
        let hold = "LOCK TABLE \(schema.name).reminders IN ACCESS EXCLUSIVE MODE"
        _ = try holder.run([PostgresStatement("BEGIN"), PostgresStatement(hold)], deadline: .now + .seconds(30))
        async let expired = awaitResult {
            journal.expire(
                lastSeenBefore: PerLifeClass(.zero), now: .zero, tombstoneUntil: .zero, limit: 1, done: $0)
        }
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '@.reminders'::regclass"
        let end = ContinuousClock.now + .seconds(60)
        while try await schema.number(waits) == 0 {
            try #require(ContinuousClock.now < end, "the expiry does not wait")
            await Task.yield()
        }
        #expect(await journal.append(session.turn()).isCommitted)
        _ = try await journal.newSession()
        #expect(try await schema.number(waits) == 1)
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        #expect(try await expired.get() == 0)
        await journal.close()
    }

    @Test(arguments: [
        ("53100", StoreError.Code.full), ("22001", .invalid), ("57P01", .unavailable), ("25006", .unavailable),
        ("3F000", .unavailable),
    ])
    func `a database error has the code of the client's answer`(state: String, code: StoreError.Code) {
        let error = PostgresError(state: state, message: "m", extent: .transaction)
        #expect(StoreError(error, at: "place").code == code)
        #expect(error.isOfDatabase == (code != .invalid))
    }

    @Test func `tools list and export what is kept`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        var sessions: [TestSession] = []
        for _ in 0..<5 { sessions.append(try await journal.newSession()) }
        #expect(await journal.append(sessions[2].turn(labels: ["a"])).isCommitted)
        let database = try #require(PostgresJournalDatabase(database: schema.cluster.url(), schema: schema.name))
        let first = try database.sessions(limit: 2)
        let rest = try database.sessions(after: first.last?.key, limit: 10)
        #expect((first + rest).map(\.id) == sessions.map(\.record.id))
        #expect(rest[0].stores == 1 && rest[0].bytes == 3)
        let export = try #require(try database.export(sessions[2].record.id))
        #expect(export.stores.count == 1 && export.session.labels.count == 1)
        #expect(try database.export("nobody") == nil)
        await journal.close()
    }
}
