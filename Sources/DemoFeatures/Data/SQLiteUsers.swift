import SQLite

struct SQLiteUsers: UserRepository {
    let database: DemoDatabase

    func current() async throws -> User {
        try await database.call("users.current") { connection in
            let user = try connection.first(
                "SELECT name, email, phone, city, plan, joined_at FROM users WHERE id = 1"
            ) { row in
                User(
                    name: try row.text(0), email: try row.text(1), phone: try row.optionalText(2),
                    city: try row.text(3), plan: try row.text(4), joinedAt: try row.localTime(5))
            }
            guard let user else { throw MissingRecord(what: "user") }
            return user
        }
    }
}
