import Testing

@testable import SQLite

@Suite struct TransactionTests {
    struct Stop: Error {}

    private func makeConnection() throws -> Connection {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a)")
        return connection
    }

    private func count(_ connection: inout Connection) throws -> Int? {
        try connection.first("SELECT count(*) FROM t") { row in try row.int(0) }
    }

    @Test func `what a transaction wrote is there after it`() throws {
        var connection = try makeConnection()
        let value = try connection.transaction { connection in
            try connection.execute("INSERT INTO t VALUES (1)")
            return "done"
        }
        #expect(value == "done")
        let isOpen = connection.isInTransaction
        #expect(!isOpen)
        #expect(try count(&connection) == 1)
    }

    @Test func `a throw undoes all of it, and the next transaction works`() throws {
        var connection = try makeConnection()
        #expect(throws: Stop.self) {
            try connection.transaction { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                throw Stop()
            }
        }
        let isOpen = connection.isInTransaction
        #expect(!isOpen)
        #expect(try count(&connection) == 0)
        try connection.transaction(.deferred) { connection in _ = try connection.execute("INSERT INTO t VALUES (1)") }
        #expect(try count(&connection) == 1)
    }

    @Test func `a commit that fails undoes all of it`() throws {
        var connection = try makeConnection()
        try connection.script(
            "CREATE TABLE parent (id INTEGER PRIMARY KEY);"
                + "CREATE TABLE child (p REFERENCES parent DEFERRABLE INITIALLY DEFERRED)")
        let error = #expect(throws: SQLiteError.self) {
            try connection.transaction { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                try connection.execute("INSERT INTO child VALUES (9)")
            }
        }
        #expect(error?.code == .constraint)
        let isOpen = connection.isInTransaction
        #expect(!isOpen)
        #expect(try count(&connection) == 0)
    }

    @Test func `a transaction inside another throws and undoes both`() throws {
        var connection = try makeConnection()
        #expect(throws: SQLiteError.self) {
            try connection.transaction { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                try connection.transaction { connection in
                    _ = try connection.execute("INSERT INTO t VALUES (2)")
                }
            }
        }
        #expect(try count(&connection) == 0)
    }
}
