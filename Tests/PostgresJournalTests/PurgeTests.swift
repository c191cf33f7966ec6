import Foundation
import Locking
import MVI
import PostgreSQL
import SessionJournal
import Testing

@testable import PostgresJournal

/// The complete deletion of a subject's data.
@Suite struct PurgeTests {
    private static let marker = "a-secret-of-ada"

    private func fill(_ journal: PostgresJournal, _ subject: Subject) async throws -> TestSession {
        let marker = Self.marker
        var record = TestSession.record()
        record.subject = subject
        let credential = StoredCredential(
            token: TokenHash((0..<32).map { _ in .random(in: 0...255) }), kind: .bearer, number: 1,
            principal: Array(marker.utf8), made: TestSession.start)
        let key = try await awaitResult { journal.create(record, credential: credential, done: $0) }.get()
        let session = TestSession(key: key, record: record)
        var head = SessionHead.empty
        for number in 0..<3 {
            var turn = session.turn(after: head, state: #""\#(marker)""#, labels: [marker])
            if number == 1 { turn.stores[0].setsAside = marker }
            turn.reminders = [
                .set(
                    StoredReminder(
                        feature: TestSession.counter, id: marker, due: .seconds(3_000_000), number: 1,
                        action: Array(marker.utf8)))
            ]
            turn.receipts = [
                StoredReceipt(
                    key: .key("\(marker) \(number)", feature: TestSession.counter), number: turn.head.number,
                    bodyHash: [1], intent: marker, outcome: .ran(version: 1), made: TestSession.start)
            ]
            try #require(await journal.append(turn).isCommitted)
            let recording = RecordedTurn(
                number: turn.head.number, feature: TestSession.counter, time: .zero, recording: Array(marker.utf8))
            try await journal.record([recording], of: key, keeping: 9)
            head = turn.head
        }
        return session
    }

    /// The number of rows that contain the marker, in each table that has some.
    private func found(_ schema: TestSchema) async throws -> [String: Int64] {
        let hex = Self.marker.utf8.map { String($0 / 16, radix: 16) + String($0 % 16, radix: 16) }.joined()
        let tables = try await schema.cluster.run(
            "SELECT relname::text FROM pg_class WHERE relnamespace = '\(schema.name)'::regnamespace AND relkind = 'r'",
            [])
        var found: [String: Int64] = [:]
        for table in try tables.map({ row in try row.text(0) }) {
            let count = try await schema.number(
                "SELECT count(*) FROM @.\(table) AS t WHERE t::text LIKE '%\(hex)%' OR t::text LIKE '%\(Self.marker)%'")
            if count > 0 { found[table] = count }
        }
        return found
    }

    @Test func `nothing of a subject is left in any table, also of sessions that were removed before`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let ada = Subject(issuer: "issuer", id: "ada \(Self.marker)")
        _ = try await fill(journal, ada)
        let removed = try await fill(journal, ada)
        let other = try await journal.newSession()
        try #require(await journal.append(other.turn(labels: ["1"])).isCommitted)
        try await awaitResult { journal.remove(removed.key, tombstoneUntil: .seconds(1 << 33), done: $0) }.get()
        let before = Set(try await found(schema).keys.map { $0.prefix { !$0.isNumber && $0 != "_" } })
        #expect(
            before == ["sessions", "credentials", "stores", "labels", "receipts", "reminders", "recordings", "set"])
        for _ in 0..<2 {
            try await awaitResult { journal.purge(ada, now: .zero, tombstoneUntil: .seconds(1 << 33), done: $0) }.get()
            #expect(try await found(schema) == [:])
        }
        #expect(try await journal.news(other)?.labels.count == 1)
        await journal.close()
    }

    /// Gives a session thousands of labels and receipts.
    private func multiply(_ session: TestSession, _ schema: TestSchema) async throws {
        let rows = "generate_series(1, 2500) AS n WHERE r.session = \(session.key.number) AND r.number = 1"
        try await schema.run(
            """
            INSERT INTO @.labels SELECT era, session, 100 + n, place, feature, version, intent, expiry, written, json
            FROM @.labels AS r, \(rows)
            """)
        try await schema.run(
            """
            INSERT INTO @.receipts
            SELECT era, session, n, scope, name, number, made, intent, version, status, body_hash, body
            FROM @.receipts AS r, \(rows)
            """)
    }

    @Test func `many rows of a removed session are deleted in pages, also if its server ends meanwhile`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let ada = Subject(issuer: "issuer", id: "ada \(Self.marker)")
        let (removed, purged) = (try await fill(journal, ada), try await fill(journal, ada))
        for session in [removed, purged] { try await multiply(session, schema) }
        try await awaitResult { journal.remove(removed.key, tombstoneUntil: .zero, done: $0) }.get()
        #expect(try await schema.number("SELECT session FROM @.removed") == removed.key.number)
        let rest = "SELECT count(*) FROM @.receipts WHERE session = \(removed.key.number)"
        #expect(try await schema.number(rest) == 1_503)
        try await awaitResult { journal.purge(ada, now: .zero, tombstoneUntil: .zero, done: $0) }.get()
        #expect(try await found(schema) == [:])
        #expect(try await schema.number("SELECT count(*) FROM @.removed") == 0)

        let last = try await fill(journal, ada)
        try await multiply(last, schema)
        try await awaitResult { journal.remove(last.key, tombstoneUntil: .zero, done: $0) }.get()
        await journal.close()
        let next = try await schema.journal { ($0.probeInterval, $0.maintenanceInterval) = (.milliseconds(10), .zero) }
        let end = ContinuousClock.now + .seconds(60)
        while try await schema.number("SELECT count(*) FROM @.removed") > 0 {
            try #require(ContinuousClock.now < end, "the rows stay")
            await Task.yield()
        }
        #expect(try await found(schema) == [:])
        await next.close()
    }

    private func signIn(_ subject: Subject, _ journal: PostgresJournal) async -> Result<SessionKey, StoreError> {
        var record = TestSession.record()
        record.subject = subject
        return await awaitResult { journal.create(record, credential: nil, done: $0) }
    }

    private func attach(_ subject: Subject, to session: TestSession, _ journal: PostgresJournal) async
        -> Result<Void, StoreError>
    {
        let credential = StoredCredential(
            token: TokenHash((0..<32).map { _ in .random(in: 0...255) }), kind: .bearer, number: 1, principal: [],
            made: TestSession.start)
        let change = CredentialChange(session: session.key, expecting: nil, subject: subject, kept: [credential])
        return await awaitResult { journal.change(change, done: $0) }
    }

    @Test func `while a subject's data is deleted, nobody signs in on any node, and afterwards everybody does`()
        async throws
    {
        let schema = try await TestSchema()
        let nodes = [try await schema.journal(), try await schema.journal()]
        let ada = Subject(issuer: "issuer", id: "ada")
        let anonymous = try await nodes[1].newSession()
        // A deletion whose server crashed after its first step.
        try await awaitResult { nodes[0].purge(ada, now: .zero, tombstoneUntil: .zero, done: $0) }.get()
        let name = "sha256('issuer'::bytea || decode('00', 'hex') || 'ada'::bytea)"
        try await schema.run("INSERT INTO @.forgetting VALUES (\(name), now() + interval '1 hour')")
        for node in nodes {
            let refused = await signIn(ada, node)
            #expect(refused.isOfForgotten)
            #expect((try? await signIn(Subject(issuer: "issuer", id: "bob"), node).get()) != nil)
        }
        let attached = await attach(ada, to: anonymous, nodes[1])
        #expect(attached.isOfForgotten)
        // The next one completes it.
        try await awaitResult { nodes[1].purge(ada, now: .zero, tombstoneUntil: .zero, done: $0) }.get()
        #expect(try await schema.number("SELECT count(*) FROM @.forgetting") == 0)
        #expect((try? await signIn(ada, nodes[0]).get()) != nil)
        #expect((try? await attach(ada, to: anonymous, nodes[1]).get()) != nil)
        // One whose server is gone ends by itself.
        try await schema.run("INSERT INTO @.forgetting VALUES (\(name), now() - interval '1 second')")
        #expect((try? await signIn(ada, nodes[0]).get()) != nil)
        for node in nodes { await node.close() }
    }

    private func waitForLock(_ state: String, _ schema: TestSchema) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await schema.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND \(state)") == 0 {
            try #require(ContinuousClock.now < deadline, "no transaction has the lock: \(state)")
            await Task.yield()
        }
    }

    @Test func `a deletion waits for a sign-in that another node began, and removes it`() async throws {
        let schema = try await TestSchema(in: Cluster.make())
        // Nobody gives up a lock before the test says so.
        let patient: (inout PostgresOptions) -> Void = { options in
            (options.lockTime, options.groupLockTime) = (.seconds(300), .seconds(300))
            (options.statementTime, options.transactionTime) = (.seconds(300), .seconds(300))
        }
        let nodes = [try await schema.journal(patient), try await schema.journal(patient)]
        let ada = Subject(issuer: "issuer", id: "ada")
        var record = TestSession.record()
        record.subject = ada
        // The sign-in has the lock and waits for its token's row.
        let target = try #require(ConnectionTarget(schema.cluster.url(), applicationName: "holder"))
        let holder = try PostgresConnection(target, deadline: .now + .seconds(30))
        _ = try holder.run(
            [
                PostgresStatement("BEGIN"),
                PostgresStatement(
                    "INSERT INTO \(schema.name).tokens (token, until) VALUES ($1, 0)",
                    [.bytea(record.tokenHash.bytes)]),
            ], deadline: .now + .seconds(30))
        let asked = record
        async let signedIn = awaitResult { nodes[1].create(asked, credential: nil, done: $0) }
        try await waitForLock("mode = 'ShareLock' AND granted", schema)
        async let purged = awaitResult { nodes[0].purge(ada, now: .zero, tombstoneUntil: .zero, done: $0) }
        try await waitForLock("mode = 'ExclusiveLock' AND NOT granted", schema)
        _ = try holder.run([PostgresStatement("ROLLBACK")], deadline: .now + .seconds(30))
        _ = try await signedIn.get()
        try await purged.get()
        #expect(try await schema.number("SELECT count(*) FROM @.sessions") == 0)
        for node in nodes { await node.close() }
    }

    @Test func `a restored database of 100,000 subjects looks each up among ten thousand deletions`() async throws {
        let schema = try await TestSchema()
        let list = ForgottenList(FileManager.default.temporaryDirectory.path + "/forgotten-\(UUID().uuidString)")
        defer { for path in [list.path, list.keyPath] { try? FileManager.default.removeItem(atPath: path) } }
        let before = try await schema.journal()
        _ = try await fill(before, Subject(issuer: "issuer", id: "ada"))
        await before.close()
        try await schema.run(
            """
            INSERT INTO @.sessions (token, id, credential, created, noted, issuer, subject, shared)
            SELECT sha256(i::text::bytea), i::text::bytea, s.credential, s.created, s.noted, 'issuer', i::text::bytea, false
            FROM generate_series(1, 100000) AS i, (SELECT * FROM @.sessions LIMIT 1) AS s
            """)
        try await schema.run(
            """
            INSERT INTO @.heads (key, seen, epoch, past)
            SELECT s.key, s.created, 'e', m.past FROM @.sessions AS s, @.meta AS m
            ON CONFLICT (key) DO NOTHING
            """)
        let key = try list.key()
        try list.append((1...10_000).map { key.subject(Subject(issuer: "issuer", id: "\($0)"), at: .seconds(1 << 32)) })
        let start = ContinuousClock.now
        let journal = try await schema.journal { $0.forgottenList = list }
        _ = await awaitResult { journal.find(.subject(Subject(issuer: "issuer", id: "9")), limit: 10, done: $0) }
        while journal.trouble != nil { await Task.yield() }
        print("PostgreSQL, 10,000 deletions, 100,000 subjects: \(ContinuousClock.now - start)")
        #expect(try await schema.number("SELECT count(*) FROM @.sessions") == 90_001)
        await journal.close()
    }

    @Test func `a restored database forgets what its list names before a server is ready, and the list is completed`()
        async throws
    {
        let schema = try await TestSchema()
        let folder = FileManager.default.temporaryDirectory.path + "/forgotten-\(UUID().uuidString)"
        let list = ForgottenList(folder)
        defer { for path in [folder, list.keyPath] { try? FileManager.default.removeItem(atPath: path) } }
        let ada = Subject(issuer: "issuer", id: "ada \(Self.marker)")
        let bob = Subject(issuer: "issuer", id: "bob")
        // Deleted after the backup, as the list says and the database does not.
        _ = try list.note(ada, at: TestSession.start + .seconds(1))
        let before = try await schema.journal()
        let old = try await fill(before, ada)
        var newer = TestSession.record()
        (newer.subject, newer.created) = (Subject(issuer: "issuer", id: ada.id), TestSession.start + .seconds(2))
        _ = try await awaitResult { before.create(newer, credential: nil, done: $0) }.get()
        let other = try await fill(before, bob)
        // The deletion of a server without a list, which this list lacks. Its own key stands beside it.
        try await awaitResult {
            before.purge(Subject(issuer: "issuer", id: "cleo"), now: .zero, tombstoneUntil: .zero, done: $0)
        }.get()
        await before.close()

        let journal = try await schema.journal { $0.forgottenList = list }
        for (session, isLeft) in [(old, false), (other, true)] {
            let load = try await journal.load(session)
            if isLeft, case .found = load { continue }
            if !isLeft, case .ended = load { continue }
            Issue.record("\(session.record.id): \(load)")
        }
        let left = try await awaitResult { journal.find(.subject(ada), limit: 10, done: $0) }.get()
        #expect(left.map(\.id) == [newer.id])
        // With the mark of the key. No key stands beside a row any more.
        #expect(try await schema.number("SELECT count(*) FROM @.forgotten WHERE length(key) = 32") == 0)
        #expect(try await schema.number("SELECT count(*) FROM @.forgotten") == 3)
        await journal.close()
        let listed = try list.subjects()
        #expect(listed.count == 2)
        #expect(ForgottenFinder(listed, try list.key()).time(of: Subject(issuer: "issuer", id: "cleo")) != nil)

        // A server with a key of its own would find nobody.
        let stranger = ForgottenList(folder + "-stranger")
        defer { for path in [stranger.path, stranger.keyPath] { try? FileManager.default.removeItem(atPath: path) } }
        let alone = try await schema.journal { $0.forgottenList = stranger }
        #expect(alone.trouble != nil)
        await alone.close()

        // A list that cannot be read keeps the server from being ready.
        try Data("nonsense\n".utf8).write(to: URL(fileURLWithPath: folder))
        let refused = try await schema.journal { $0.forgottenList = list }
        #expect(refused.trouble != nil)
        await refused.close()
    }
}

extension Result where Failure == StoreError {
    fileprivate var isOfForgotten: Bool {
        if case .failure(let error) = self { error.detail == StoreError.subjectIsForgotten.detail } else { false }
    }
}
