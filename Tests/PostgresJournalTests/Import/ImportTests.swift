import Locking
import MVI
import MVIServer
import PostgreSQL
import SQLiteJournal
import SessionJournal
import TestSupport
import Testing

@testable import PostgresJournal

/// Imports from a data folder into a database.
@Suite struct ImportTests {
    private static let now = SourceFolder.start + .seconds(2)

    @Test func `every session is the same afterwards, byte for byte, and so is the secret`() async throws {
        let (source, schema) = (try SourceFolder(), try await TestSchema())
        try await source.fill()
        let tool = try schema.tool()
        let counts = try await offThePool { try tool.takeOver(source.file) }
        var expected = JournalCounts()
        (expected.sessions, expected.stores, expected.credentials, expected.visits) = (7, 4, 4, 3)
        (expected.labels, expected.receipts, expected.reminders) = (111, 117, 6)
        (expected.recordedTurns, expected.statesSetAside, expected.endedTokens) = (15, 3, 2)
        expected.senders = 2
        #expect(counts == expected)

        #expect(try await schema.number("SELECT minimum::bigint FROM @.meta") == PostgresSchema.spacesVersion)
        let ids = try source.ids()
        #expect(try tool.sessions(limit: 100).map(\.id) == ids)
        var sessions: [StoredSession] = []
        for id in ids {
            let before = try #require(try source.file.export(id))
            let after = try #require(try tool.export(id))
            #expect(SessionDocument.write(before) == SessionDocument.write(after))
            #expect(before.session.record == after.session.record && before.session.head == after.session.head)
            #expect(before.session.credentials == after.session.credentials)
            #expect(before.session.labels == after.session.labels)
            #expect(before.session.lostLabels == after.session.lostLabels)
            #expect(before.session.receipts == after.session.receipts)
            #expect(before.session.reminders == after.session.reminders)
            #expect(Set(before.stores) == Set(after.stores))
            let uses = [before, after].map { $0.stores.map { [$0.id: $0.summary.lastSeen] } }
            #expect(Set(uses[0]) == Set(uses[1]))
            #expect(before.turns == after.turns && before.setAside == after.setAside)
            sessions.append(before.session)
        }
        for sender in SourceFolder.heard.dropFirst() {
            let rows = try await schema.number(
                """
                SELECT count(*) FROM @.heard JOIN @.sessions ON key = session AND space = 'board:a'
                WHERE number = \(sender.number) AND time = \(TestSession.start.nanoseconds)
                    AND sender = decode(repeat('0\(sender.sender[0])', 16), 'hex')
                """)
            #expect(rows == 1)
        }
        let ended = try source.endedTokens()
        let (old, new) = (try await source.journal(), try await schema.journal())
        let secret = try await awaitResult { old.secret(done: $0) }.get()
        #expect(secret.formerKeys.count == 2)
        #expect(try await awaitResult { new.secret(done: $0) }.get() == secret)
        try await expectTheSame(in: new, as: old, sessions)
        for (token, until) in ended {
            let time = until - .seconds(1)
            #expect(try await awaitResult { new.load(token, now: time, done: $0) }.get().isEnded)
            #expect(try await awaitResult { new.load(token, now: until, done: $0) }.get().isUnknown)
        }
        await new.close()
        await old.close()
    }

    /// Compares both journals' results.
    private func expectTheSame(
        in new: PostgresJournal, as old: SQLiteJournal, _ sessions: [StoredSession]
    ) async throws {
        var last: (session: StoredSession, head: SessionHead)?
        var tokens: [TokenHash] = []
        for session in sessions {
            for token in [session.record.tokenHash] + session.credentials.map(\.token) {
                tokens.append(token)
                guard
                    case .found(let before) = try await awaitResult({ old.load(token, now: Self.now, done: $0) }).get(),
                    case .found(let after) = try await awaitResult({ new.load(token, now: Self.now, done: $0) }).get()
                else {
                    Issue.record("\(session.record.id) is not found by each of its tokens")
                    continue
                }
                let news = try await awaitResult { new.load(after.key, since: .empty, done: $0) }.get()
                let olds = try await awaitResult { old.load(before.key, since: .empty, done: $0) }.get()
                #expect(news?.recentHeads == olds?.recentHeads)
                last = (after, after.head)
            }
        }
        #expect(tokens.count == 11)
        #expect(try await awaitResult { new.load(SourceFolder.token(), now: Self.now, done: $0) }.get().isUnknown)
        let shared = try await awaitResult { new.find(.shared(SourceFolder.ann), limit: 5, done: $0) }.get()
        #expect(shared.count == 1)
        for query in [VisitQuery.subject(SourceFolder.ann), .forgotten] {
            let before = try await awaitResult { old.visits(query, limit: 5, done: $0) }.get()
            let after = try await awaitResult { new.visits(query, limit: 5, done: $0) }.get()
            #expect(before.count == 1 && before.map(\.visit) == after.map(\.visit))
            #expect(before.map(\.space) == after.map(\.space))
        }
        let alarms = try await awaitResult { new.alarms(after: nil, limit: 50, done: $0) }.get()
        #expect(alarms.map(\.due) == (0..<3).map { _ in SourceFolder.start + .seconds(8) })

        // The log continues, and new sessions get new keys.
        let (session, head) = try #require(last)
        let test = TestSession(key: session.key, record: session.record)
        #expect(await new.append(test.turn(after: head, state: "{}")).isCommitted)
        #expect(try await new.newSession().key.number > session.key.number)
    }

    @Test func `a journal with sessions, or with a server, is refused and stays as it is`() async throws {
        let (source, schema) = (try SourceFolder(), try await TestSchema())
        try await source.fill()
        let tool = try schema.tool()
        let journal = try await schema.journal()
        let secret = try await awaitResult { journal.secret(done: $0) }.get()
        let running = await #expect(throws: StoreError.self) { try await offThePool { try tool.takeOver(source.file) } }
        #expect(running?.code == .contended && running?.description.contains("Stop all of them first") == true)
        let session = try await journal.newSession()
        await journal.close()

        let full = await #expect(throws: StoreError.self) { try await offThePool { try tool.takeOver(source.file) } }
        #expect(full?.code == .invalid && full?.description.contains("has sessions") == true)
        #expect(try tool.sessions(limit: 10).map(\.id) == [session.record.id])
        let again = try await schema.journal()
        #expect(try await awaitResult { again.secret(done: $0) }.get() == secret)
        await again.close()
    }

    @Test func `a folder that a server uses, or that has no journal, is refused before anything is made`() async throws
    {
        let (source, schema) = (try SourceFolder(), try await TestSchema())
        let tool = try schema.tool()
        let none = await #expect(throws: StoreError.self) { try await offThePool { try tool.takeOver(source.file) } }
        #expect(none?.description == "There is no journal in \(source.path).")
        let journal = try await source.journal()
        let used = await #expect(throws: StoreError.self) { try await offThePool { try tool.takeOver(source.file) } }
        #expect(used?.code == .contended && used?.description.contains("Another server uses the journal") == true)
        await journal.close()
        #expect(try await schema.number("SELECT count(*) FROM pg_namespace WHERE nspname = '@'") == 0)
    }

    @Test func `an import that is cut short leaves nothing, and can be made again`() async throws {
        let schema = try await TestSchema()
        let tool = try schema.tool()
        struct Cut: Error {}
        // Several batches are in the database by then.
        let thrown = await #expect(throws: StoreError.self) {
            try await offThePool { try tool.takeOver(MadeContents(count: 6_000) { if $0 == 5_900 { throw Cut() } }) }
        }
        #expect(thrown?.description.contains("Cut") == true)
        #expect(try await schema.number("SELECT count(*) FROM @.sessions") == 0)

        let url = schema.cluster.url()
        let killed = await #expect(throws: StoreError.self) {
            try await offThePool {
                try tool.takeOver(
                    MadeContents(count: 6_000) { number in
                        guard number == 5_900, let target = ConnectionTarget(url, applicationName: "test") else {
                            return
                        }
                        let connection = try PostgresConnection(target, deadline: .now + .seconds(30))
                        let sql = """
                            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                            WHERE query LIKE '%\(schema.name)%' AND pid <> pg_backend_pid()
                            """
                        _ = try connection.run([PostgresStatement(sql)], deadline: .now + .seconds(30))
                    })
            }
        }
        #expect(killed?.code == .unavailable)
        for table in ["sessions", "heads", "tokens", "stores", "labels", "receipts"] {
            #expect(try await schema.number("SELECT count(*) FROM @.\(table)") == 0)
        }
        #expect(try await offThePool { try tool.takeOver(MadeContents(count: 6_000)) }.sessions == 6_000)
        #expect(try await schema.number("SELECT count(*) FROM @.stores") == 6_000)
        #expect(try await schema.number("SELECT count(DISTINCT key) FROM @.heads JOIN @.sessions USING (key)") == 6_000)
    }

    @Test func `a damaged session is left out and named, and its token is of no session`() async throws {
        let schema = try await TestSchema()
        let tool = try schema.tool()
        let damaged = SourceFolder.token()
        let contents = MadeContents(count: 2, damaged: SessionKey(7))
        let counts = try await offThePool { try tool.takeOver(contents) }
        #expect(counts.sessions == 2 && counts.damaged == ["session 7: a reason"])
        let journal = try await schema.journal()
        #expect(try await awaitResult { journal.load(damaged, now: Self.now, done: $0) }.get().isUnknown)
        await journal.close()
    }

    @Test func `two sessions with one token are an error, and nothing is kept`() async throws {
        let schema = try await TestSchema()
        let tool = try schema.tool()
        let error = await #expect(throws: StoreError.self) {
            try await offThePool { try tool.takeOver(MadeContents(count: 2, token: SourceFolder.token())) }
        }
        #expect(error?.code == .invalid)
        #expect(try await schema.number("SELECT count(*) FROM @.sessions") == 0)
    }

    @Test
    func `a token that had ended in the database is valid again, and remains of others belong to no session`()
        async throws
    {
        let schema = try await TestSchema()
        let first = try await schema.journal()
        let old = try await first.newSession()
        #expect(await first.append(old.turn(labels: ["old"])).isCommitted)
        try await awaitResult { first.remove(old.key, tombstoneUntil: .seconds(3_000_000), done: $0) }.get()
        await first.close()
        let tool = try schema.tool()
        let contents = MadeContents(count: 1, token: old.record.tokenHash)
        _ = try await offThePool { try tool.takeOver(contents) }
        let second = try await schema.journal()
        guard case .found(let session) = try await second.load(old) else {
            Issue.record("the session is not found")
            return
        }
        #expect(session.labels.isEmpty && session.key.number > old.key.number)
        await second.close()
    }
}

/// Sessions that are generated while they are read, each with a store of two kilobytes.
private struct MadeContents: JournalContents {
    let count: Int
    var token: TokenHash?
    var damaged: SessionKey?
    var before: @Sendable (Int) throws -> Void = { _ in }
    let place = "nowhere"

    init(
        count: Int, token: TokenHash? = nil, damaged: SessionKey? = nil,
        before: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) {
        (self.count, self.token, self.damaged, self.before) = (count, token, damaged, before)
    }

    func forEachPart(_ take: (JournalPart) throws -> Void) throws(StoreError) {
        do {
            try take(.beginning(.random(), lastKey: SessionKey(Int64(count))))
            if let damaged { try take(.damaged(damaged, "a reason")) }
            for number in 1...count {
                try before(number)
                var record = TestSession.record()
                if let token { record.tokenHash = token }
                let summary = StoreSummary(feature: TestSession.counter, number: 1, version: 1, made: 1, replaced: 0)
                let store = StoredStore(
                    summary: summary, schemaVersion: 1, state: [UInt8](repeating: 0x20, count: 2_000), view: [],
                    viewIntent: nil)
                let session = StoredSession(
                    key: SessionKey(Int64(number)), record: record,
                    recentHeads: [SessionHead(number: 1, nonce: UInt64(number))], stores: [summary], labels: [],
                    lostLabels: LostLabels(), receipts: [])
                try take(.session(SessionExport(session: session, stores: [store], turns: [], setAside: [])))
            }
        } catch {
            throw error as? StoreError ?? StoreError(.unavailable, "\(error)")
        }
    }
}

extension SourceFolder {
    fileprivate func endedTokens() throws -> [(TokenHash, Duration)] {
        var tokens: [(TokenHash, Duration)] = []
        try file.forEachPart { if case .endedToken(let token, let until) = $0 { tokens.append((token, until)) } }
        return tokens
    }
}

extension SessionLoad {
    fileprivate var isEnded: Bool { if case .ended = self { true } else { false } }
    fileprivate var isUnknown: Bool { if case .unknown = self { true } else { false } }
}
