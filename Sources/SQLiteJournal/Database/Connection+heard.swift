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

    mutating func senders(of session: SessionKey) throws -> [StoredSender] {
        try query(
            "SELECT sender, number, time FROM heard WHERE session = ? ORDER BY sender", [.integer(session.number)]
        ) { row in
            StoredSender(last: HeardMessage(sender: try row.blob(0), number: try row.bits(1)), time: try row.time(2))
        }
    }

    mutating func write(_ sender: StoredSender, of session: SessionKey) throws(SQLiteError) {
        try execute(
            """
            INSERT INTO heard (session, sender, number, time) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET number = excluded.number, time = max(time, excluded.time)
            """,
            [.integer(session.number), .blob(sender.last.sender), .bits(sender.last.number), .time(sender.time)])
    }

    /// Deletes senders whose last message was received before a time since 1970. Returns their number, at most `limit`.
    mutating func deleteSenders(heardBefore time: Duration, limit: Int) throws -> Int {
        let old = try query(
            "SELECT session, sender FROM heard WHERE time < ? ORDER BY time LIMIT ?", [.time(time), .integer(limit)]
        ) { row in (session: try row.integer(0), sender: try row.blob(1)) }
        // By key: for a list of keys, SQLite reads all senders of a session for each.
        for (session, sender) in old {
            try execute("DELETE FROM heard WHERE session = ? AND sender = ?", [.integer(session), .blob(sender)])
        }
        return old.count
    }
}
