import MVI
import SQLite
import SessionJournal

/// Reads of reminders, inside a transaction.
extension Connection {
    mutating func reminders(of session: SessionKey) throws -> [StoredReminder] {
        try query(
            """
            SELECT feature, name, due, number, action, not_before FROM reminders WHERE session = ?
            ORDER BY due, feature, name
            """,
            [.integer(session.number)]
        ) { row in
            StoredReminder(
                feature: try row.feature(0), id: try row.text(1), due: try row.time(2), number: try row.bits(3),
                action: try row.blob(4), notBefore: try row.time(5))
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
        SELECT next, session, token FROM reminders CROSS JOIN sessions ON key = session
        WHERE (next, session) > (?, ?) AND length(token) = 32 GROUP BY next, session ORDER BY next, session LIMIT ?
        """
}
