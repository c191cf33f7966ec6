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
                // The places on the right are those before the change.
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
    /// A time as the demo's tables keep it.
    func localTime(_ column: Int) throws -> LocalTime {
        let text = try text(column)
        guard let time = LocalTime(text) else { throw MalformedTime(text: text) }
        return time
    }
}

/// A column that should hold a time holds something else.
struct MalformedTime: Error, CustomStringConvertible {
    let text: String

    var description: String { "\"\(text)\" is no time; expected one such as 2026-11-24 18:30" }
}
