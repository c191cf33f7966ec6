import MVI
import SQLite
import SessionJournal

/// Changes of reminders, inside an open transaction.
extension JournalDatabase {
    /// Makes changes. There must be at least one.
    func write(_ changes: [ReminderChange], of session: SessionKey) throws(SQLiteError) {
        let key = SQLiteValue.integer(session.number)
        for change in changes {
            switch change {
            case .set(let reminder):
                try connection.execute(
                    """
                    INSERT INTO reminders (session, feature, name, due, number, action, not_before)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    ON CONFLICT DO UPDATE SET due = excluded.due, number = excluded.number, action = excluded.action,
                        not_before = excluded.not_before
                    """,
                    [
                        key, .text(reminder.feature.text), .text(reminder.id), .time(reminder.due),
                        .bits(reminder.number), .blob(reminder.action), .time(reminder.notBefore),
                    ])
            case .forgotten(let feature, let id):
                try connection.execute(
                    "DELETE FROM reminders WHERE session = ? AND feature = ? AND name = ?",
                    [key, .text(feature.text), .text(id)])
            }
        }
        // Written only if the value has changed.
        try connection.execute(
            """
            UPDATE sessions SET reminded = NOT reminded
            WHERE key = ?1 AND reminded <> EXISTS (SELECT 1 FROM reminders WHERE session = ?1)
            """, [key])
    }
}
