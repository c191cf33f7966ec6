import Foundation
import Locking
import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

@Suite struct VisitTests {
    @Test func `a restore of an older backup marks visits of subjects that were deleted later, none since then`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let (ada, bob) = (Subject(issuer: "issuer", id: "ada"), Subject(issuer: "issuer", id: "bob"))
        let record = TestSession.space("board:a")
        let space = TestSession(key: try await journal.create(record), record: record)
        let (deletion, later) = (TestSession.start + .seconds(9), TestSession.start + .seconds(10))
        var turn = space.turn()
        turn.rare = RareBatch(visits: [
            Visit(session: "before", subject: ada, lastUse: deletion),
            Visit(session: "after", subject: ada, lastUse: later),
            Visit(session: "other", subject: bob, lastUse: TestSession.start), Visit(session: "none", lastUse: later),
        ])
        #expect(await journal.append(turn).isCommitted)
        let backups = try TemporaryFolder()
        try folder.file().backup(to: backups.path + "/backup")
        // Its list of deleted subjects stays.
        try await awaitResult { journal.purge(ada, now: deletion, tombstoneUntil: .zero, done: $0) }.get()
        await journal.close()
        for name in ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"] { unlink("\(folder.path)/\(name)") }
        #expect(try folder.file().restore(from: backups.path + "/backup") == 1)

        let restored = try await folder.journal()
        let found = try await awaitResult { restored.visits(.forgotten, limit: 10, done: $0) }.get()
        let expected = Visit(session: "before", subject: ada, lastUse: deletion, isForgotten: true)
        #expect(found == [SpaceVisit(space: try #require(record.space), key: space.key, visit: expected)])
        let kept = try await awaitResult { restored.visits(.subject(ada), limit: 10, done: $0) }.get()
        #expect(kept.count == 2)
        await restored.close()
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("SELECT count(*) FROM visits") { try $0.int(0) } == 4)
    }

    @Test func `a visit that is written after its session signed in has the session's subject`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let ada = Subject(issuer: "issuer", id: "ada")
        let ids = [("signed-in", ada), ("anonymous", nil)]
        for (number, (id, subject)) in ids.enumerated() {
            _ = try await journal.create(
                SessionRecord(
                    id: id, tokenHash: TokenHash(Array(repeating: UInt8(number), count: 32)), epoch: "e",
                    credential: .bearer, created: TestSession.start, lastSeen: TestSession.start, subject: subject))
        }
        let record = TestSession.space("board:a")
        var turn = TestSession(key: try await journal.create(record), record: record).turn()
        turn.rare = RareBatch(
            visits: (ids.map(\.0) + ["gone"]).map { Visit(session: $0, lastUse: TestSession.start) })
        #expect(await journal.append(turn).isCommitted)
        let found = try await awaitResult { journal.visits(.subject(ada), limit: 10, done: $0) }.get()
        #expect(found.map(\.visit) == [Visit(session: "signed-in", subject: ada, lastUse: TestSession.start)])
        await journal.close()
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("SELECT count(*) FROM visits WHERE subject IS NULL") { try $0.int(0) } == 2)
    }

    @Test func `the rows of visits are deleted with their space, in steps`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.stepTime = .zero }
        var turns: [JournalBatch] = []
        for name in ["board:a", "board:b"] {
            let record = TestSession.space(name)
            var turn = TestSession(key: try await journal.create(record), record: record).turn()
            turn.rare = RareBatch(visits: (0..<600).map { Visit(session: "s\($0)", lastUse: .zero) })
            #expect(await journal.append(turn).isCommitted)
            turns.append(turn)
        }
        try await journal.remove(turns[0].session)
        try await journal.wait("the rows of the removed space are deleted") { _ in
            var connection = try? Connection(.file(folder.database), access: .readOnly)
            return (try? connection?.first("SELECT count(*) FROM garbage") { try $0.int(0) }) == 0
        }
        await journal.close()
        var connection = try Connection(.file(folder.database))
        let spaces = try connection.query("SELECT DISTINCT session FROM visits") { try $0.integer(0) }
        #expect(spaces == [turns[1].session.number])
    }
}
