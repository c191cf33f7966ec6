import MVI
import SQLite
import SessionJournal

/// Deleted subjects, and what a restored backup has of them.
extension Connection {
    /// Notes deleted subjects.
    mutating func note(_ subjects: [ForgottenSubject]) throws {
        for subject in subjects {
            try execute(
                "INSERT INTO forgotten (time, key, code) VALUES (?, ?, ?)",
                [.time(subject.time), .blob(subject.key), .blob(subject.code)])
        }
    }

    /// Deletes the sessions that deleted subjects had before, inside a transaction. Returns their number.
    mutating func forgetAgain(_ others: [ForgottenSubject]) throws -> Int {
        let known = try query("SELECT time, key, code FROM forgotten", []) { row in
            ForgottenSubject(time: try row.time(0), key: try row.blob(1), code: try row.blob(2))
        }
        let new = others.filter { !known.contains($0) }
        try note(new)
        let subjects = try query("SELECT DISTINCT issuer, subject FROM sessions WHERE subject IS NOT NULL", []) { row in
            try row.subject(0)
        }
        var count = 0
        for case let subject? in subjects {
            let last = (known + new).filter { $0.isOf(subject) }.map(\.time).max()
            guard let last else { continue }
            let keys = try query(
                "SELECT key FROM sessions WHERE subject = ? AND issuer = ? AND created <= ?",
                [.text(subject.id), .text(subject.issuer), .time(last)]
            ) { row in try row.integer(0) }
            for key in keys { try deleteAll(of: key) }
            count += keys.count
        }
        return count
    }

    private mutating func deleteAll(of session: Int64) throws {
        try execute("DELETE FROM stores WHERE \(Self.ofSession)", [.integer(session)])
        try execute("DELETE FROM recordings WHERE \(Self.recordingsOfSession)", [.integer(session)])
        for table in ["labels", "receipts", "set_aside", "reminders", "credentials"] {
            try execute("DELETE FROM \(table) WHERE session = ?", [.integer(session)])
        }
        try execute("DELETE FROM sessions WHERE key = ?", [.integer(session)])
    }
}
