import SQLite

/// The content of a new database. People and places are made up; lessons and appointments are after the first start.
enum DemoSeed {
    static func fill(_ connection: inout Connection) throws {
        for value in [42, 7, 128, 19, 230, 64, 3, 85, 511, 36] {
            try connection.execute("INSERT INTO numbers (value) VALUES (?)", [.integer(value)])
        }
        for video in videos {
            try connection.execute(
                "INSERT INTO videos (title, speaker, conference, seconds, slug, views) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .text(video.title), .text(video.speaker), .text(video.conference), .integer(video.seconds),
                    .text(video.slug), .integer(video.views),
                ])
        }
        try fillLessons(&connection)
        try fillOrders(&connection)
        for user in users {
            try connection.execute(
                "INSERT INTO users (name, email, phone, city, plan, joined_at) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .text(user.name), .text(user.email), SQLiteValue(user.phone), .text(user.city), .text(user.plan),
                    .text(user.joinedAt),
                ])
        }
    }

    private static func fillLessons(_ connection: inout Connection) throws {
        for venue in venues {
            try connection.execute(
                "INSERT INTO venues (name, address, latitude, longitude) VALUES (?, ?, ?, ?)",
                [.text(venue.name), .text(venue.address), .real(venue.latitude), .real(venue.longitude)])
        }
        for lesson in lessons {
            try connection.execute(
                """
                INSERT INTO lessons (id, title, coach, level, starts_at, minutes, cents, venue, free_places, enrolled)
                VALUES (?, ?, ?, ?, strftime('%Y-%m-%d %H:%M', 'now', 'start of day', ?, ?), ?, ?, ?, ?, 1)
                """,
                [
                    .text(lesson.id), .text(lesson.title), .text(lesson.coach), .text(lesson.level),
                    .text("+\(lesson.inDays) days"), .text("+\(lesson.minuteOfDay) minutes"),
                    .integer(lesson.minutes), .integer(lesson.cents), .integer(lesson.venue),
                    .integer(lesson.freePlaces),
                ])
        }
    }

    private static func fillOrders(_ connection: inout Connection) throws {
        for order in orders {
            try connection.execute(
                """
                INSERT INTO orders
                    (id, status, customer, phone, address, subject, notes, starts_at, ends_at, technician)
                VALUES (?, ?, ?, ?, ?, ?, ?, strftime('%Y-%m-%d %H:%M', 'now', 'start of day', ?, ?),
                    strftime('%Y-%m-%d %H:%M', 'now', 'start of day', ?, ?), ?)
                """,
                [
                    .text(order.id), .text(order.status.rawValue), .text(order.customer), .text(order.phone),
                    .text(order.address), .text(order.subject), SQLiteValue(order.notes),
                    .text("+\(order.inDays) days"), .text("+\(order.fromHour) hours"),
                    .text("+\(order.inDays) days"), .text("+\(order.fromHour + 2) hours"),
                    SQLiteValue(order.technician),
                ])
            for (text, cents) in order.fee {
                try connection.execute(
                    "INSERT INTO fee_lines (order_id, text, cents) VALUES (?, ?, ?)",
                    [.text(order.id), .text(text), .integer(cents)])
            }
        }
    }
}
