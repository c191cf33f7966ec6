import MVI
import PostgreSQL
import SessionJournal

/// The list of deleted subjects outside the database, for restores of older backups: see `ForgottenList`.
extension Maintenance {
    private static let sessionsAtOnce = 10_000
    /// The time for which clients of sessions that are deleted again learn that these have ended.
    private static let tombstoneTime: Duration = .seconds(24 * 3_600)

    /// Deletes again what the database has of subjects that only the list names, then completes each from the other.
    func exchangeForgotten(_ connection: PostgresConnection) throws {
        guard let list = engine.options.forgottenList else { return }
        let sql = engine.statements
        let key = try list.key()
        let listed = try list.subjects(key)
        let rows = try run(connection, "SELECT key, time, code FROM \(sql.schema).forgotten")
        let noted = try rows.rows.map { row in
            ForgottenSubject(time: try row.time(1), key: try row.bytes(0), code: try row.bytes(2))
        }
        guard noted.allSatisfy(key.isOwn) else {
            throw StoreError(
                .invalid,
                "The journal's database has deleted subjects of another key than that in \(list.keyPath). Give each server a copy of one key."
            )
        }
        try seal(noted.filter(\.isPlain), key, connection)
        let known = Set(noted.map { key.sealed($0) })
        let new = Set(listed + [key.mark]).subtracting(known)
        let subjects = new.subtracting([key.mark])
        if !new.isEmpty {
            let count = subjects.isEmpty ? 0 : try forgetAgain(ForgottenFinder(subjects, key), connection)
            _ = try connection.run([sql.note(Array(new))], deadline: .now + engine.options.transactionTime)
            if !subjects.isEmpty {
                engine.logger.notice(
                    "The list of deleted subjects has some that the journal's database did not know, as after a restore: their sessions were deleted again.",
                    metadata: ["list": "\(list.path)", "subjects": "\(subjects.count)", "sessions": "\(count)"])
            }
        }
        let missing = known.subtracting(listed).subtracting([key.mark])
        if !missing.isEmpty { try list.append(Array(missing)) }
    }

    /// Replaces rows whose keys stand beside them.
    private func seal(_ rows: [ForgottenSubject], _ key: ForgottenKey, _ connection: PostgresConnection) throws {
        guard !rows.isEmpty else { return }
        let sql = engine.statements
        try transaction(
            connection,
            [
                sql.note(rows.map { key.sealed($0) }),
                PostgresStatement(
                    "DELETE FROM \(sql.schema).forgotten WHERE key = ANY($1::bytea[])", [.byteas(rows.map(\.key))]),
            ])
    }

    /// Deletes the sessions that deleted subjects had before, and marks their visits. Returns the number of sessions.
    private func forgetAgain(_ finder: ForgottenFinder, _ connection: PostgresConnection) throws -> Int {
        let sql = engine.statements
        let until = try run(connection, "SELECT (extract(epoch FROM now()) * 1e9)::bigint").first?.time(0) ?? .zero
        var (last, count): (Int64, Int) = (.min, 0)
        while true {
            if engine.isClosing { throw StoreError.journalClosed }
            let page = try run(
                connection,
                """
                SELECT key, issuer, subject, created FROM \(sql.schema).sessions WHERE subject IS NOT NULL AND key > $1
                ORDER BY key LIMIT \(Self.sessionsAtOnce)
                """, [.int8(last)])
            guard !page.rows.isEmpty else { break }
            var keys: [SessionKey] = []
            for row in page.rows {
                last = try row.int8(0)
                guard let subject = try row.subject(1) else { continue }
                let created = try row.time(3)
                if let time = finder.time(of: subject), time >= created { keys.append(try row.key(0)) }
            }
            try remove(keys, until: until + Self.tombstoneTime, connection)
            count += keys.count
        }
        try forgetVisits(finder, connection)
        try deleteRemoved(connection)
        return count
    }

    private func forgetVisits(_ finder: ForgottenFinder, _ connection: PostgresConnection) throws {
        let sql = engine.statements
        var last: (space: SessionKey, visitor: [UInt8]) = (SessionKey(.min), [])
        while true {
            let page = try page(connection, sql.visits(after: last, limit: Self.sessionsAtOnce))
            guard !page.rows.isEmpty else { return }
            var found: [(space: SessionKey, visit: Visit)] = []
            for row in page.rows {
                let visit = try Rows.visits.read(row, 1)
                last = (try row.key(0), try row.bytes(1))
                guard let subject = visit.subject, let time = finder.time(of: subject) else { continue }
                if time >= visit.lastUse { found.append((last.space, visit)) }
            }
            if !found.isEmpty { try transaction(connection, [sql.forget(found)]) }
        }
    }

    private func remove(_ keys: [SessionKey], until: Duration, _ connection: PostgresConnection) throws {
        guard !keys.isEmpty else { return }
        try transaction(connection, engine.statements.remove(keys, tombstoneUntil: until))
        engine.withSessions { $0.count? -= keys.count }
        // Servers that have them in memory.
        var news = OutgoingNews()
        for key in keys { news.change(key) }
        engine.leaveNews(news)
    }

    /// Deletes the rows that removed sessions have left.
    func deleteRemoved(_ connection: PostgresConnection) throws {
        let sql = engine.statements
        while true {
            let keys = try page(connection, sql.removed(limit: 64)).map { row in try row.key(0) }
            if keys.isEmpty { return }
            try transaction(connection, sql.deleteRows(of: keys))
        }
    }

    private func transaction(_ connection: PostgresConnection, _ statements: [PostgresStatement]) throws {
        _ = try connection.run(
            [PostgresStatement("BEGIN ISOLATION LEVEL READ COMMITTED"), PostgresStatement(engine.statements.plans)]
                + statements + [PostgresStatement("COMMIT")], deadline: .now + .seconds(3_600))
    }
}
