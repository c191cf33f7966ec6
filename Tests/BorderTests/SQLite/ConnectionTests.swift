import Testing

@testable import SQLite

@Suite struct ConnectionTests {
    @Test func `every kind of value comes back as it was bound`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a, b, c, d, e)")
        let text = "naïve 🧵 with\0a NUL"
        try connection.execute(
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
            [.integer(Int64.min), .real(-0.5), .text(text), .blob([0, 255, 10]), nil])

        let row = try connection.first("SELECT a, b, c, d, e FROM t") { row in
            (try row.integer(0), try row.real(1), try row.text(2), try row.blob(3), try row.isNull(4))
        }

        let (integer, real, read, blob, isNull) = try #require(row)
        #expect(integer == .min)
        #expect(real == -0.5)
        #expect(read == text)
        #expect(blob == [0, 255, 10])
        #expect(isNull)
    }

    @Test func `an empty text and an empty blob are not NULL`() throws {
        var connection = try Connection(.memory)
        let row = try connection.first("SELECT ?, ?, typeof(?1), typeof(?2)", [.text(""), .blob([])]) { row in
            (try row.text(0), try row.blob(1), try row.text(2), try row.text(3))
        }
        let (text, blob, textType, blobType) = try #require(row)
        #expect(text.isEmpty && blob.isEmpty)
        #expect(textType == "text")
        #expect(blobType == "blob")
    }

    @Test func `a column of another type is an error that names it, not a zero`() throws {
        var connection = try Connection(.memory)
        let error = #expect(throws: SQLiteError.self) {
            try connection.first("SELECT 'abc' AS title") { row in try row.integer(0) }
        }
        #expect(error?.code == .mismatch)
        #expect(error?.message == "column 0 (title) holds TEXT, expected INTEGER")
    }

    @Test(arguments: [-1, 1, Int.max])
    func `a column that is not there is an error`(column: Int) throws {
        var connection = try Connection(.memory)
        let error = #expect(throws: SQLiteError.self) {
            try connection.first("SELECT 1") { row in try row.isNull(column) }
        }
        #expect(error?.code == .range)
    }

    @Test func `optional columns tell NULL from a value`() throws {
        var connection = try Connection(.memory)
        let row = try connection.first("SELECT NULL, 'x', NULL, 7") { row in
            (
                try row.optionalText(0), try row.optionalText(1), try row.optionalInteger(2),
                try row.optionalInteger(3)
            )
        }
        let (noText, text, noInteger, integer) = try #require(row)
        #expect(noText == nil && text == "x" && noInteger == nil && integer == 7)
    }

    @Test func `execute says how many rows changed, and none for a query`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3)")
        #expect(try connection.execute("UPDATE t SET a = a + 1 WHERE a > ?", [1]) == 2)
        #expect(try connection.execute("SELECT a FROM t") == 0)
    }

    @Test func `a wrong number of values is refused before anything runs`() throws {
        var connection = try Connection(.memory)
        let error = #expect(throws: SQLiteError.self) { try connection.execute("SELECT ?, ?", [1]) }
        #expect(error?.code == .misuse)
        #expect(error?.message == "1 values were given for 2 parameters")
    }

    @Test(arguments: ["SELECT 1; SELECT 2", "SELECT 1; x"])
    func `a second statement is refused, not skipped`(sql: String) throws {
        var connection = try Connection(.memory)
        let error = #expect(throws: SQLiteError.self) { try connection.execute(sql) }
        #expect(error?.code == .misuse)
    }

    @Test(arguments: ["", "  ", "-- nothing"])
    func `SQL without a statement is refused`(sql: String) throws {
        var connection = try Connection(.memory)
        let error = #expect(throws: SQLiteError.self) { try connection.execute(sql) }
        #expect(error?.code == .misuse)
    }

    @Test func `a blank end after the statement is fine`() throws {
        var connection = try Connection(.memory)
        #expect(try connection.first("SELECT 1;\n") { row in try row.int(0) } == 1)
    }

    @Test func `an error carries code, extended code, message and SQL`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
        let error = #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES (?)", [1]) }
        #expect(error?.code == .constraint)
        #expect(error?.extendedCode == 2067)
        #expect(
            error?.description
                == "SQLite error 19 (constraint failed, extended 2067): UNIQUE constraint failed: t.a"
                + " in: INSERT INTO t VALUES (?)")
    }

    @Test func `after an error the statement can be used again`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a UNIQUE); INSERT INTO t VALUES (1)")
        #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO t VALUES (?)", [1]) }
        #expect(try connection.execute("INSERT INTO t VALUES (?)", [2]) == 1)
    }

    @Test func `a throw while rows are read leaves the statement usable`() throws {
        struct Stop: Error {}
        var connection = try Connection(.memory)
        #expect(throws: Stop.self) { try connection.query("SELECT ?", [1]) { _ throws in throw Stop() } }
        #expect(try connection.query("SELECT ?", [2]) { row in try row.int(0) } == [2])
    }

    @Test func `rows written with RETURNING are kept`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE t (a)")
        let inserted = try connection.first("INSERT INTO t VALUES (1), (2) RETURNING a") { row in try row.int(0) }
        #expect(inserted == 1)
        #expect(try connection.query("SELECT a FROM t") { row in try row.int(0) } == [1, 2])
        let last = connection.lastInsertedRow
        #expect(last == 2)
    }

    @Test func `a compiled statement is kept and the longest unused goes first`() throws {
        var connection = try Connection(.memory, access: .create, statementLimit: 2)
        for sql in ["SELECT 1", "SELECT 2", "SELECT 1", "SELECT 3"] { try connection.execute(sql) }
        let kept = connection.cachedStatements
        #expect(kept == 2)
        #expect(try connection.first("SELECT 1") { row in try row.int(0) } == 1)
        let keptAfterwards = connection.cachedStatements
        #expect(keptAfterwards == 2)
    }

    @Test func `foreign keys are enforced`() throws {
        var connection = try Connection(.memory)
        try connection.script("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a REFERENCES a)")
        let error = #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO b VALUES (1)") }
        #expect(error?.code == .constraint)
    }

    @Test func `a path with a NUL is refused, not cut short`() throws {
        let error = #expect(throws: SQLiteError.self) { _ = try Connection(.file("/tmp/a\0b")) }
        #expect(error?.code == .cannotOpen)
    }

    @Test(arguments: ["", "/no/such/folder/demo.sqlite"])
    func `a path that cannot be opened is an error that says so`(path: String) throws {
        #expect(throws: SQLiteError.self) { _ = try Connection(.file(path)) }
    }
}
