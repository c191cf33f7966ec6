import MVI
import SQLite
import SessionJournal

/// Creation, use and removal of sessions, inside an open transaction.
extension JournalDatabase {
    /// Stores a new session unless its token or id is in use or the limit is reached.
    func create(
        _ session: SessionRecord, credential: StoredCredential?, limit: Int
    ) throws -> Result<SessionKey, StoreError> {
        if try isBuried(session.tokenHash) { return .failure(.sessionGone) }
        if let credential {
            if try isBuried(credential.token) { return .failure(.sessionGone) }
            guard credential.token != session.tokenHash, try owner(of: credential.token) == nil else {
                return .failure(.sessionExists)
            }
        }
        if try connection.session(ofCredential: session.tokenHash) != nil { return .failure(.sessionExists) }
        if session.isShared, let subject = session.subject, try hasShared(subject) { return .failure(.sharedExists) }
        let count = try sessionCount ?? connection.first("SELECT count(*) FROM sessions") { try $0.int(0) } ?? 0
        sessionCount = count
        let values: [SQLiteValue] = [
            .blob(session.tokenHash.bytes), .text(session.id), .text(session.epoch),
            .text(session.credential.rawValue), .time(session.created), .time(session.lastSeen),
            SQLiteValue(session.subject?.issuer), SQLiteValue(session.subject?.id), .integer(session.isShared ? 1 : 0),
        ]
        let changes = try connection.execute(
            """
            INSERT INTO sessions (token, id, epoch, credential, created, last_seen, issuer, subject, shared)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
            """, values)
        guard changes == 1 else { return .failure(.sessionExists) }
        guard count < session.limit(ofAll: limit) else {
            try connection.execute("DELETE FROM sessions WHERE key = ?", [.integer(connection.lastInsertedRow)])
            return .failure(.tooManyKept)
        }
        sessionCount = count + 1
        let key = SessionKey(connection.lastInsertedRow)
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
        let token = try connection.first(
            "DELETE FROM sessions WHERE key = ? RETURNING token", [.integer(session.number)]
        ) { row in try row.blob(0) }
        guard let token else { return }
        sessionCount = sessionCount.map { $0 - 1 }
        try bury(token, until: tombstoneUntil, limit: limit)
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
        if expiry.hasTombstones {
            let count = try connection.execute(
                "DELETE FROM tombstones WHERE token IN (SELECT token FROM tombstones WHERE until <= ? LIMIT ?)",
                [.time(expiry.now), .integer(sessions)])
            expiry.hasTombstones = count == sessions
            tombstoneCount = tombstoneCount.map { $0 - Int(count) }
        }
        if expiry.hasReminders {
            let dueBefore = expiry.now - StoredReminder.sessionLife
            let count = try connection.execute(Self.endPassingOverSQL, [.time(dueBefore), .integer(sessions)])
            expiry.hasReminders = count == sessions
        }
        guard expiry.hasSessions else { return }
        if let usedFor = expiry.usedFor { return try reclaim(&expiry, usedFor, sessions) }
        let limit = max(0, min(sessions, expiry.limit - expiry.count))
        let lastSeenBefore = expiry.lastSeenBefore[expiry.life]
        let candidates = try connection.query(
            Self.unusedSQL, [.integer(expiry.life.rawValue), .time(lastSeenBefore), .integer(limit)]
        ) { row in (SessionKey(try row.integer(0)), try row.integer(1)) }
        for (index, (session, lastSeen)) in candidates.enumerated() {
            let newest = try lastUse(of: session, seen: lastSeen)
            if newest < lastSeenBefore {
                try remove(
                    session, tombstoneUntil: expiry.tombstoneUntil, limit: expiry.tombstoneLimit, isExpired: true)
                expiry.count += 1
            } else {
                try note(session, seen: newest)
            }
            // The next step takes the others.
            if ContinuousClock.now >= end, index < candidates.count - 1 { return }
        }
        if candidates.count < limit, let next = LifeClass(rawValue: expiry.life.rawValue + 1) {
            expiry.life = next
        } else {
            expiry.hasSessions = candidates.count == limit && expiry.count < expiry.limit
        }
    }

    /// Returns the last use, including appends, which note their time only in their store's row.
    private func lastUse(of session: SessionKey, seen: Int64) throws -> Duration {
        let time = try connection.first(
            "SELECT max(time) FROM stores WHERE \(Connection.ofSession)", [.integer(session.number)]
        ) { row in try row.optionalInteger(0) }
        return .nanoseconds(max(seen, (time ?? nil) ?? seen))
    }

    /// Examines the next sessions, longest unused first, and removes anonymous ones that were used only briefly.
    private func reclaim(_ expiry: inout SQLiteExpiry, _ usedFor: Duration, _ sessions: Int) throws {
        let lastSeenBefore = expiry.lastSeenBefore.anonymous
        let candidates = try connection.query(
            Self.brieflyUsedSQL,
            [.time(lastSeenBefore), .integer(expiry.after.seen), .integer(expiry.after.key), .integer(sessions)]
        ) { row in (key: try row.integer(0), seen: try row.integer(1), created: try row.time(2)) }
        for candidate in candidates where expiry.count < expiry.limit {
            expiry.after = (candidate.seen, candidate.key)
            guard .nanoseconds(candidate.seen) - candidate.created <= usedFor else { continue }
            let session = SessionKey(candidate.key)
            let last = try lastUse(of: session, seen: candidate.seen)
            if last < lastSeenBefore, last - candidate.created <= usedFor {
                try remove(session, tombstoneUntil: expiry.tombstoneUntil, limit: expiry.tombstoneLimit)
                expiry.count += 1
            } else {
                try note(session, seen: last)
            }
        }
        expiry.hasSessions = candidates.count == sessions && expiry.count < expiry.limit
    }

    private static let brieflyUsedSQL =
        """
        SELECT key, last_seen, created FROM sessions
        WHERE life = 0 AND last_seen < ?1 AND reminded = 0 AND (last_seen, key) > (?2, ?3) ORDER BY last_seen, key LIMIT ?4
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
        "SELECT key, last_seen FROM sessions WHERE life = ? AND last_seen < ? AND reminded = 0 ORDER BY last_seen LIMIT ?"

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
        part("set_aside", "number", 4), part("reminders", "feature, name", 64),
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

/// An expiry, which runs in many steps.
struct SQLiteExpiry: Sendable {
    let lastSeenBefore: PerLifeClass
    let now: Duration
    let tombstoneUntil: Duration
    let limit: Int
    let tombstoneLimit: Int
    /// The longest use of the anonymous sessions to reclaim; nil to expire all unused sessions.
    var usedFor: Duration?
    /// The last examined session of the anonymous ones.
    var after = (seen: Int64.min, key: Int64.min)
    /// The number of removed sessions.
    var count = 0
    var hasTombstones = true
    /// True if reminders may exist that were due too long ago to keep their sessions alive.
    var hasReminders = true
    var hasSessions = true
    /// The class whose sessions the next step examines.
    var life = LifeClass.anonymous
}
