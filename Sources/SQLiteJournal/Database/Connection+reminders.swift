import MVI
import SQLite
import SessionJournal

/// Reads of reminders, inside a transaction.
extension Connection {
    mutating func reminders(of session: SessionKey) throws -> [StoredReminder] {
        try query(
            "SELECT feature, name, due, number, action FROM reminders WHERE session = ? ORDER BY due, feature, name",
            [.integer(session.number)]
        ) { row in
            StoredReminder(
                feature: try row.feature(0), id: try row.text(1), due: try row.time(2), number: try row.bits(3),
                action: try row.blob(4))
        }
    }

    mutating func alarms(after alarm: Alarm?, limit: Int) throws -> [Alarm] {
        let due = alarm.map { SQLiteValue.time($0.due) } ?? .integer(Int64.min)
        let place = [due, .integer(alarm?.session.number ?? 0), .integer(max(0, limit))]
        return try query(Self.alarmsSQL, place) { row in
            Alarm(token: TokenHash(try row.blob(2)), session: SessionKey(try row.integer(1)), due: try row.time(0))
        }
    }

    /// Reads only the needed rows of the index and no rows of reminders. Skips sessions that are gone or damaged.
    static let alarmsSQL = """
        SELECT due, session, token FROM reminders CROSS JOIN sessions ON key = session
        WHERE (due, session) > (?, ?) AND length(token) = 32 GROUP BY due, session ORDER BY due, session LIMIT ?
        """
}
