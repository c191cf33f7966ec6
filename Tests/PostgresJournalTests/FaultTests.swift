import Locking
import MVI
import PostgreSQL
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// Faults of a database and their effect on clients. Tests that stop a server have their own.
@Suite(.serialized) struct FaultTests {
    /// Lets clients count during an action. Returns them when all have reached a minimum.
    private func count(
        _ journal: PostgresJournal, clients: Int, turns: Int, meanwhile: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> [Client] {
        let deadline = ContinuousClock.now + .seconds(120)
        let done = Lock(0)
        return try await withThrowingTaskGroup(of: Client?.self) { group in
            for _ in 0..<clients {
                let session = try await journal.newSession()
                group.addTask {
                    var client = Client(session)
                    for _ in 0..<turns {
                        try await client.count(in: journal, until: deadline)
                        done.withLock { $0 += 1 }
                    }
                    return client
                }
            }
            group.addTask {
                // At several moments of the sequence.
                for step in 1...8 {
                    while done.withLock({ $0 }) < clients * turns * step / 10 {
                        try #require(ContinuousClock.now < deadline, "the clients do not go on")
                        await Task.yield()
                    }
                    try await meanwhile(step)
                }
                return nil
            }
            var counted: [Client] = []
            for try await client in group { if let client { counted.append(client) } }
            return counted
        }
    }

    @Test func `no acknowledged append is lost or doubled while connections are killed`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal()
        let clients = try await count(journal, clients: 24, turns: 60) { _ in
            try await schema.cluster.run(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE pid <> pg_backend_pid() AND application_name = 'mvi-server'
                """)
        }
        #expect(clients.map(\.kept) == Array(repeating: 60, count: 24))
        for client in clients { try await client.expectAll(in: journal) }
        #expect(journal.statistics.connections > 4, "no connection was killed")
        #expect(journal.figures.connectionsLost > 0)
        await journal.close()
        let again = try await schema.journal()
        for client in clients { try await client.expectAll(in: again) }
        await again.close()
    }

    @Test func `a transaction of a lane's last connection that does not end is ended by the next one`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { $0.lockTime = .seconds(600) }
        let session = try await journal.newSession()
        let turn = session.turn()
        #expect(await journal.append(turn).isCommitted)
        // Like half a pipeline whose rest never comes: it holds the writers' rows and is silent.
        let silent = try #require(ConnectionTarget(schema.cluster.url(user: "mvi"), applicationName: "silent"))
        let connection = try PostgresConnection(silent, deadline: .now + .seconds(30))
        _ = try connection.run(
            [
                PostgresStatement("BEGIN"),
                PostgresStatement("SELECT FROM \(schema.name).writers FOR SHARE"),
                PostgresStatement("SELECT FROM \(schema.name).heads FOR UPDATE"),
            ], deadline: .now + .seconds(30))
        try await schema.cluster.run(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND application_name = 'mvi-server'
            """)
        var client = Client(session, after: turn.head, kept: 1)
        try await client.count(in: journal, until: .now + .seconds(60))
        #expect(client.kept == 2)
        #expect(throws: (any Error).self) {
            try connection.run([PostgresStatement("SELECT 1")], deadline: .now + .seconds(30))
        }
        await journal.close()
    }

    @Test func `a write that waits for a row waits alone, and is kept when the row is free`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal { ($0.writers, $0.lockTime) = (1, .seconds(600)) }
        let (held, free) = (try await journal.newSession(), try await journal.newSession())
        let target = try #require(ConnectionTarget(schema.cluster.url(user: "mvi"), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        _ = try holder.run(
            [
                PostgresStatement("BEGIN"),
                PostgresStatement(
                    "SELECT FROM \(schema.name).heads WHERE key = $1 FOR UPDATE", [.int8(held.key.number)]),
            ], deadline: .now + .seconds(30))
        async let waiting = journal.append(held.turn())
        async let change = awaitResult {
            journal.change(
                CredentialChange(session: held.key, expecting: nil, subject: nil), done: $0)
        }
        var head = SessionHead.empty
        for count in 0..<50 {
            let turn = free.turn(after: head, state: "\(count)")
            #expect(await journal.append(turn).isCommitted)
            head = turn.head
        }
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        #expect(await waiting.isCommitted)
        #expect((try? await change.get()) != nil)
        await journal.close()
    }

    @Test func `a row that stays locked is reported, and nothing of the write is kept`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal { $0.lockTime = .milliseconds(300) }
        let held = try await journal.newSession()
        let target = try #require(ConnectionTarget(schema.cluster.url(user: "mvi"), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        _ = try holder.run(
            [PostgresStatement("BEGIN"), PostgresStatement("SELECT FROM \(schema.name).heads FOR UPDATE")],
            deadline: .now + .seconds(30))
        let result = await journal.append(held.turn())
        #expect(result.failure == .unavailable)
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        #expect(try await journal.news(held)?.head == .empty)
        #expect(await journal.append(held.turn()).isCommitted)
        await journal.close()
    }

    @Test func `writes that wait while a database is replaced can be retried, and are not at fault`()
        async throws
    {
        let schema = try await TestSchema()
        let journal = try await schema.journal {
            $0.writers = 1
            // A probe of an idle lane would notice the change before the append.
            $0.probeInterval = .seconds(3600)
        }
        let session = try await journal.newSession()
        let turn = session.turn()
        #expect(await journal.append(turn).isCommitted)
        // The lane that sends the append's news connects after it, and would notice the change before the append.
        let deadline = ContinuousClock.now + .seconds(60)
        while try await schema.number("SELECT count(*) FROM @.writers") < 2 {
            try #require(ContinuousClock.now < deadline, "the lane for news does not connect")
            await Task.yield()
        }
        try await schema.run("UPDATE @.meta SET place = 'restored'")
        let next = session.turn(after: turn.head)
        let result = await journal.append(next)
        #expect(result.failure == .unavailable, "\(result)")
        #expect(try await journal.news(session)?.head == turn.head)
        #expect(await journal.append(next).isCommitted)
        await journal.close()
    }

    @Test func `a read without an answer reports that, even if its session is in doubt`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { $0.writers = 1 }
        let session = try await journal.newSession()
        // No standby has this name: commits wait forever, once all processes know of it.
        try await schema.cluster.run("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        try await schema.cluster.run("SELECT pg_reload_conf()")
        let deadline = ContinuousClock.now + .seconds(60)
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'"
        var (head, result) = (SessionHead.empty, AppendResult.committed)
        while result.isCommitted {
            let batch = session.turn(after: head)
            let ended = Lock(false)
            async let appended = {
                let result = await journal.append(batch)
                ended.withLock { $0 = true }
                return result
            }()
            while try await schema.number(waiting) == 0, !ended.withLock({ $0 }) {
                try #require(ContinuousClock.now < deadline, "no commit waits for the standby")
                await Task.yield()
            }
            if !ended.withLock({ $0 }) { try await schema.cluster.stop() }
            (head, result) = (batch.head, await appended)
        }
        #expect(result.isUnknown)
        // For reads of sessions, a journal that responds differs from one that is gone.
        let marks = await awaitResult { journal.marks(of: [session.key], done: $0) }
        #expect(throws: StoreError.self) { try marks.get() }
        if case .failure(let error) = marks { #expect(error.code == .unavailable) }
        await journal.close()
    }

    @Test func `no acknowledged append is lost or doubled while the server crashes and starts again`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal()
        let clients = try await count(journal, clients: 16, turns: 40) { step in
            guard step % 4 == 0 else { return }
            try await schema.cluster.stop()
            try await journal.waitForTrouble(true)
            try await schema.cluster.start()
            try await journal.waitForTrouble(false)
        }
        #expect(clients.map(\.kept) == Array(repeating: 40, count: 16))
        for client in clients { try await client.expectAll(in: journal) }
        await journal.close()
    }

    @Test func `a server that is gone is trouble: appends fail, reads fail, and it ends by itself`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let log = LogKeeper()
        let journal = try await schema.journal(logger: log.logger)
        let session = try await journal.newSession()
        let turn = session.turn()
        #expect(await journal.append(turn).isCommitted)
        try await schema.cluster.stop("fast")
        let next = session.turn(after: turn.head, state: "2")
        // The connection is checked before anything is sent: nothing of the append can have arrived.
        #expect(await journal.append(next).failure == .unavailable)
        try await journal.waitForTrouble(true)
        #expect(journal.trouble?.code == .unavailable)
        await #expect(throws: StoreError.self) { try await journal.news(session) }
        try await schema.cluster.start()
        try await journal.waitForTrouble(false)
        #expect(await journal.append(next).isCommitted)
        #expect(log.lines.contains { $0.contains("The journal works again") || $0.contains("database works again") })
        await journal.close()
    }

    @Test func `a journal is opened while its server is down, and works when that is there`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        try await schema.cluster.stop("fast")
        let journal = try await schema.journal()
        #expect(journal.trouble?.code == .unavailable)
        await #expect(throws: StoreError.self) { try await journal.newSession() }
        try await schema.cluster.start()
        try await journal.waitForTrouble(false)
        #expect(await journal.append(try await journal.newSession().turn()).isCommitted)
        await journal.close()
    }

    @Test func `a read-only database keeps its states readable, and trouble ends when it is writable`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { $0.probeInterval = .milliseconds(20) }
        let session = try await journal.newSession()
        let turn = session.turn()
        #expect(await journal.append(turn).isCommitted)
        func setReadOnly(_ text: String) async throws {
            try await schema.cluster.run("ALTER SYSTEM SET default_transaction_read_only = \(text)")
            try await schema.cluster.run("SELECT pg_reload_conf()")
        }
        try await setReadOnly("on")
        // Without a request: readiness must not wait for one.
        try await journal.waitForTrouble(true)
        #expect(await journal.append(session.turn(after: turn.head, state: "2")).failure == .unavailable)
        #expect(journal.trouble?.detail.contains("is not writable") == true)
        #expect(try await journal.news(session)?.head == turn.head)
        try await setReadOnly("off")
        try await journal.waitForTrouble(false)
        #expect(await journal.append(session.turn(after: turn.head, state: "2")).isCommitted)
        await journal.close()
    }

    @Test func `a user that may not ask for the cluster's identifier is told what to grant`() async throws {
        let cluster = try await Cluster.make()
        try await cluster.run("CREATE USER app")
        try await cluster.run("GRANT CREATE ON DATABASE postgres TO app")
        try await cluster.run("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        let schema = try await TestSchema(in: cluster)
        let journal = try await schema.journal(user: "app")
        let grant = "GRANT EXECUTE ON FUNCTION pg_control_system() TO \"app\""
        #expect(journal.trouble?.detail.contains(grant) == true)
        try await cluster.run(grant)
        try await journal.waitForTrouble(false)
        #expect(await journal.append(try await journal.newSession().turn()).isCommitted)
        await journal.close()
    }

    @Test func `too many connections are trouble until one is free`() async throws {
        let cluster = try await Cluster.make(settings: "max_connections = 8\nsuperuser_reserved_connections = 2\n")
        try await cluster.run("CREATE USER app")
        try await cluster.run("GRANT CREATE ON DATABASE postgres TO app")
        let schema = try await TestSchema(in: cluster)
        let first = try await schema.journal(user: "app") { ($0.writers, $0.readers) = (5, 1) }
        // Its readers connect on demand; five of six connections are taken.
        #expect(first.trouble == nil)
        let second = try await schema.journal(user: "app") { ($0.writers, $0.readers) = (2, 1) }
        #expect(second.trouble?.code == .unavailable)
        await first.close()
        try await second.waitForTrouble(false)
        #expect(await second.append(try await second.newSession().turn()).isCommitted)
        await second.close()
    }

    @Test func `the age of the oldest transaction is known`() async throws {
        let schema = try await TestSchema()
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        let begin = [PostgresStatement("BEGIN"), PostgresStatement("SELECT pg_current_xact_id()")]
        _ = try holder.run(begin, deadline: .now + .seconds(30))
        let journal = try await schema.journal()
        while journal.figures.oldestTransaction == nil { _ = try await journal.newSession() }
        #expect(try #require(journal.figures.oldestTransaction) > .zero)
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        await journal.close()
    }

    @Test func `a row that another transaction holds fails one append in bounded time, and no other`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal {
            $0.lockTime = .milliseconds(50)
            $0.writers = 1
        }
        let (held, free) = (try await journal.newSession(), try await journal.newSession())
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        let statements = [
            PostgresStatement("BEGIN"),
            PostgresStatement("SELECT FROM \(schema.name).heads WHERE key = $1 FOR UPDATE", [.int8(held.key.number)]),
        ]
        _ = try holder.run(statements, deadline: .now + .seconds(30))
        async let heldResult = journal.append(held.turn())
        async let freeResult = journal.append(free.turn())
        #expect(await heldResult.failure == .unavailable)
        #expect(await freeResult.isCommitted)
        #expect(journal.trouble == nil)
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        #expect(await journal.append(held.turn()).isCommitted)
        await journal.close()
    }

    @Test
    func
        `a commit whose wait for the standby was cancelled is unknown, and not shown before a commit that was waited for`()
        async throws
    {
        let schema = try await TestSchema(in: Cluster.make())
        let journal = try await schema.journal { $0.writers = 1 }
        let session = try await journal.newSession()
        let turn = session.turn()
        #expect(await journal.append(turn).isCommitted)
        func setStandby(_ name: String) async throws {
            try await schema.cluster.run("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
            try await schema.cluster.run("SELECT pg_reload_conf()")
        }
        // No standby has this name: commits wait forever.
        try await setStandby("absent")
        let deadline = ContinuousClock.now + .seconds(60)
        // The setting takes a moment to reach all processes.
        var head = turn.head
        var batch = turn
        var result = AppendResult.committed
        while result.isCommitted {
            try #require(ContinuousClock.now < deadline, "no commit waits for the standby")
            (batch, head) = (session.turn(after: batch.head, state: "2"), batch.head)
            let next = batch
            let ended = Lock(false)
            async let appended = {
                let result = await journal.append(next)
                ended.withLock { $0 = true }
                return result
            }()
            // Other commits of the journal wait too, so one cancellation may not be the append's.
            while !ended.withLock({ $0 }) {
                try #require(ContinuousClock.now < deadline, "no commit waits for the standby")
                try await schema.cluster.run(
                    "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            }
            result = await appended
        }
        #expect(result.isUnknown)
        // The row is visible to all, but only on this server.
        #expect(
            try await schema.number("SELECT number FROM @.heads WHERE key = \(session.key.number)")
                == Int64(batch.head.number))
        await #expect(throws: StoreError.self) { try await journal.news(session, since: head) }
        try await setStandby("")
        var news: StoredSession?
        while news == nil {
            try #require(ContinuousClock.now < deadline, "the session stays in doubt")
            news = try? await journal.news(session, since: head)
        }
        #expect(news?.head == batch.head)
        #expect(await journal.append(session.turn(after: batch.head, state: "3")).isCommitted)
        await journal.close()
    }
}
