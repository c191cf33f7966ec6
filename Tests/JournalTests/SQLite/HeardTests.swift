import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

@Suite struct HeardTests {
    private func turn(_ journal: SQLiteJournal, _ senders: Range<Int>) async throws -> JournalBatch {
        var turn = try await journal.newSession().turn()
        turn.rare = RareBatch(
            heard: senders.map {
                HeardMessage(sender: [UInt8](repeating: 7, count: 14) + [UInt8($0 >> 8), UInt8($0 & 255)], number: 1)
            })
        #expect(await journal.append(turn).isCommitted)
        return turn
    }

    private func sessions(_ folder: TemporaryFolder) throws -> [Int64] {
        var connection = try Connection(.file(folder.database))
        return try connection.query("SELECT session FROM heard ORDER BY session") { try $0.integer(0) }
    }

    @Test func `the senders of a session are deleted with it, in steps`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.stepTime = .zero }
        let turns = [try await turn(journal, 0..<600), try await turn(journal, 0..<1)]
        try await journal.remove(turns[0].session)
        try await journal.wait("the rows of the removed session are deleted") { _ in
            var connection = try? Connection(.file(folder.database), access: .readOnly)
            return (try? connection?.first("SELECT count(*) FROM garbage") { try $0.int(0) }) == 0
        }
        await journal.close()
        #expect(try sessions(folder) == [turns[1].session.number])
    }

    @Test func `a restored backup knows the messages that were received before it`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let turn = try await turn(journal, 0..<2)
        let (backups, restored) = (try TemporaryFolder(), try TemporaryFolder())
        try folder.file().backup(to: backups.path + "/backup")
        await journal.close()
        #expect(try restored.file().restore(from: backups.path + "/backup") == 1)
        #expect(try sessions(restored) == [turn.session.number, turn.session.number])
    }
}
