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

    /// Deletes the sessions that deleted subjects had before, marks their visits, inside a transaction, and seals the keys
    /// of older rows. Returns the number of sessions, and the subjects that this database did not know as deleted.
    mutating func forgetAgain(
        _ others: [ForgottenSubject], _ key: ForgottenKey
    ) throws -> (removed: Int, new: ForgottenFinder) {
        let found = try query("SELECT time, key, code FROM forgotten", []) { row in
            ForgottenSubject(time: try row.time(0), key: try row.blob(1), code: try row.blob(2))
        }
        for subject in found where subject.isPlain {
            try execute(
                "UPDATE forgotten SET key = ? WHERE key = ? AND code = ?",
                [.blob(key.sealed(subject).key), .blob(subject.key), .blob(subject.code)])
        }
        let known = Set(found.map { key.sealed($0) })
        let new = others.filter { !known.contains($0) }
        try note(new)
        let finder = ForgottenFinder(known.union(new), key)
        let subjects = try query(
            ["sessions", "visits"].map { "SELECT issuer, subject FROM \($0) WHERE subject IS NOT NULL" }
                .joined(separator: " UNION ")
        ) { row in try row.subject(0) }
        var count = 0
        for case let subject? in subjects {
            guard let last = finder.time(of: subject) else { continue }
            let keys = try query(
                "SELECT key FROM sessions WHERE subject = ? AND issuer = ? AND created <= ?",
                [.text(subject.id), .text(subject.issuer), .time(last)]
            ) { row in try row.integer(0) }
            for key in keys { try deleteAll(of: key) }
            try forgetVisits(of: subject, until: last)
            count += keys.count
        }
        return (count, ForgottenFinder(new, key))
    }

    private mutating func deleteAll(of session: Int64) throws {
        try execute("DELETE FROM stores WHERE \(Self.ofSession)", [.integer(session)])
        try execute("DELETE FROM recordings WHERE \(Self.recordingsOfSession)", [.integer(session)])
        for table in ["labels", "receipts", "set_aside", "reminders", "credentials", "visits", "heard"] {
            try execute("DELETE FROM \(table) WHERE session = ?", [.integer(session)])
        }
        try execute("DELETE FROM sessions WHERE key = ?", [.integer(session)])
    }
}
