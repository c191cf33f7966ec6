import Dispatch
import Testing

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@testable import SQLite

@Suite(.timeLimit(.minutes(10))) struct DatabaseThreadTests {
    private func makeThread(limit: Int = 100) throws -> DatabaseThread {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a)")
        return try DatabaseThread(owning: connection, limit: limit)
    }

    /// Keeps the database thread busy until `release`.
    private struct Blocker: Sendable {
        let entered = DispatchSemaphore(value: 0)
        let gate = DispatchSemaphore(value: 0)

        func block(_ thread: DatabaseThread) async throws {
            try await thread.perform { _ in
                entered.signal()
                gate.wait()
            }
        }

        /// Returns when the thread has reached the gate. The wait blocks a thread of Dispatch, none of Swift's pool.
        func waitUntilEntered() async {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    entered.wait()
                    continuation.resume()
                }
            }
        }

        func release() { gate.signal() }
    }

    @Test func `closures run in the order in which they were handed over`() async throws {
        let thread = try makeThread()
        for number in 0..<100 {
            try await thread.perform { connection in
                _ = try connection.execute("INSERT INTO t VALUES (?)", [.integer(number)])
            }
        }
        let numbers = try await thread.perform { connection in
            try connection.query("SELECT a FROM t ORDER BY rowid") { row in try row.int(0) }
        }
        #expect(numbers == Array(0..<100))
        await thread.close()
    }

    @Test func `many callers at once lose nothing`() async throws {
        let thread = try makeThread(limit: 1000)
        try await withThrowingTaskGroup { group in
            for _ in 0..<500 {
                group.addTask {
                    try await thread.perform { connection in _ = try connection.execute("INSERT INTO t VALUES (1)") }
                }
            }
            try await group.waitForAll()
        }
        let count = try await thread.perform { connection in
            try connection.first("SELECT count(*) FROM t") { row in try row.int(0) }
        }
        #expect(count == 500)
        await thread.close()
    }

    @Test func `a throw reaches its caller and no other`() async throws {
        let thread = try makeThread()
        await #expect(throws: SQLiteError.self) {
            try await thread.perform { connection in _ = try connection.execute("nonsense") }
        }
        #expect(try await thread.perform { _ in 7 } == 7)
        await thread.close()
    }

    @Test func `a closure whose caller is canceled while it waits never runs`() async throws {
        let thread = try makeThread()
        let blocker = Blocker()
        async let blocking: Void = blocker.block(thread)
        await blocker.waitUntilEntered()

        let waiting = Task {
            try await thread.perform { connection in _ = try connection.execute("INSERT INTO t VALUES (1)") }
        }
        waiting.cancel()
        // The thread is blocked: only the cancellation can end this.
        await #expect(throws: CancellationError.self) { try await waiting.value }

        blocker.release()
        try await blocking
        let count = try await thread.perform { connection in
            try connection.first("SELECT count(*) FROM t") { row in try row.int(0) }
        }
        #expect(count == 0)
        await thread.close()
    }

    @Test func `closures beyond the limit are refused`() async throws {
        let thread = try makeThread(limit: 0)
        await #expect(throws: DatabaseThreadError.tooManyWaiting(limit: 0)) {
            try await thread.perform { _ in }
        }
        await thread.close()
    }

    @Test func `close runs waiting closures, then refuses others, and may be called again`() async throws {
        let thread = try makeThread()
        let blocker = Blocker()
        async let blocking: Void = blocker.block(thread)
        await blocker.waitUntilEntered()
        async let closing: Void = thread.close()
        blocker.release()
        await closing
        try await blocking
        await thread.close()
        await #expect(throws: DatabaseThreadError.closed) { try await thread.perform { _ in } }
    }

    @Test func `a closed database lets go of its file`() async throws {
        let path = "/tmp/sqlite-tests-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer { unlink(path) }
        var connection = try Connection(.file(path))
        // The mode is the file's: the last connection to close removes the log.
        try connection.script("PRAGMA journal_mode = WAL; CREATE TABLE t (a); INSERT INTO t VALUES (5)")
        let thread = try DatabaseThread(owning: connection)
        #expect(access(path + "-wal", F_OK) == 0)
        await thread.close()
        #expect(access(path + "-wal", F_OK) == -1)
        var again = try Connection(.file(path))
        #expect(try again.first("SELECT a FROM t") { row in try row.int(0) } == 5)
    }

    @Test func `a second writer waits for the busy timeout and is then told`() throws {
        let path = "/tmp/sqlite-tests-\(UInt64.random(in: 0 ... .max)).sqlite"
        defer { unlink(path) }
        var first = try Connection(.file(path), busyTimeout: .zero)
        var second = try Connection(.file(path), busyTimeout: .zero)
        try first.script("CREATE TABLE t (a)")
        try first.transaction { _ in
            let error = #expect(throws: SQLiteError.self) { try second.execute("INSERT INTO t VALUES (1)") }
            #expect(error?.code == .busy)
        }
    }
}
