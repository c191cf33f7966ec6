import Locking
import MVI
import PostgreSQL
import SessionJournal
import Testing

@testable import PostgresJournal

/// The relations of a cluster's nodes in the database.
@Suite struct NodeTests {
    @Test func `a session that is removed leaves no row behind but its tombstones`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let session = try await journal.newSession()
        let node = NodeRecord(id: .random(), address: "a")
        _ = try await awaitResult { journal.join(node, done: $0) }.get()
        var turn = session.turn()
        turn.ownerChange = .owned(SessionOwner(node: node.id, fence: turn.head), working: [TestSession.counter])
        turn.reminders = [
            .set(StoredReminder(feature: TestSession.counter, id: "a", due: .seconds(5), number: 1, action: []))
        ]
        #expect(await journal.append(turn).isCommitted)
        #expect(
            try await awaitResult { journal.noteStreams(2, of: session.key, on: node.id, limit: 2, done: $0) }.get())
        #expect(try await schema.number("SELECT count(*) FROM @.streams") == 1)
        try await awaitResult { journal.remove(session.key, tombstoneUntil: .seconds(9), done: $0) }.get()
        for table in ["sessions", "heads", "stores", "reminders", "streams"] {
            #expect(try await schema.number("SELECT count(*) FROM @.\(table)") == 0, "\(table)")
        }
        // Nothing is noted for a node that is gone.
        #expect(
            try await awaitResult { journal.noteStreams(2, of: session.key, on: node.id, limit: 2, done: $0) }.get())
        #expect(try await schema.number("SELECT count(*) FROM @.streams") == 0)
        await journal.close()
    }

    @Test func `sessions that expire are heard of by other servers`() async throws {
        let schema = try await TestSchema()
        let (one, other) = (try await schema.journal(), try await schema.journal())
        let news = NewsKeeper(other)
        await news.hearInterruption()
        let session = try await one.newSession()
        let count = try await awaitResult {
            one.expire(
                lastSeenBefore: PerLifeClass(TestSession.start + .seconds(1)), now: TestSession.start,
                tombstoneUntil: .seconds(1 << 33),
                limit: 10, done: $0)
        }.get()
        #expect(count == 1)
        await news.hear { if case .changed(let sessions) = $0 { sessions == [session.key] } else { false } }
        await one.close()
        await other.close()
    }

    @Test func `a database that is replaced behind an open connection is noticed by the next transaction`()
        async throws
    {
        let schema = try await TestSchema()
        let journal = try await schema.journal { ($0.writers, $0.readers) = (1, 1) }
        let turn = try await journal.newSession().turn()
        #expect(await journal.append(turn).isCommitted)
        let session = TestSession(key: turn.session, record: TestSession.record())
        let before = try #require(try await journal.news(session))
        let node = NodeRecord(id: .random(), address: "a")
        _ = try await awaitResult { journal.join(node, done: $0) }.get()
        let secret = try await awaitResult { journal.secret(done: $0) }.get()
        try await schema.run("UPDATE @.meta SET place = 'restored'")
        let mark = try await awaitResult { journal.marks(of: [turn.session], done: $0) }.get()[turn.session]
        #expect(mark?.epoch == "" && mark?.head == turn.head)
        let after = try #require(try await journal.news(session))
        #expect(after.record.epoch != before.record.epoch && after.head == before.head)
        #expect(try await awaitResult { journal.renew(node, done: $0) }.get() == nil)
        // The epoch derives from the secret's generation, which has changed.
        let old = TestSession.record()
        let refused = await awaitResult { journal.create(old, credential: nil, of: secret.generation, done: $0) }
        #expect(throws: StoreError.self) { try refused.get() }
        let present = try await awaitResult { journal.secret(done: $0) }.get()
        #expect(present.generation != secret.generation)
        _ = try await awaitResult { journal.create(old, credential: nil, of: present.generation, done: $0) }.get()
        await journal.close()
    }

    @Test func `a failover that the operator declares lossless keeps epochs, and a restore does not`()
        async throws
    {
        let schema = try await TestSchema()
        let journal = try await schema.journal { $0.failoverLosesNothing = true }
        let turn = try await journal.newSession().turn()
        #expect(await journal.append(turn).isCommitted)
        let session = TestSession(key: turn.session, record: TestSession.record())
        let before = try #require(try await journal.news(session)).record.epoch
        try await schema.run("UPDATE @.meta SET place = regexp_replace(place, '/[^/]*/', '/00000000/')")
        #expect(try await journal.news(session)?.record.epoch == before)
        #expect(try await schema.number("SELECT past::bigint FROM @.meta") == 0)
        try await schema.run("UPDATE @.meta SET place = regexp_replace(place, '^[^/]*', '1')")
        #expect(try await journal.news(session)?.record.epoch != before)
        #expect(try await schema.number("SELECT past::bigint FROM @.meta") == 1)
        await journal.close()
    }

    @Test func `a failover counts as lossless only if each node's operator declares it`() async throws {
        for isAll in [true, false] {
            let schema = try await TestSchema()
            let here = try await schema.journal { $0.failoverLosesNothing = true }
            let there = try await schema.journal { $0.failoverLosesNothing = isAll }
            for (journal, address) in [(here, "a"), (there, "b")] {
                _ = try await awaitResult { journal.join(NodeRecord(id: .random(), address: address), done: $0) }.get()
            }
            let session = try await here.newSession()
            try await schema.run("UPDATE @.meta SET place = regexp_replace(place, '/[^/]*/', '/00000000/')")
            _ = try await here.news(session)
            #expect(try await schema.number("SELECT past::bigint FROM @.meta") == (isAll ? 0 : 1))
            await here.close()
            await there.close()
        }
    }

    @Test func `renewals and streams do not wait while a session's row is held`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal { $0.writers = 1 }
        let held = try await journal.newSession()
        let node = NodeRecord(id: .random(), address: "a")
        _ = try await awaitResult { journal.join(node, done: $0) }.get()
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        let statements = [
            PostgresStatement("BEGIN"),
            PostgresStatement("SELECT FROM \(schema.name).heads WHERE key = $1 FOR UPDATE", [.int8(held.key.number)]),
        ]
        _ = try holder.run(statements, deadline: .now + .seconds(30))
        // It waits until the row is free, or for the journal's four seconds.
        async let appended = journal.append(held.turn())
        let start = ContinuousClock.now
        #expect(try await awaitResult { journal.renew(node, done: $0) }.get()?.nodes.count == 1)
        #expect(try await awaitResult { journal.noteStreams(1, of: held.key, on: node.id, limit: 1, done: $0) }.get())
        #expect(ContinuousClock.now - start < .seconds(3))
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        #expect(await appended.isCommitted)
        await journal.close()
    }

    @Test func `orphans are found by the index, however many sessions have living owners`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let nodes = (0..<3).map { NodeRecord(id: .random(), address: "\($0)") }
        for node in nodes.dropFirst() { _ = try await awaitResult { journal.join(node, done: $0) }.get() }
        var orphans: Set<SessionKey> = []
        for index in 0..<60 {
            let session = try await journal.newSession()
            var turn = session.turn()
            let node = nodes[index % 3]
            turn.ownerChange = .owned(SessionOwner(node: node.id, fence: turn.head), working: [])
            #expect(await journal.append(turn).isCommitted)
            if index % 3 == 0 { orphans.insert(session.key) }
        }
        let found = try await awaitResult { journal.orphans(limit: 100, done: $0) }.get()
        #expect(Set(found.map(\.session)) == orphans)
        await journal.close()
    }
}
