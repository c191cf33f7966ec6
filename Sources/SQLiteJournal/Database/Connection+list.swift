import MVI
import SQLite
import SessionJournal

/// Lists of sessions, inside a transaction.
extension Connection {
    /// Lists sessions in the order of creation after one; from the first on if it is nil.
    mutating func list(after session: SessionKey?, limit: Int) throws -> [SessionOverview] {
        try list("key > ?", [.integer(session?.number ?? .min)], order: "ASC", limit)
    }

    /// Lists sessions before one, newest first; from the last on if it is nil. With a subject, only its own.
    mutating func list(of subject: Subject?, before session: SessionKey?, limit: Int) throws -> [SessionOverview] {
        let last = SQLiteValue.integer(session?.number ?? .max)
        guard let subject else { return try list("key < ?", [last], order: "DESC", limit) }
        return try list(
            "key < ? AND subject = ? AND issuer = ?", [last, .text(subject.id), .text(subject.issuer)], order: "DESC",
            limit)
    }

    /// See `Journal`.
    mutating func findStores(
        _ queries: [StoreQuery], ofSubjects: Bool, after session: SessionKey, limit: Int
    ) throws -> FoundStores {
        let isUnused = queries.map { _ in "(feature = ? OR feature >= ? AND feature < ?) AND time < ?" }
        let values: [SQLiteValue] = queries.flatMap { query -> [SQLiteValue] in
            [.text(query.name), .text(query.keyPrefix), .text(query.keyEnd), .time(query.lastSeenBefore)]
        }
        let found = try query(
            """
            SELECT key, token, EXISTS (SELECT 1 FROM stores WHERE id >= key << 16 AND id < (key + 1) << 16
                AND (\(isUnused.joined(separator: " OR "))))
            FROM sessions WHERE key > ? \(ofSubjects ? "AND subject IS NOT NULL" : "") ORDER BY key LIMIT ?
            """, values + [.integer(session.number), .integer(max(0, limit))]
        ) { row in (key: try row.integer(0), token: try row.blob(1), hasUnused: try row.integer(2) != 0) }
        var page = FoundStores()
        page.last = found.last.map { SessionKey($0.key) }
        page.sessions = found.filter { $0.hasUnused && $0.token.count == 32 }.map { TokenHash($0.token) }
        return page
    }

    private mutating func list(
        _ condition: String, _ values: [SQLiteValue], order: String, _ limit: Int
    ) throws -> [SessionOverview] {
        let sessions = try query(
            """
            SELECT key, name, created, max(last_seen, coalesce(max(time), last_seen)), count(feature),
                coalesce(sum(length(state) + length(view)), 0), issuer, subject, shared, space
            FROM (SELECT key, id AS name, created, last_seen, issuer, subject, shared, space FROM sessions
                WHERE \(condition) ORDER BY key \(order) LIMIT ?)
            LEFT JOIN stores ON stores.id >= key << 16 AND stores.id < (key + 1) << 16
            GROUP BY key ORDER BY key \(order)
            """, values + [.integer(max(0, limit))]
        ) { row -> SessionOverview? in
            do {
                return SessionOverview(
                    key: SessionKey(try row.integer(0)), id: try row.id(1), created: try row.time(2),
                    lastSeen: try row.time(3), stores: try row.int(4), bytes: try row.int(5),
                    subject: try row.subject(6), isShared: try row.integer(8) != 0, space: try row.space(9))
            } catch {
                guard Self.isOfValue(error) else { throw error }
                return nil
            }
        }
        return sessions.compactMap(\.self)
    }
}
