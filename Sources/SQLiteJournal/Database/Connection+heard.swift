import SQLite
import SessionJournal

/// The senders of messages that sessions received, inside a transaction.
extension Connection {
    /// Returns the number of a sender's last message to a session.
    mutating func lastNumber(of sender: [UInt8], to session: SessionKey) throws -> UInt64? {
        try first(
            "SELECT number FROM heard WHERE session = ? AND sender = ?", [.integer(session.number), .blob(sender)]
        ) { row in try row.bits(0) }
    }

    mutating func write(_ sender: StoredSender, of session: SessionKey) throws(SQLiteError) {
        try execute(
            """
            INSERT INTO heard (session, sender, number, time) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET number = excluded.number, time = max(time, excluded.time)
            """,
            [.integer(session.number), .blob(sender.last.sender), .bits(sender.last.number), .time(sender.time)])
    }
}
