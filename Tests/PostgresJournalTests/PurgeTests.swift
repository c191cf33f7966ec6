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
            turn.recordings = [
                RecordedTurn(
                    number: turn.head.number, feature: TestSession.counter, time: .zero, recording: Array(marker.utf8))
            ]
            turn.recordingLimit = 9
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
}
