import SQLite
import SessionJournal

/// Sessions come and go, inside an open transaction.
extension JournalDatabase {
    /// Keeps a new session; nil if there is one with its token or id.
    func create(_ session: SessionRecord) throws -> SessionKey? {
        let changes = try connection.execute(
            """
            INSERT INTO sessions (token, id, epoch, credential, created, last_seen) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """,
            [
                .blob(session.tokenHash.bytes), .text(session.id), .text(session.epoch),
                .text(session.credential.rawValue), .time(session.created), .time(session.lastSeen),
            ])
        return changes == 1 ? SessionKey(connection.lastInsertedRow) : nil
    }

    /// Forgets a store; the session's row keeps what the store's row knew of it.
    func removeStore(
        _ feature: FeatureID, of session: SessionKey, marks: SessionMarks, _ cache: inout SessionCache
    ) throws {
        guard var entry = try entry(of: session, &cache) else { return }
        if let index = entry.stores.firstIndex(where: { $0.feature == feature }) {
            let time = try connection.first(
                "DELETE FROM stores WHERE id = ? RETURNING time", [.integer(entry.stores[index].id)]
            ) { row in try row.integer(0) }
            try connection.execute(
                "UPDATE sessions SET sequence_floor = ?2, last_seen = max(last_seen, ?3) WHERE key = ?1",
                [.integer(session.number), .bits(entry.sequence), .integer(time ?? 0)])
            entry.stores.remove(at: index)
            cache[session] = entry
        }
        try write(marks, of: session)
    }

    /// Forgets a session; what belongs to it is deleted in steps later. Says whether it was there.
    func remove(_ session: SessionKey, tombstoneUntil: Duration, _ cache: inout SessionCache) throws -> Bool {
        cache[session] = nil
        return try forget(session, tombstoneUntil: tombstoneUntil)
    }

    /// Notes that a session was used, and which of its labels were.
    func note(_ touch: SessionTouch) throws {
        try see(touch.session, touch.lastSeen)
        for label in touch.written {
            try connection.execute(
                "UPDATE labels SET written = 1 WHERE session = ? AND sequence = ? AND place = ? AND written = 0",
                [.integer(touch.session.number), .bits(label.sequence), .integer(label.index)])
        }
    }

    private func forget(_ session: SessionKey, tombstoneUntil: Duration) throws -> Bool {
        let token = try connection.first(
            "DELETE FROM sessions WHERE key = ? RETURNING token", [.integer(session.number)]
        ) { row in try row.blob(0) }
        guard let token else { return false }
        try connection.execute(
            "INSERT INTO tombstones (token, until) VALUES (?, ?) ON CONFLICT DO UPDATE SET until = excluded.until",
            [.blob(token), .time(tombstoneUntil)])
        try connection.execute("INSERT INTO garbage (session) VALUES (?)", [.integer(session.number)])
        return true
    }

    // MARK: Expiry

    /// Does as much as the step's time allows, at least a little.
    func take(_ step: inout ExpiryStep) throws {
        if step.expiry?.hasTombstones == true { try deleteTombstones(&step) }
        if step.expiry?.hasSessions == true { try expire(&step) }
        step.hasGarbage = try sweep(until: step.end)
    }

    private func deleteTombstones(_ step: inout ExpiryStep) throws {
        guard var expiry = step.expiry else { return }
        let count = try connection.execute(
            "DELETE FROM tombstones WHERE token IN (SELECT token FROM tombstones WHERE until <= ? LIMIT ?)",
            [.time(expiry.now), .integer(step.sessions)])
        expiry.hasTombstones = count == step.sessions
        step.expiry = expiry
    }

    private func expire(_ step: inout ExpiryStep) throws {
        guard var expiry = step.expiry else { return }
        let limit = min(step.sessions, expiry.limit - expiry.count)
        let candidates = try connection.query(
            "SELECT key, last_seen FROM sessions WHERE last_seen < ? ORDER BY last_seen LIMIT ?",
            [.time(expiry.lastSeenBefore), .integer(max(0, limit))]
        ) { row in (SessionKey(try row.integer(0)), try row.integer(1)) }
        var seen = 0
        for (session, lastSeen) in candidates {
            seen += 1
            // An append notes its time in its store's row only.
            let time = try connection.first(
                "SELECT max(time) FROM stores WHERE id >= ?1 << 16 AND id < (?1 + 1) << 16",
                [.integer(session.number)]
            ) { row in try row.optionalInteger(0) }
            let newest = max(lastSeen, (time ?? nil) ?? lastSeen)
            if newest < expiry.lastSeenBefore.nanoseconds {
                _ = try forget(session, tombstoneUntil: expiry.tombstoneUntil)
                step.removed.append(session)
                expiry.count += 1
            } else {
                try see(session, .nanoseconds(newest))
            }
            if step.isOver { break }
        }
        let isAll = seen == candidates.count && candidates.count < limit
        expiry.hasSessions = !isAll && expiry.count < expiry.limit
        step.expiry = expiry
    }

    /// Deletes rows of sessions that are gone; says whether there may be more.
    private func sweep(until end: ContinuousClock.Instant) throws -> Bool {
        repeat {
            let session = try connection.first("SELECT session FROM garbage LIMIT 1") { row in try row.integer(0) }
            guard let session else { return false }
            var isClean = true
            for part in Self.parts {
                // A row may have a state of megabytes, whose pages are freed one by one.
                let count = try connection.execute(part.sql, [.integer(session), .integer(part.rows)])
                if count == part.rows { isClean = false }
                if ContinuousClock.now >= end, !isClean { return true }
            }
            if isClean { try connection.execute("DELETE FROM garbage WHERE session = ?", [.integer(session)]) }
        } while ContinuousClock.now < end
        return true
    }

    private static let parts: [(sql: String, rows: Int)] = [
        (
            """
            DELETE FROM stores WHERE id IN
                (SELECT id FROM stores WHERE id >= ?1 << 16 AND id < (?1 + 1) << 16 LIMIT ?2)
            """, 4
        ),
        part("labels", "sequence, place", 256), part("receipts", "scope, name", 256), part("epochs", "epoch", 256),
        part("recordings", "sequence", 32), part("set_aside", "sequence", 4),
    ]

    private static func part(_ table: String, _ key: String, _ rows: Int) -> (sql: String, rows: Int) {
        (
            """
            DELETE FROM \(table) WHERE session = ?1 AND (\(key)) IN
                (SELECT \(key) FROM \(table) WHERE session = ?1 LIMIT ?2)
            """, rows
        )
    }
}
