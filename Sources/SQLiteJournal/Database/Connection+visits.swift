import MVI
import SQLite
import SessionJournal

/// Visits of spaces, inside a transaction.
extension Connection {
    private static let visitColumns = "visitor, last_use, forgotten, visits.issuer, visits.subject"

    /// True for a session whose subject is the person of its anonymous client.
    private static let isOnePerson = """
        NOT EXISTS (
            SELECT 1 FROM credentials AS c WHERE c.session = sessions.key AND c.number = \(StoredCredential.ofAnotherPerson))
        """

    mutating func visits(_ visits: VisitQuery, limit: Int) throws -> [SpaceVisit] {
        let condition: String
        var values: [SQLiteValue] = []
        switch visits {
        case .subject(let subject):
            condition = "visits.subject = ? AND visits.issuer = ?"
            values = [.text(subject.id), .text(subject.issuer)]
        case .forgotten: condition = "forgotten = 1"
        }
        let found = try query(
            """
            SELECT \(Self.visitColumns), space, key FROM visits CROSS JOIN sessions ON key = session
            WHERE \(condition) LIMIT ?
            """, values + [.integer(limit)]
        ) { row in
            try row.space(5).map { SpaceVisit(space: $0, key: SessionKey(try row.integer(6)), visit: try row.visit()) }
        }
        return found.compactMap(\.self)
    }

    mutating func visits(of space: SessionKey) throws -> [Visit] {
        try query(
            "SELECT \(Self.visitColumns) FROM visits WHERE session = ? ORDER BY visitor", [.integer(space.number)]
        ) { row in try row.visit() }
    }

    mutating func write(_ visit: Visit, of space: SessionKey) throws(SQLiteError) {
        try execute(
            """
            INSERT INTO visits (session, visitor, last_use, issuer, subject) VALUES (
                ?1, ?2, ?3, coalesce(?4, (SELECT issuer FROM sessions WHERE id = ?2 AND \(Self.isOnePerson))),
                coalesce(?5, (SELECT subject FROM sessions WHERE id = ?2 AND \(Self.isOnePerson))))
            ON CONFLICT DO UPDATE SET last_use = max(last_use, excluded.last_use),
                issuer = CASE WHEN excluded.subject IS NULL THEN issuer ELSE excluded.issuer END,
                subject = coalesce(excluded.subject, subject)
            """,
            [
                .integer(space.number), .text(visit.session), .time(visit.lastUse), SQLiteValue(visit.subject?.issuer),
                SQLiteValue(visit.subject?.id),
            ])
    }

    /// Notes the subject of a session in its visits without one.
    mutating func signIn(_ session: SessionKey, _ subject: Subject) throws(SQLiteError) {
        try execute(
            """
            UPDATE visits SET issuer = ?, subject = ?
            WHERE visitor = (SELECT id FROM sessions WHERE key = ? AND \(Self.isOnePerson)) AND subject IS NULL
            """, [.text(subject.issuer), .text(subject.id), .integer(session.number)])
    }

    /// Marks a deleted subject's visits until a time since 1970.
    mutating func forgetVisits(of subject: Subject, until time: Duration = .nanoseconds(Int64.max)) throws(SQLiteError)
    {
        try execute(
            "UPDATE visits SET forgotten = 1 WHERE subject = ? AND issuer = ? AND last_use <= ? AND forgotten = 0",
            [.text(subject.id), .text(subject.issuer), .time(time)])
    }

    /// Deletes anonymous visits before a time since 1970. Returns their number, at most `limit`.
    mutating func deleteVisits(before time: Duration, limit: Int) throws(SQLiteError) -> Int {
        try execute(
            """
            DELETE FROM visits WHERE rowid IN
                (SELECT rowid FROM visits WHERE subject IS NULL AND last_use < ? ORDER BY last_use LIMIT ?)
            """, [.time(time), .integer(limit)])
    }
}

extension JournalDatabase {
    func forget(
        visitsOf sessions: [String], receipts: [ReceiptKey], labels: [LabelID], in space: SessionKey
    ) throws {
        for key in receipts { try deleteReceipt(key, of: space) }
        try delete(labels, of: space)
        try connection.execute(
            "DELETE FROM recordings WHERE \(Connection.recordingsOfSession)", [.integer(space.number)])
        cache[space]?.recordings = nil
        for session in sessions {
            try connection.execute(
                "DELETE FROM visits WHERE session = ? AND visitor = ?", [.integer(space.number), .text(session)])
        }
    }
}

extension Row {
    /// Reads a visit from the first columns.
    fileprivate func visit() throws -> Visit {
        Visit(
            session: try text(0), subject: try subject(3), lastUse: try time(1), isForgotten: try integer(2) != 0)
    }
}
