import MVI
import PostgreSQL
import SessionJournal

/// The complete deletion of a subject's rows, in transactions between those of others.
extension PostgresEngine {
    private static var sessionsAtOnce: Int { 64 }

    /// Removes the subject's sessions, also damaged ones.
    func purge(_ subject: Subject, _ tombstoneUntil: Duration, _ done: @escaping Done<Void>) {
        let next: Done<Int> = { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(0): purgeRest(of: .labels, done)
            case .success: purge(subject, tombstoneUntil, done)
            }
        }
        steps([], next, wait: .all, isOfDirectory: true, endsSessions: true) { [self] transaction in
            let found = try transaction.run([statements.sessions(of: subject, limit: Self.sessionsAtOnce)])
            let keys = try found[0].map { row in try row.key(0) }
            guard !keys.isEmpty else { return .success(0) }
            _ = try transaction.commit(
                [statements.lock(keys)] + keys.map { statements.remove($0) }
                    + statements.removeRest(of: keys, tombstoneUntil: tombstoneUntil))
            withSessions { $0.count? -= keys.count }
            for key in keys { transaction.news.change(key) }
            return .success(keys.count)
        }
    }

    /// The tables whose rows are usually dropped with their partitions.
    private enum Rest: String, Sendable { case labels, receipts }

    /// Deletes rows that belong to no session any more.
    private func purgeRest(of table: Rest, _ done: @escaping Done<Void>) {
        let next: Done<Int> = { [self] result in
            switch (result, table) {
            case (.failure(let error), _): done(.failure(error))
            case (.success(0), .labels): purgeRest(of: .receipts, done)
            case (.success(0), .receipts): done(.success(()))
            case (.success, _): purgeRest(of: table, done)
            }
        }
        steps([], next) { [self] transaction in
            let found = try transaction.run([statements.sessionsWithout(table.rawValue, limit: Self.sessionsAtOnce)])
            let keys = try found[0].map { row in try row.key(0) }
            guard !keys.isEmpty else { return .success(0) }
            _ = try transaction.commit([statements.deleteRows(of: keys, from: table.rawValue)])
            return .success(keys.count)
        }
    }
}

extension Statements {
    fileprivate func sessions(of subject: Subject, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT key FROM \(schema).sessions WHERE sha256(subject) = sha256($1) AND subject = $1 AND issuer = $2
            ORDER BY key LIMIT $3
            """, [.utf8(subject.id), .utf8(subject.issuer), .int8(Int64(limit))])
    }

    /// The keys of rows that belong to no session.
    fileprivate func sessionsWithout(_ table: String, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT DISTINCT session FROM \(schema).\(table) AS t
            WHERE NOT EXISTS (SELECT FROM \(schema).heads AS h WHERE h.key = t.session) LIMIT $1
            """, [.int8(Int64(limit))])
    }

    fileprivate func deleteRows(of sessions: [SessionKey], from table: String) -> PostgresStatement {
        PostgresStatement(
            "DELETE FROM \(schema).\(table) WHERE session = ANY ($1)", [.int8s(sessions.map(\.number))])
    }
}
