import Testing

@testable import SQLite

@Suite struct PreparedStatementTests {
    private func makeConnection() throws -> Connection {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a, b, c)")
        return connection
    }

    @Test func `a statement runs again with the values it has, and with new ones`() throws {
        var connection = try makeConnection()
        let insert = try connection.prepare("INSERT INTO t VALUES (?1, ?2, ?3)")
        try insert.bind(1, at: 1)
        try insert.bind("x", at: 2)
        #expect(try insert.withBound([1, 2], at: 3) { try insert.run() } == 1)
        try insert.bind(2, at: 1)
        #expect(try insert.run() == 1)
        let select = try connection.prepare("SELECT a, b, c IS NULL FROM t ORDER BY a")
        let rows = try select.all { row in (try row.int(0), try row.text(1), try row.int(2)) }
        #expect(rows.map(\.0) == [1, 2])
        #expect(rows.map(\.1) == ["x", "x"])
        // Bytes are bound for one closure only.
        #expect(rows.map(\.2) == [0, 1])
    }

    @Test(arguments: [[], [0], [UInt8](repeating: 7, count: 100_000)])
    func `bytes come back as they were bound`(bytes: [UInt8]) throws {
        var connection = try makeConnection()
        let insert = try connection.prepare("INSERT INTO t (a) VALUES (?1)")
        _ = try insert.withBound(bytes, at: 1) { try insert.run() }
        let select = try connection.prepare("SELECT a FROM t")
        #expect(try select.first { row in try row.blob(0) } == bytes)
    }

    @Test func `nil is NULL`() throws {
        var connection = try makeConnection()
        let insert = try connection.prepare("INSERT INTO t (a, b) VALUES (?1, ?2)")
        try insert.bind(nil, at: 1)
        _ = try insert.withBound(nil, at: 2) { try insert.run() }
        #expect(try connection.first("SELECT a IS NULL AND b IS NULL FROM t") { row in try row.int(0) } == 1)
    }

    @Test func `a run that fails can be followed by one that works`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (x'01')")
        let insert = try connection.prepare("INSERT INTO t VALUES (?1)")
        let error = #expect(throws: SQLiteError.self) { try insert.withBound([1], at: 1) { try insert.run() } }
        #expect(error?.code == .constraint)
        #expect(try insert.withBound([2], at: 1) { try insert.run() } == 1)
    }

    @Test func `a parameter that is not there is an error`() throws {
        var connection = try makeConnection()
        let insert = try connection.prepare("INSERT INTO t (a) VALUES (?1)")
        let error = #expect(throws: SQLiteError.self) { try insert.bind(1, at: 2) }
        #expect(error?.code == .range)
    }
}
