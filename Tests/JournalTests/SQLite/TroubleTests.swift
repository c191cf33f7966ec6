import Locking
import MVI
import SQLite
import SessionJournal
import TestSupport
import Testing

@testable import SQLiteJournal

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Disks that fail and files that are damaged. One after the other: there is one faulty disk.
@Suite(.serialized, .timeLimit(.minutes(10))) struct TroubleTests {
    init() throws { try FaultyDisk.install() }

    @Test func `on a full disk nothing is kept, all can be read, and it goes on by itself`() async throws {
        let folder = try TemporaryFolder()
        let log = LogKeeper()
        let journal = try await folder.journal(logger: log.logger)
        let session = try await journal.newSession()
        let head = try await journal.commit(["1"], of: session)
        FaultyDisk.set(.full, in: folder)
        let next = session.turn(after: head, state: "2")
        #expect(await journal.append(next).failure == .full)
        #expect(journal.trouble?.code == .full)
        #expect(await journal.append(next).failure == .full)
        #expect(try await journal.state(session) == "1")
        #expect(try await journal.load(session).found?.head == head)
        FaultyDisk.set(.none, in: folder)
        try await journal.waitForTrouble(false)
        #expect(await journal.append(next).isCommitted)
        #expect(try await journal.state(session) == "2")
        await journal.close()
        #expect(
            log.messages == [
                "error The journal is in trouble: nothing is stored until it recovers. The server retries by itself.",
                "notice The journal works again.",
            ])
    }

    @Test func `a journal that is deleted while it is in use is noticed, and used again when it is back`() async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        let head = try await journal.commit(["1"], of: session)
        let names = ["", "-wal", "-shm"]
        for name in names { _ = rename(folder.database + name, folder.database + ".away" + name) }
        #expect(await journal.append(session.turn(after: head, state: "lost")).failure == .unavailable)
        #expect(journal.trouble?.code == .unavailable)
        // No empty one replaces it.
        try await journal.wait("a probe found no file") { $0.trouble?.detail.contains("is missing") == true }
        #expect(try !folder.names().contains("journal.sqlite"))
        for name in names { _ = rename(folder.database + ".away" + name, folder.database + name) }
        try await journal.waitForTrouble(false)
        #expect(await journal.append(session.turn(after: head, state: "2")).isCommitted)
        #expect(try await journal.state(session) == "2")
        await journal.close()
    }

    @Test func `a log that is deleted while it is in use is noticed, and costs no acknowledged commit`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        let head = try await journal.commit(["1"], of: session)
        try folder.remove("journal.sqlite-wal")
        #expect(await journal.append(session.turn(after: head, state: "lost")).failure == .unavailable)
        try await journal.waitForTrouble(false)
        #expect(await journal.append(session.turn(after: head, state: "2")).isCommitted)
        let killed = try folder.copyAsAfterKill()
        await journal.close()
        let again = try await killed.journal()
        #expect(try await again.state(session) == "2")
        await again.close()
    }

    @Test func `a journal that is replaced is noticed without a write`() async throws {
        let (folder, other) = (try TemporaryFolder(), try TemporaryFolder())
        let spare = try await other.journal()
        let kept = try await spare.newSession()
        await spare.close()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        for name in ["-wal", "-shm"] { unlink(folder.database + name) }
        _ = rename(other.database, folder.database)
        try await journal.wait("the other is open") { (try? await $0.load(kept))?.found != nil }
        #expect(try await journal.load(session).found == nil)
        await journal.close()
    }

    @Test func `a failed sync leaves only its append in doubt`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.probeInterval = .seconds(3_600) }
        let session = try await journal.newSession()
        let other = try await journal.newSession()
        let head = try await journal.commit(["1"], of: session)
        FaultyDisk.set(.logSync, in: folder)
        let lost = session.turn(after: head, state: "lost", labels: ["1", "2", "3"])
        #expect(await journal.append(lost).isUnknown)
        // After a kill now, the next start might find the append. So a read must not deny it yet; other sessions are
        // certain.
        await #expect(throws: StoreError.self) { try await journal.state(session) }
        await #expect(throws: StoreError.self) { try await journal.load(session) }
        await #expect(throws: StoreError.self) { try await journal.news(session, since: head) }
        #expect(try await journal.load(other).found != nil)
        await journal.close()
    }

    @Test func `a change of credentials whose sync failed is not shown by its tokens or by queries`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal { $0.probeInterval = .seconds(3_600) }
        let other = try await journal.newSession()
        let (first, second) = (credential(1), credential(2))
        let record = TestSession.record()
        let key = try await awaitResult { journal.create(record, credential: first, done: $0) }.get()
        FaultyDisk.set(.logSync, in: folder)
        let change = CredentialChange(
            session: key, expecting: nil, subject: Subject(issuer: "i", id: "a"), kept: [second],
            removed: [first.token], tombstoneUntil: .seconds(9_000_000))
        await #expect(throws: StoreError.self) { try await awaitResult { journal.change(change, done: $0) }.get() }
        for token in [record.tokenHash, first.token, second.token] {
            await #expect(throws: StoreError.self) {
                try await awaitResult { journal.load(token, now: TestSession.start, done: $0) }.get()
            }
        }
        // The sessions of these queries are not known.
        for query in [SessionQuery.id(other.record.id), .subject(Subject(issuer: "i", id: "a"))] {
            await #expect(throws: StoreError.self) {
                try await awaitResult { journal.find(query, limit: 1, done: $0) }.get()
            }
        }
        await #expect(throws: StoreError.self) {
            try await awaitResult { journal.alarms(after: nil, limit: 1, done: $0) }.get()
        }
        #expect(try await journal.load(other).found != nil)
        await journal.close()
    }

    private func credential(_ number: Int) -> StoredCredential {
        StoredCredential(
            token: TestSession.record().tokenHash, kind: .bearer, number: number, principal: [],
            made: TestSession.start)
    }

    @Test func `after a sync that failed and a commit that did not, the lost append stays lost over a kill`()
        async throws
    {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        let head = try await journal.commit(["1"], of: session)
        FaultyDisk.set(.logSync, in: folder)
        // More pages than the next commit has.
        let text = String(repeating: "x", count: 50_000)
        #expect(await journal.append(session.turn(after: head, state: text)).isUnknown)
        try await journal.waitForTrouble(true)
        FaultyDisk.set(.none, in: folder)
        try await journal.waitForTrouble(false)
        #expect(try await journal.state(session) == "1")
        // The lost append's expected head is the newest, so it was certainly not committed.
        #expect(try await journal.news(session, since: head)?.head == head)
        let killed = try folder.copyAsAfterKill()
        let survivor = try await killed.journal()
        #expect(try await survivor.state(session) == "1")
        await survivor.close()
        // A retry does not conflict with the lost one.
        #expect(await journal.append(session.turn(after: head, state: "2")).isCommitted)
        await journal.close()
    }

    @Test func `an append that is found in the log after its sync failed was committed`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        let head = try await journal.commit(["1"], of: session)
        FaultyDisk.set(.logSyncOnce, in: folder)
        let turn = session.turn(after: head, state: "2", labels: ["1"])
        #expect(await journal.append(turn).isUnknown)
        await #expect(throws: StoreError.self) { try await journal.news(session, since: head) }
        // Nothing can overwrite it, so after many probes the log is read as after a kill.
        try await waitForFailures(20)
        FaultyDisk.set(.none, in: folder)
        try await journal.waitForTrouble(false)
        let news = try #require(try await journal.news(session, since: head))
        #expect(news.recentHeads == [.empty, head, turn.head])
        #expect(news.labels.map(\.id.number) == [2])
        // Its repetition is a conflict; the log continues from it.
        #expect(await journal.append(turn).isConflict)
        try await journal.commit(["3"], of: session, after: turn.head)
        await journal.close()
    }

    private func waitForFailures(_ count: Int) async throws {
        let end = ContinuousClock.now + .seconds(20)
        while FaultyDisk.failures < count {
            try #require(ContinuousClock.now < end, "the disk was not asked again")
            await Task.yield()
        }
    }

    @Test(arguments: [FaultyDisk.Fault.write, .read])
    func `a disk that fails is trouble until it works again`(fault: FaultyDisk.Fault) async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        let session = try await journal.newSession()
        try await journal.commit(["1"], of: session)
        await journal.close()
        // Opened while the disk fails, before anything was read.
        FaultyDisk.set(fault, in: folder)
        let again = try await folder.journal()
        #expect(again.trouble?.code == .unavailable)
        let turn = session.turn()
        #expect(await again.append(turn).failure == .unavailable)
        if fault == .read { await #expect(throws: StoreError.self) { try await again.state(session) } }
        FaultyDisk.set(.none, in: folder)
        try await again.waitForTrouble(false)
        #expect(try await again.state(session) == "1")
        #expect(await again.append(turn).isConflict)
        await again.close()
    }

    @Test(arguments: ["no database at all", "SQLite format 3\0 but then nonsense"])
    func `a file that is no journal is kept byte for byte until another is put in its place`(text: String) async throws
    {
        let folder = try TemporaryFolder()
        let garbage = Array(text.utf8) + (0..<20_000).map { _ in UInt8.random(in: 0...255) }
        try write(garbage, to: folder.database)
        let journal = try await folder.journal()
        #expect(journal.trouble?.code == .unavailable)
        let record = TestSession.record()
        await #expect(throws: StoreError.self) { try await journal.create(record) }
        let session = TestSession(key: SessionKey(1), record: record)
        #expect(await journal.append(session.turn()).failure == .unavailable)
        await #expect(throws: StoreError.self) { try await journal.load(session) }
        #expect(try contents(folder.database) == garbage)
        #expect(rename(folder.database, folder.path + "/damaged") == 0)
        try await journal.waitForTrouble(false)
        try await journal.commit(["1"], of: try await journal.newSession())
        await journal.close()
        #expect(try contents(folder.path + "/damaged") == garbage)
    }

    @Test func `an empty database beside a log is damage, not a new journal`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        try await journal.commit(["1"], of: try await journal.newSession())
        let killed = try folder.copyAsAfterKill()
        await journal.close()
        #expect(truncate(killed.database, 0) == 0)
        let log = try contents(killed.database + "-wal")
        let again = try await killed.journal()
        #expect(again.trouble?.detail.contains("is empty, but its log holds") == true)
        await again.close()
        #expect(try contents(killed.database + "-wal") == log)
        #expect(try contents(killed.database) == [])
    }

    @Test func `another program's database is left alone`() async throws {
        let folder = try TemporaryFolder()
        do {
            var connection = try Connection(.file(folder.database))
            try connection.script("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)")
        }
        let before = try contents(folder.database)
        let journal = try await folder.journal()
        #expect(journal.trouble?.detail.contains("is a database of another program") == true)
        await journal.close()
        #expect(try contents(folder.database) == before)
    }

    @Test func `a page that is damaged costs its own session, not the others`() async throws {
        let folder = try TemporaryFolder()
        let journal = try await folder.journal()
        var sessions: [TestSession] = []
        var heads: [SessionHead] = []
        for _ in 0..<3 {
            let session = try await journal.newSession()
            sessions.append(session)
            heads.append(try await journal.commit([String(repeating: "x", count: 20_000)], of: session))
        }
        await journal.close()
        let page = try pageOfSecondState(in: folder)
        try write([UInt8](repeating: 0xff, count: 4_096), to: folder.database, at: (page - 1) * 4_096)
        let again = try await folder.journal()
        // First as one transaction: the failing write is isolated, the others are stored.
        let appends = zip(sessions, heads).map { $0.turn(after: $1, state: "2") }
        let results = await withTaskGroup(of: (Int, AppendResult).self) { group in
            for (index, append) in appends.enumerated() { group.addTask { (index, await again.append(append)) } }
            return await group.reduce(into: [Int: AppendResult]()) { $0[$1.0] = $1.1 }
        }
        #expect(results[0]?.isCommitted == true)
        #expect(results[1]?.failure == .unavailable)
        #expect(results[2]?.isCommitted == true)
        #expect(again.trouble == nil)
        await again.close()
    }

    /// Returns a page of the second of three sessions' states.
    private func pageOfSecondState(in folder: TemporaryFolder) throws -> Int {
        var connection = try Connection(.file(folder.database))
        let pages = try connection.query(
            "SELECT pageno FROM dbstat WHERE name = 'stores' AND pagetype = 'overflow' ORDER BY pageno"
        ) { row in try row.int(0) }
        // Each has consecutive pages, created one after the other.
        try #require(pages.count > 20)
        return pages[pages.count / 2]
    }
}
