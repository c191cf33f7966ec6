import Foundation
import Locking
import MVI
import SessionJournal
import Testing

@testable import PostgresJournal

@Suite struct VisitTests {
    private static let deletion = TestSession.start + .seconds(9)
    private let ada = Subject(issuer: "issuer", id: "ada")

    private func space(_ name: String, _ journal: PostgresJournal, visits: [Visit]) async throws -> TestSession {
        let record = TestSession.space(name)
        let space = TestSession(
            key: try await awaitResult { journal.create(record, credential: nil, done: $0) }.get(), record: record)
        var turn = space.turn()
        turn.rare = RareBatch(visits: visits)
        try #require(await journal.append(turn).isCommitted)
        return space
    }

    @Test func `a restored database marks the visits of subjects that its list names, and none since their deletion`()
        async throws
    {
        let schema = try await TestSchema()
        let list = ForgottenList(FileManager.default.temporaryDirectory.path + "/forgotten-\(UUID().uuidString)")
        defer { for path in [list.path, list.keyPath] { try? FileManager.default.removeItem(atPath: path) } }
        // Deleted after the backup, as the list says and the database does not.
        _ = try list.note(ada, at: Self.deletion)
        let before = try await schema.journal()
        let visits = [
            Visit(session: "before", subject: ada, lastUse: Self.deletion),
            Visit(session: "after", subject: ada, lastUse: Self.deletion + .seconds(1)),
            Visit(session: "other", subject: Subject(issuer: "other", id: "ada"), lastUse: TestSession.start),
            Visit(session: "none", lastUse: TestSession.start),
        ]
        var spaces: [TestSession] = []
        for name in ["a:1", "a:2"] { spaces.append(try await space(name, before, visits: visits)) }
        await before.close()

        let journal = try await schema.journal { $0.forgottenList = list }
        let found = try await awaitResult { journal.visits(.forgotten, limit: 10, done: $0) }.get()
        #expect(Set(found.map(\.key)) == Set(spaces.map(\.key)) && found.count == 2)
        #expect(found.allSatisfy { $0.visit.session == "before" && $0.visit.subject == ada })
        #expect(try await schema.number("SELECT count(*) FROM @.visits") == 8)
        await journal.close()
    }

    @Test func `many visits of a removed space and of one that expired are deleted in pages`() async throws {
        let schema = try await TestSchema()
        let journal = try await schema.journal()
        let visits = (0..<2_500).map { Visit(session: "s\($0)", subject: ada, lastUse: TestSession.start) }
        let removed = try await space("a:1", journal, visits: visits)
        let expired = try await space("a:2", journal, visits: visits)
        try await awaitResult { journal.remove(removed.key, tombstoneUntil: .zero, done: $0) }.get()
        let far = TestSession.start + .seconds(1)
        let count = try await awaitResult {
            journal.expire(lastSeenBefore: PerLifeClass(far), now: far, tombstoneUntil: .zero, limit: 9, done: $0)
        }.get()
        #expect(count == 1)
        for session in [removed, expired] {
            let rest = "FROM @.visits WHERE session = \(session.key.number)"
            #expect(try await schema.number("SELECT count(*) \(rest)") == 1_500)
        }
        #expect(try await schema.number("SELECT count(*) FROM @.removed") == 2)
        #expect(try await awaitResult { journal.visits(.subject(ada), limit: 9, done: $0) }.get() == [])
        // It deletes what is left.
        try await awaitResult { journal.purge(ada, now: .zero, tombstoneUntil: .zero, done: $0) }.get()
        for table in ["visits", "removed"] { #expect(try await schema.number("SELECT count(*) FROM @.\(table)") == 0) }
        await journal.close()
    }
}
