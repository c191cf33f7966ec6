import SQLite

struct SQLiteNumbers: NumberRepository {
    let database: DemoDatabase

    func next() async throws -> Int {
        try await database.call("numbers.next") { connection in
            let number = try connection.first(
                """
                UPDATE numbers SET uses = uses + 1
                WHERE id = (SELECT id FROM numbers ORDER BY uses, id LIMIT 1) RETURNING value
                """
            ) { row in try row.int(0) }
            guard let number else { throw MissingRecord(what: "number") }
            return number
        }
    }
}
