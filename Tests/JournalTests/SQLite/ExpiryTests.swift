import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

@Suite(.timeLimit(.minutes(10))) struct ExpiryTests {
    @Test func `expiry goes in steps, and appends go on in between`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.stepSessions = 3 }
        let live = try await journal.newSession(lastSeen: .seconds(500))
        for number in 0..<100 {
            let session = try await journal.newSession(lastSeen: .seconds(100))
            if number.isMultiple(of: 10) {
                let turn = session.turn(time: .seconds(100), labels: ["1", "2"])
                #expect(await journal.append(turn).isCommitted)
            }
        }
        let before = journal.statistics.transactions
        #expect(try await journal.expire(before: .seconds(200), limit: 30) == 30)
        // Three sessions a step.
        #expect(journal.statistics.transactions - before >= 10)
        async let count = journal.expire(before: .seconds(200), limit: 1_000)
        try await journal.commit((1...50).map(String.init), of: live)
        #expect(try await count == 70)
        #expect(try await journal.state(live) == "50")
        await journal.close()
        #expect(try rows(in: folder) == [1, 1, 50, 0])
    }

    @Test func `expiry removes at most the limit, and keeps a session with a new append`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        var sessions: [TestSession] = []
        for _ in 0..<10 { sessions.append(try await journal.newSession(lastSeen: .seconds(100))) }
        let used = sessions[0].turn(time: .seconds(300))
        #expect(await journal.append(used).isCommitted)
        #expect(try await journal.expire(before: .seconds(200), limit: 4) == 4)
        #expect(try await journal.expire(before: .seconds(200), limit: 100) == 5)
        #expect(try await journal.expire(before: .seconds(200), limit: 100) == 0)
        #expect(try await journal.load(sessions[0]).found?.record.lastSeen == .seconds(300))
        #expect(try await journal.load(sessions[1]).isEnded)
        await journal.close()
    }

    @Test func `the remains of a session at the process's end are deleted after the next start`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.stepTime = .zero }
        let session = try await journal.newSession()
        var head = SessionHead.empty
        for number in 0..<30 {
            let feature = FeatureID(name: "counter", key: "\(number)")
            let turn = session.turn(after: head, of: feature, labels: ["1"])
            #expect(await journal.append(turn).isCommitted)
            try await journal.record([session.recording(after: head, "{}")], of: session.key, keeping: 30)
            head = turn.head
        }
        try await journal.remove(session.key)
        let copy = try folder.copyAsAfterKill()
        await journal.close()
        let again = try await copy.journal()
        // After all steps: expiry ends when nothing is left.
        #expect(try await again.expire(before: .zero, limit: 1) == 0)
        await again.close()
        #expect(try rows(in: copy) == [0, 0, 0, 0])
    }

    @Test func `tombstones go when their time is over`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        try await journal.remove(session.key)
        #expect(try await journal.load(session).isEnded)
        #expect(try await journal.expire(before: .seconds(9_000_000), limit: 1) == 0)
        await journal.close()
        var connection = try Connection(.file(folder.database))
        #expect(try connection.first("SELECT count(*) FROM tombstones") { row in try row.int(0) } == 0)
    }

    /// Returns the numbers of sessions, stores, labels and leftovers.
    private func rows(in folder: TemporaryFolder) throws -> [Int] {
        var connection = try Connection(.file(folder.database))
        return try ["sessions", "stores", "labels", "garbage"].map { table in
            try connection.first("SELECT count(*) FROM \(table)") { row in try row.int(0) } ?? -1
        }
    }
}
