import MVI
import SQLite
import SessionJournal

/// Creation, use and removal of sessions, inside an open transaction.
extension JournalDatabase {
    /// Stores a new session unless its token, id or name is in use or the limit is reached.
    func create(
        _ session: SessionRecord, credential: StoredCredential?, limit: Int, spaceLimit: Int
    ) throws -> Result<SessionKey, StoreError> {
        let tokens = [session.tokenHash] + (credential.map { [$0.token] } ?? [])
        let names = try tokens.map(name)
        let hasID = try connection.first("SELECT 1 FROM sessions WHERE id = ?", [.text(session.id)]) { try $0.int(0) }
        let named = try session.space.flatMap { space in
            try connection.first("SELECT 1 FROM sessions WHERE space = ?", [.text(space.text)]) { try $0.int(0) }
        }
        let isNew = Set(tokens).count == tokens.count && names.allSatisfy { $0 == .unknown || $0 == .ended }
        guard isNew, hasID == nil, named == nil else { return .failure(.sessionExists) }
        if names.contains(.ended) { return .failure(.sessionGone) }
        if session.isShared, let subject = session.subject, try hasShared(subject) { return .failure(.sharedExists) }
        let count = try sessionCount ?? connection.first("SELECT count(*) FROM sessions") { try $0.int(0) } ?? 0
        let spaces =
            try spaceCount
            ?? connection.first("SELECT count(*) FROM sessions WHERE space IS NOT NULL") { try $0.int(0) } ?? 0
        (sessionCount, spaceCount) = (count, spaces)
        if session.space == nil {
            guard count - spaces < session.limit(ofAll: limit) else { return .failure(.tooManyKept) }
        } else {
            guard spaces < spaceLimit else { return .failure(.tooManySpaces) }
        }
        try connection.execute(
            """
            INSERT INTO sessions (token, id, epoch, credential, created, last_seen, issuer, subject, shared, space,
                client)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                .blob(session.tokenHash.bytes), .text(session.id), .text(session.epoch),
                .text(session.credential.rawValue), .time(session.created), .time(session.lastSeen),
                SQLiteValue(session.subject?.issuer), SQLiteValue(session.subject?.id),
                .integer(session.isShared ? 1 : 0), SQLiteValue(session.space?.text),
                SQLiteValue(session.settings?.text),
            ])
        sessionCount = count + 1
        if session.space != nil { spaceCount = spaces + 1 }
        let key = SessionKey(connection.lastInsertedRow)
        if let subject = session.subject { try connection.signIn(key, subject) }
        if let credential { try insert(credential, of: key) }
        return .success(key)
    }

    /// Notes a session's use.
    func note(_ session: SessionKey, seen time: Duration) throws(SQLiteError) {
        try connection.execute(
            "UPDATE sessions SET last_seen = ?2 WHERE key = ?1 AND last_seen < ?2",
            [.integer(session.number), .time(time)])
    }

    /// Notes a session's use, that of its credentials and stores, pauses of its reminders, and its written labels.
    func note(_ touch: SessionTouch) throws {
        try note(touch.session, seen: touch.lastSeen)
        for (token, lastSeen) in touch.credentials {
            try connection.execute(
                "UPDATE credentials SET seen = ?3 WHERE token = ?2 AND session = ?1 AND seen < ?3",
                [.integer(touch.session.number), .blob(token.bytes), .time(lastSeen)])
        }
        for (feature, lastSeen) in touch.stores {
            try connection.execute(
                "UPDATE stores SET time = ?3 WHERE \(Connection.ofSession) AND feature = ?2 AND time < ?3",
                [.integer(touch.session.number), .text(feature.text), .time(lastSeen)])
        }
        for reminder in touch.reminders {
            try connection.execute(
                """
                UPDATE reminders SET not_before = ?6
                WHERE session = ?1 AND feature = ?2 AND name = ?3 AND due = ?4 AND number = ?5
                """,
                [
                    .integer(touch.session.number), .text(reminder.feature.text), .text(reminder.id),
                    .time(reminder.due), .bits(reminder.number), .time(reminder.notBefore),
                ])
        }
        for label in touch.written {
            try connection.execute(
                "UPDATE labels SET written = 1 WHERE session = ? AND number = ? AND place = ? AND written = 0",
                [.integer(touch.session.number), .bits(label.number), .integer(label.index)])
        }
    }

    /// Removes a session and its credentials if it is present. Its other data is deleted later in steps.
    ///
    /// - Parameter isExpired: True if the tokens of its credentials are not remembered as ended.
    func remove(_ session: SessionKey, tombstoneUntil: Duration, limit: Int, isExpired: Bool = false) throws {
        cache[session] = nil
        let removed = try connection.first(
            "DELETE FROM sessions WHERE key = ? RETURNING token, space IS NOT NULL", [.integer(session.number)]
        ) { row in (token: try row.blob(0), isSpace: try row.int(1) != 0) }
        guard let removed else { return }
        sessionCount = sessionCount.map { $0 - 1 }
        if removed.isSpace {
            spaceCount = spaceCount.map { $0 - 1 }
        } else {
            try bury(removed.token, until: tombstoneUntil, limit: limit)
        }
        let tokens = try connection.query(
            "DELETE FROM credentials WHERE session = ? RETURNING token", [.integer(session.number)]
        ) { row in try row.blob(0) }
        if !isExpired { for token in tokens { try bury(token, until: tombstoneUntil, limit: limit) } }
        try connection.execute("INSERT INTO garbage (session) VALUES (?)", [.integer(session.number)])
        hasGarbage = true
    }

    /// Remembers a token as ended. Beyond the limit, drops the tombstone that ends first.
    func bury(_ token: [UInt8], until: Duration, limit: Int) throws {
        let count =
            try tombstoneCount ?? connection.first("SELECT count(*) FROM tombstones") { try $0.int(0) } ?? 0
        let changes = try connection.execute(
            "INSERT INTO tombstones (token, until) VALUES (?, ?) ON CONFLICT DO NOTHING", [.blob(token), .time(until)])
        guard changes == 1 else {
            try connection.execute(
                "UPDATE tombstones SET until = ?2 WHERE token = ?1", [.blob(token), .time(until)])
            return
        }
        tombstoneCount = count + 1
        guard count >= limit else { return }
        try connection.execute(
            "DELETE FROM tombstones WHERE token = (SELECT token FROM tombstones ORDER BY until LIMIT 1)")
        tombstoneCount = count
    }

    /// Runs one step of an expiry: as much as possible until `end`, at least a little, and at most `sessions` sessions.
    func step(_ expiry: inout SQLiteExpiry, until end: ContinuousClock.Instant, sessions: Int) throws {
        for rows in expiry.common.ending where try delete(rows, expiry.common, limit: sessions) < sessions {
            expiry.common.noteEnd(of: rows)
        }
        if expiry.hasReminders {
            let count = try connection.execute(
                Self.endPassingOverSQL, [.time(expiry.common.dueBefore), .integer(sessions)])
            expiry.hasReminders = count == sessions
        }
        guard expiry.common.hasSessions else { return }
        let isReclaim = expiry.common.usedFor != nil
        let limit = isReclaim ? sessions : expiry.common.stepSize(atMost: sessions)
        var candidates: [(key: Int64, seen: Int64, created: Duration, life: LifeClass)] = []
        for life in isReclaim ? [.anonymous] : LifeClass.allCases where candidates.count < limit {
            let after: [SQLiteValue] = isReclaim ? [.integer(expiry.after.seen), .integer(expiry.after.key)] : []
            candidates += try connection.query(
                isReclaim ? Self.brieflyUsedSQL : Self.unusedSQL,
                [.integer(life.rawValue), .time(expiry.common.lastSeenBefore[life])] + after
                    + [.integer(limit - candidates.count)]
            ) { row in (key: try row.integer(0), seen: try row.integer(1), created: try row.time(2), life: life) }
        }
        var removed = 0
        for (index, candidate) in candidates.enumerated() where removed < expiry.common.limit - expiry.common.count {
            expiry.after = (candidate.seen, candidate.key)
            let session = SessionKey(candidate.key)
            func ends(_ seen: Duration) -> Bool {
                expiry.common.ends(candidate.life, created: candidate.created, lastSeen: seen)
            }
            // The row's time may be old. A reclaim passes over those that are no candidates even so.
            guard ends(.nanoseconds(candidate.seen)) else { continue }
            let last = try lastUse(of: session, seen: candidate.seen)
            if ends(last) {
                try remove(
                    session, tombstoneUntil: expiry.common.tombstoneUntil, limit: expiry.tombstoneLimit, isExpired: true
                )
                removed += 1
            } else {
                try note(session, seen: last)
            }
            // The next step takes the others.
            if ContinuousClock.now >= end, index < candidates.count - 1 {
                return expiry.common.removed(removed, isLast: false)
            }
        }
        expiry.common.removed(removed, isLast: candidates.count < limit)
    }

    /// Deletes rows that have ended. Returns their number, at most `limit`.
    private func delete(_ rows: Expiry.Rows, _ expiry: Expiry, limit: Int) throws -> Int {
        switch rows {
        case .tombstones:
            let count = try connection.execute(
                "DELETE FROM tombstones WHERE token IN (SELECT token FROM tombstones WHERE until <= ? LIMIT ?)",
                [.time(expiry.now), .integer(limit)])
            tombstoneCount = tombstoneCount.map { $0 - count }
            return count
        case .anonymousVisits:
            return try connection.deleteVisits(before: expiry.lastSeenBefore.anonymous, limit: limit)
        case .senders: return try connection.deleteSenders(heardBefore: expiry.heardBefore, limit: limit)
        }
    }

    /// Returns the last use, including appends, which note their time only in their store's row.
    private func lastUse(of session: SessionKey, seen: Int64) throws -> Duration {
        let time = try connection.first(
            "SELECT max(time) FROM stores WHERE \(Connection.ofSession)", [.integer(session.number)]
        ) { row in try row.optionalInteger(0) }
        return .nanoseconds(max(seen, (time ?? nil) ?? seen))
    }

    /// Anonymous sessions, longest unused first.
    private static let brieflyUsedSQL =
        """
        SELECT key, last_seen, created FROM sessions
        WHERE life = ? AND last_seen < ? AND reminded = 0 AND (last_seen, key) > (?, ?) ORDER BY last_seen, key LIMIT ?
        """

    /// Marks sessions whose reminders were all due long ago as no longer kept alive by them.
    static let endPassingOverSQL = """
        UPDATE sessions SET reminded = 0 WHERE key IN (
            SELECT DISTINCT session FROM reminders INDEXED BY reminders_by_due CROSS JOIN sessions ON key = session
            WHERE due < ?1 AND reminded = 1
                AND NOT EXISTS (SELECT 1 FROM reminders AS later WHERE later.session = key AND later.due >= ?1)
            LIMIT ?2)
        """

    /// Sessions of a class without reminders that seem unused. The index contains no others.
    static let unusedSQL =
        """
        SELECT key, last_seen, created FROM sessions
        WHERE life = ? AND last_seen < ? AND reminded = 0 ORDER BY last_seen LIMIT ?
        """

    /// Deletes rows of removed sessions: as much as possible until `end`, at least a little.
    func deleteGarbage(until end: ContinuousClock.Instant) throws {
        repeat {
            let session = try connection.first("SELECT session FROM garbage LIMIT 1") { row in try row.integer(0) }
            guard let session else {
                hasGarbage = false
                return
            }
            var isClean = true
            for part in Self.parts {
                // A row may have a state of megabytes, whose pages are freed one by one.
                let count = try connection.execute(part.sql, [.integer(session), .integer(part.rows)])
                if count == part.rows { isClean = false }
                if ContinuousClock.now >= end, !isClean { return }
            }
            if isClean { try connection.execute("DELETE FROM garbage WHERE session = ?", [.integer(session)]) }
        } while ContinuousClock.now < end
    }

    private static let parts: [(sql: String, rows: Int)] = [
        ("DELETE FROM stores WHERE id IN (SELECT id FROM stores WHERE \(Connection.ofSession) LIMIT ?2)", 4),
        (
            """
            DELETE FROM recordings WHERE id IN
                (SELECT id FROM recordings WHERE \(Connection.recordingsOfSession) LIMIT ?2)
            """, 32
        ),
        part("labels", "number, place", 256), part("receipts", "scope, name", 256),
        part("set_aside", "number", 4), part("reminders", "feature, name", 64), part("visits", "visitor", 256),
        part("heard", "sender", 256),
    ]

    /// Repeats the session outside: otherwise SQLite 3.40 reads all rows of a session for each of its receipts.
    private static func part(_ table: String, _ key: String, _ rows: Int) -> (sql: String, rows: Int) {
        (
            """
            DELETE FROM \(table) WHERE session = ?1 AND (\(key)) IN
                (SELECT \(key) FROM \(table) WHERE session = ?1 LIMIT ?2)
            """, rows
        )
    }
}

/// An expiry with what only this journal's needs.
struct SQLiteExpiry: Sendable {
    var common: Expiry
    let tombstoneLimit: Int
    /// The last examined one of the anonymous sessions to reclaim.
    var after = (seen: Int64.min, key: Int64.min)
    /// True if reminders may exist that were due too long ago to keep their sessions alive.
    var hasReminders: Bool

    init(_ expiry: Expiry, tombstoneLimit: Int) {
        (common, self.tombstoneLimit, hasReminders) = (expiry, tombstoneLimit, expiry.usedFor == nil)
    }
}
