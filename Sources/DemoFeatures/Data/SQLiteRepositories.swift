import SQLite

struct SQLiteLessons: LessonRepository {
    let database: DemoDatabase

    func lesson(_ id: String) async throws -> Lesson? {
        try await database.call("lessons.lesson") { connection in
            try connection.first(
                """
                SELECT lessons.id, title, coach, level, starts_at, minutes, cents, free_places, enrolled,
                    venues.name, venues.address, venues.latitude, venues.longitude
                FROM lessons JOIN venues ON venues.id = lessons.venue WHERE lessons.id = ?
                """, [.text(id)]
            ) { row in
                Lesson(
                    id: try row.text(0), title: try row.text(1), coach: try row.text(2), level: try row.text(3),
                    startsAt: try row.localTime(4), minutes: try row.int(5), price: Money(cents: try row.int(6)),
                    venue: Venue(
                        name: try row.text(9), address: try row.text(10), latitude: try row.real(11),
                        longitude: try row.real(12)),
                    freePlaces: try row.int(7), isEnrolled: try row.int(8) != 0)
            }
        }
    }

    func setEnrolled(_ isEnrolled: Bool, in id: String) async throws {
        try await database.call("lessons.setEnrolled") { connection in
            let changed = try connection.execute(
                // The right-hand side reads the places before the change.
                """
                UPDATE lessons SET enrolled = ?1,
                    free_places = free_places + CASE WHEN enrolled = ?1 THEN 0 WHEN ?1 = 1 THEN -1 ELSE 1 END
                WHERE id = ?2
                """, [.integer(isEnrolled ? 1 : 0), .text(id)])
            if changed == 0 { throw MissingRecord(what: "lesson \(id)") }
        }
    }

    func resendConfirmation(of id: String) async throws -> String {
        try await database.call("lessons.resendConfirmation") { connection in
            let email = try connection.first(
                """
                INSERT INTO confirmations (lesson, email)
                SELECT lessons.id, users.email FROM lessons, users WHERE lessons.id = ? AND users.id = 1
                RETURNING email
                """, [.text(id)]
            ) { row in try row.text(0) }
            guard let email else { throw MissingRecord(what: "lesson \(id)") }
            return email
        }
    }
}

extension Row {
    /// A time in the format of the demo's tables.
    func localTime(_ column: Int) throws -> LocalTime {
        let text = try text(column)
        guard let time = LocalTime(text) else { throw MalformedTime(text: text) }
        return time
    }
}

/// A column that should contain a time contains something else.
struct MalformedTime: Error, CustomStringConvertible {
    let text: String

    var description: String { "\"\(text)\" is not a time; expected one such as 2026-11-24 18:30" }
}

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

struct SQLiteVideos: VideoRepository {
    let database: DemoDatabase

    func all() async throws -> [Video] {
        try await database.call("videos.all") { connection in
            try connection.query("SELECT id, title, speaker, conference, seconds, slug FROM videos ORDER BY id") {
                row in
                Video(
                    id: try row.int(0), title: try row.text(1), speaker: try row.text(2),
                    conference: try row.text(3), seconds: try row.int(4), slug: try row.text(5))
            }
        }
    }

    func views() async throws -> Int {
        try await database.call("videos.views") { connection in try Self.views(&connection) }
    }

    func recordView(of id: Int) async throws -> Int? {
        try await database.call("videos.recordView") { connection in
            try connection.transaction { connection in
                let changed = try connection.execute(
                    "UPDATE videos SET views = views + 1 WHERE id = ?", [.integer(id)])
                return changed == 0 ? nil : try Self.views(&connection)
            }
        }
    }

    private static func views(_ connection: inout Connection) throws -> Int {
        try connection.first("SELECT coalesce(sum(views), 0) FROM videos") { row in try row.int(0) } ?? 0
    }
}

struct SQLiteOrders: OrderRepository {
    let database: DemoDatabase

    func status(of id: String) async throws -> OrderStatus {
        try await database.call("orders.status") { connection in try Self.status(of: id, &connection) }
    }

    func info(of id: String) async throws -> OrderInfo {
        try await database.call("orders.info") { connection in
            let info = try connection.first(
                "SELECT customer, phone, address, subject, notes FROM orders WHERE id = ?", [.text(id)]
            ) { row in
                OrderInfo(
                    customer: try row.text(0), phone: try row.text(1), address: try row.text(2),
                    subject: try row.text(3), notes: try row.optionalText(4))
            }
            guard let info else { throw MissingRecord(what: "order \(id)") }
            return info
        }
    }

    func fee(of id: String) async throws -> OrderFee {
        try await database.call("orders.fee") { connection in
            OrderFee(
                lines: try connection.query(
                    "SELECT text, cents FROM fee_lines WHERE order_id = ? ORDER BY id", [.text(id)]
                ) { row in OrderFee.Line(text: try row.text(0), amount: Money(cents: try row.int(1))) })
        }
    }

    func scheduling(of id: String) async throws -> OrderScheduling {
        try await database.call("orders.scheduling") { connection in
            let scheduling = try connection.first(
                "SELECT starts_at, ends_at, technician FROM orders WHERE id = ?", [.text(id)]
            ) { row in
                OrderScheduling(
                    from: try row.localTime(0), to: try row.localTime(1), technician: try row.optionalText(2))
            }
            guard let scheduling else { throw MissingRecord(what: "order \(id)") }
            return scheduling
        }
    }

    func take(_ step: OrderStep, in id: String) async throws -> OrderStatus {
        try await database.call("orders.take") { connection in
            // Read and write under one lock: two people may press the button at once.
            try connection.transaction { connection in
                let status = try Self.status(of: id, &connection)
                guard let target = step.target(from: status) else { throw OrderStepRefused(status: status) }
                // A technician who accepts an open order gets it.
                try connection.execute(
                    """
                    UPDATE orders SET status = ?1,
                        technician = CASE WHEN ?1 = 'received' THEN NULL ELSE coalesce(technician, 'Katrin Wolff') END
                    WHERE id = ?2
                    """, [.text(target.rawValue), .text(id)])
                return target
            }
        }
    }

    private static func status(of id: String, _ connection: inout Connection) throws -> OrderStatus {
        let text = try connection.first("SELECT status FROM orders WHERE id = ?", [.text(id)]) { row in
            try row.text(0)
        }
        guard let status = text.flatMap(OrderStatus.init) else { throw MissingRecord(what: "status of order \(id)") }
        return status
    }
}
