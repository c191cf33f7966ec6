import Locking
import MVI
import SQLite
import SessionJournal
import Testing

@testable import SQLiteJournal

/// The limits of a journal and the behavior at them.
@Suite(.timeLimit(.minutes(10))) struct BoundsTests {
    @Test func `an append that cannot be kept fails alone`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let sessions = try await (0..<20).asyncMap { _ in try await journal.newSession() }
        // SQLite itself refuses this state, in the middle of a transaction.
        do {
            var connection = try Connection(.file(folder.database))
            try connection.script(
                """
                CREATE UNIQUE INDEX refuse ON stores (state) WHERE state = CAST('bad' AS BLOB);
                INSERT INTO stores (id, feature, number, time, version, nonce, head, made, schema, state, view)
                VALUES (1, 'x', 0, 0, 0, 0, 0, 0, 1, CAST('bad' AS BLOB), x'');
                """)
        }
        let results = await withTaskGroup(of: (Int, AppendResult).self) { group in
            for (index, session) in sessions.enumerated() {
                let turn = session.turn(state: index == 7 ? "bad" : "good")
                group.addTask { (index, await journal.append(turn)) }
            }
            return await group.reduce(into: [Int: AppendResult]()) { $0[$1.0] = $1.1 }
        }
        for index in sessions.indices {
            if index == 7 {
                #expect(results[index]?.failure == .invalid)
            } else {
                #expect(results[index]?.isCommitted == true)
            }
        }
        #expect(journal.trouble == nil)
        await journal.close()
    }

    @Test func `requests beyond the queue's limit are refused at once`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.waitingItems = 0 }
        let session = TestSession(key: SessionKey(1), record: TestSession.record())
        let result = journal.append(session.turn()) { _ in }
        #expect(result?.failure == .unavailable)
        await #expect(throws: StoreError.self) { try await journal.create(session.record) }
        await journal.close()
    }

    @Test func `the log begins anew when it has grown`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal {
            $0.checkpointPages = 30
            $0.restartPages = 60
        }
        let session = try await journal.newSession()
        try await journal.commit((1...300).map(String.init), of: session)
        // Each commit writes at least one page, and none writes more than a few.
        #expect(try contents(folder.database + "-wal").count < 100 * 4_120)
        #expect(journal.statistics.logBytes < 100 * 4_120)
        await journal.close()
    }

    @Test func `sessions that are no longer remembered go on where they were`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.cachedSessions = 2 }
        let sessions = try await (0..<10).asyncMap { _ in try await journal.newSession() }
        var heads = sessions.map { _ in SessionHead.empty }
        for round in 1...3 {
            for (index, session) in sessions.enumerated() {
                heads[index] = try await journal.commit(["\(round)"], of: session, after: heads[index])
                #expect(try await journal.load(session).found?.head == heads[index])
            }
        }
        await journal.close()
    }

    @Test func `recorded turns are a ring buffer`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.cachedSessions = 1 }
        let session = try await journal.newSession()
        var head = SessionHead.empty
        for number in 1...7 {
            let turn = session.turn(after: head)
            #expect(await journal.append(turn).isCommitted)
            try await journal.record(
                [session.recording(after: head, "{\"n\":\(number)}")], of: session.key, keeping: 3)
            head = turn.head
        }
        #expect(try await journal.exported(session)?.turns.map(\.number) == [5, 6, 7])
        await journal.close()
    }

    @Test func `closing waits for all results; those of a session come in the order of commits`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.completionThreads = 3 }
        let sessions = try await (0..<6).asyncMap { _ in try await journal.newSession() }
        let order = Lock<[SessionKey: [UInt64]]>([:])
        for session in sessions {
            var head = SessionHead.empty
            for _ in 1...50 {
                let turn = session.turn(after: head)
                head = turn.head
                _ = journal.append(turn) { result in
                    guard result.isCommitted else { return }
                    order.withLock { $0[session.key, default: []].append(turn.head.number) }
                }
            }
        }
        await journal.close()
        for session in sessions { #expect(order.withLock { $0[session.key] } == Array(1...50)) }
    }

    @Test func `the statistics count its work`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        try await journal.commit(["1", "2"], of: session)
        let statistics = journal.statistics
        #expect(statistics.appends == 2)
        #expect(statistics.transactions >= 2)
        #expect(statistics.logBytes > 4_096)
        #expect(statistics.nanosecondsInSQLite > 0)
        #expect(statistics.queueLength == 0)
        await journal.close()
    }

    @Test func `sessions beyond the limit are refused, and one that ends makes room`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.sessionLimit = 3 }
        let sessions = [try await journal.newSession(), try await journal.newSession(), try await journal.newSession()]
        for _ in 0..<2 {
            let error = await #expect(throws: StoreError.self) { try await journal.newSession() }
            #expect(error?.code == .tooManySessions)
        }
        // The others continue.
        try await journal.commit(["1"], of: sessions[2])
        try await awaitResult { journal.remove(sessions[0].key, tombstoneUntil: .zero, done: $0) }.get()
        _ = try await journal.newSession()
        await journal.close()
        // After reopening, the count is the same.
        let again = try await folder.journal { $0.sessionLimit = 3 }
        await #expect(throws: StoreError.self) { try await again.newSession() }
        await again.close()
    }

    @Test func `spaces have a limit of their own, and take no place of a session`() async throws {
        let folder = try TemporaryFolder()
        func check(_ journal: any Journal, isNew: Bool) async throws {
            func code(_ record: SessionRecord) async -> StoreError.Code? {
                let result = await awaitResult { journal.create(record, done: $0) }
                if case .failure(let error) = result { return error.code }
                return nil
            }
            if isNew {
                #expect(await code(TestSession.space("board:a")) == nil)
                #expect(await code(TestSession.space("board:b")) == nil)
                for _ in 0..<3 { #expect(await code(TestSession.record()) == nil) }
            }
            #expect(await code(TestSession.space("board:c")) == .tooManySpaces)
            #expect(await code(TestSession.record()) == .tooManySessions)
            let token = TokenHash(space: try #require(SpaceName("board:a")))
            let load = try await awaitResult { journal.load(token, now: TestSession.start, done: $0) }.get()
            guard case .found(let space) = load else {
                Issue.record("the space is gone")
                return
            }
            try await awaitResult { journal.remove(space.key, tombstoneUntil: .zero, done: $0) }.get()
            #expect(await code(TestSession.record()) == .tooManySessions)
            #expect(await code(TestSession.space("board:a")) == nil)
            #expect(await code(TestSession.space("board:c")) == .tooManySpaces)
        }
        let journal = try await folder.journal { ($0.sessionLimit, $0.spaceLimit) = (3, 2) }
        try await check(journal, isNew: true)
        await journal.close()
        let again = try await folder.journal { ($0.sessionLimit, $0.spaceLimit) = (3, 2) }
        try await check(again, isNew: false)
        await again.close()
        try await check(MemoryJournal(sessionLimit: 3, spaceLimit: 2), isNew: true)
    }

    @Test func `a journal in memory has a limit of sessions`() throws {
        let journal = MemoryJournal(sessionLimit: 2)
        let results = Lock<[Result<SessionKey, StoreError>]>([])
        for _ in 0..<3 { journal.create(TestSession.record()) { result in results.withLock { $0.append(result) } } }
        let codes = results.withLock { $0 }.map { result -> StoreError.Code? in
            if case .failure(let error) = result { error.code } else { nil }
        }
        #expect(codes == [nil, nil, .tooManySessions])
    }
}
