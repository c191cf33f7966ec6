import Locking
import MVI
import PostgreSQL
import SessionJournal

/// The complete deletion of a subject's rows, in transactions between those of others. Meanwhile no server accepts a
/// sign-in of the subject.
extension PostgresEngine {
    private static var sessionsAtOnce: Int { 64 }

    /// Notes the deletion, first in the list outside the database, then in the database, and waits for sign-ins that have
    /// begun. Then removes the subject's sessions, also damaged ones.
    func purge(_ subject: Subject, now: Duration, tombstoneUntil: Duration, _ done: @escaping Done<Void>) {
        let next: Done<Void> = { [self] result in
            guard case .success = result else { return done(result) }
            removeSessions(of: subject, tombstoneUntil, done)
        }
        let noted = Lock<ForgottenSubject?>(options.forgottenList == nil ? .plain(subject, at: now) : nil)
        steps([], next, isOfDirectory: true) { [self] transaction in
            _ = try transaction.run([statements.lock(subject, forSignIn: false)])
            // Once, also if the transaction runs again.
            if let list = options.forgottenList, noted.withLock({ $0 }) == nil {
                let listed = try list.note(subject, at: now)
                noted.withLock { $0 = listed }
            }
            let rows = noted.withLock { $0.map { [$0] } ?? [] }
            _ = try transaction.commit([
                statements.refuseSignIns(subject, options.forgettingTime), statements.note(rows),
                statements.forgetVisits(of: subject),
            ])
            return .success(())
        }
    }

    private func removeSessions(of subject: Subject, _ tombstoneUntil: Duration, _ done: @escaping Done<Void>) {
        let next: Done<Int> = { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(0): removeRest(subject, done)
            case .success: removeSessions(of: subject, tombstoneUntil, done)
            }
        }
        steps([], next, wait: .all, isOfDirectory: true, endsSessions: true) { [self] transaction in
            let found = try transaction.run([
                statements.refuseSignIns(subject, options.forgettingTime),
                statements.sessions(of: subject, limit: Self.sessionsAtOnce),
            ])
            let keys = try found[1].map { row in try row.key(0) }
            // Again, since its sessions went on until now.
            let rest = keys.isEmpty ? [statements.forgetVisits(of: subject)] : []
            _ = try transaction.commit(statements.remove(keys, tombstoneUntil: tombstoneUntil) + rest)
            withSessions { $0.count? -= keys.count }
            for key in keys { transaction.news.change(key) }
            return .success(keys.count)
        }
    }

    /// Deletes the remaining rows of removed sessions.
    private func removeRest(_ subject: Subject, _ done: @escaping Done<Void>) {
        let next: Done<Int> = { [self] result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(0): acceptSignIns(of: subject, done)
            case .success: removeRest(subject, done)
            }
        }
        steps([], next) { [self] transaction in
            let found = try transaction.run([
                statements.refuseSignIns(subject, options.forgettingTime),
                statements.removed(limit: Self.sessionsAtOnce),
            ])
            let keys = try found[1].map { row in try row.key(0) }
            _ = try transaction.commit(statements.deleteRows(of: keys))
            return .success(keys.count)
        }
    }

    private func acceptSignIns(of subject: Subject, _ done: @escaping Done<Void>) {
        steps([], done) { [self] transaction in
            _ = try transaction.commit([statements.acceptSignIns(subject)])
            return .success(())
        }
    }
}

extension WriteTransaction {
    /// Returns the reason if a sign-in of the subject is refused: its data is being deleted. Otherwise a deletion waits
    /// for the end of this transaction.
    func refusal(toSignIn subject: Subject?, _ sql: Statements) throws -> StoreError? {
        guard let subject else { return nil }
        // The second statement sees what was committed while the first one waited.
        let results = try run([sql.lock(subject, forSignIn: true), sql.isRefused(subject)])
        return results[1].rows.isEmpty ? nil : .subjectIsForgotten
    }
}

extension Statements {
    /// The hash of a subject, whose parts are the first two parameters.
    private static let subjectHash = "sha256($1 || decode('00', 'hex') || $2)"

    private func values(of subject: Subject) -> [PostgresValue] { [.utf8(subject.issuer), .utf8(subject.id)] }

    /// Excludes a deletion of the subject's data until the end of the transaction, or all sign-ins.
    fileprivate func lock(_ subject: Subject, forSignIn: Bool) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT pg_advisory_xact_lock\(forSignIn ? "_shared" : "")(hashtextextended(
                'mvi subject \(quotedText(plainSchema)) ' || encode(\(Self.subjectHash), 'hex'), 0))
            """, values(of: subject))
    }

    fileprivate func refuseSignIns(_ subject: Subject, _ time: Duration) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO \(schema).forgetting (subject, until)
            VALUES (\(Self.subjectHash), clock_timestamp() + $3 * interval '1 millisecond')
            ON CONFLICT (subject) DO UPDATE SET until = excluded.until
            """, values(of: subject) + [.int8(time.nanoseconds / 1_000_000)])
    }

    fileprivate func acceptSignIns(_ subject: Subject) -> PostgresStatement {
        PostgresStatement(
            "DELETE FROM \(schema).forgetting WHERE subject = \(Self.subjectHash) OR until < clock_timestamp()",
            values(of: subject))
    }

    fileprivate func isRefused(_ subject: Subject) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT FROM \(schema).forgetting WHERE subject = \(Self.subjectHash) AND until >= clock_timestamp()
            """, values(of: subject))
    }

    fileprivate func sessions(of subject: Subject, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT key FROM \(schema).sessions WHERE sha256(subject) = sha256($1) AND subject = $1 AND issuer = $2
            ORDER BY key LIMIT $3
            """, [.utf8(subject.id), .utf8(subject.issuer), .int8(Int64(limit))])
    }

    /// Removes sessions.
    func remove(_ keys: [SessionKey], tombstoneUntil: Duration) -> [PostgresStatement] {
        keys.isEmpty
            ? [] : [lock(keys)] + keys.map { remove($0) } + removeRest(of: keys, tombstoneUntil: tombstoneUntil)
    }

    /// The keys of removed sessions that may have rows left.
    func removed(limit: Int) -> PostgresStatement {
        PostgresStatement(
            "SELECT session FROM \(schema).removed ORDER BY session LIMIT $1", [.int8(Int64(limit))])
    }

    /// Deletes rows that removed sessions have left, and forgets the sessions without any.
    func deleteRows(of sessions: [SessionKey]) -> [PostgresStatement] {
        let keys = PostgresValue.int8s(sessions.map(\.number))
        return sessions.isEmpty
            ? []
            : deletePages(of: keys) + [
                PostgresStatement(
                    "DELETE FROM \(schema).removed AS t WHERE session = ANY ($1) AND NOT (\(hasRows("t.session")))",
                    [keys])
            ]
    }

    /// Deletes rows of removed sessions that may be many, and notes the sessions that have more than a page of them.
    ///
    /// - Parameter fromEras: False to leave labels and receipts, whose partitions are dropped.
    func deleteMany(of keys: PostgresValue, fromEras: Bool) -> [PostgresStatement] {
        // An expiry kept some of them.
        let gone = "\(Self.keys) WHERE NOT EXISTS (SELECT FROM \(schema).sessions AS s WHERE s.key = k.key)"
        return deletePages(of: keys, found: gone, fromEras: fromEras) + [
            PostgresStatement(
                """
                INSERT INTO \(schema).removed (session) SELECT k.key FROM \(gone)
                    AND (\(hasRows("k.key", inEras: fromEras))) ON CONFLICT DO NOTHING
                """, [keys])
        ]
    }

    private func pagedTables(withEras: Bool) -> [RowTable] {
        Rows.tables.filter { $0.pages != nil && (withEras || !$0.hasEras) }
    }

    private func hasRows(_ key: String, inEras: Bool = true) -> String {
        pagedTables(withEras: inEras)
            .map { "EXISTS (SELECT FROM \(schema).\($0.name) AS r WHERE r.session = \(key))" }
            .joined(separator: " OR ")
    }

    private static let keys = "unnest($1::bigint[]) AS k (key)"

    /// Deletes a page of each session's rows.
    private func deletePages(
        of keys: PostgresValue, found: String = Statements.keys, fromEras: Bool = true
    ) -> [PostgresStatement] {
        pagedTables(withEras: fromEras).compactMap { table in
            guard let (order, end) = table.pages else { return nil }
            return PostgresStatement(
                """
                DELETE FROM \(schema).\(table.name) AS r USING (
                    SELECT k.key, (SELECT o.\(order) FROM \(schema).\(table.name) AS o WHERE o.session = k.key
                        ORDER BY o.\(order) OFFSET \(Self.rowsAtOnce - 1) LIMIT 1) AS last
                    FROM \(found) OFFSET 0) AS page
                WHERE r.session = page.key AND r.\(order) <= coalesce(page.last, \(end))
                """, [keys])
        }
    }

    private static var rowsAtOnce: Int { 1_000 }

    /// Notes deleted subjects, except those that are noted.
    func note(_ subjects: [ForgottenSubject]) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO \(schema).forgotten (key, time, code) SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bytea[])
            ON CONFLICT (key) DO NOTHING
            """,
            [
                .byteas(subjects.map(\.key)), .int8s(subjects.map(\.time.nanoseconds)),
                .byteas(subjects.map(\.code)),
            ])
    }
}
