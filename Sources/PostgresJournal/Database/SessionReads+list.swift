import MVI
import PostgreSQL
import SessionJournal

/// Lists of sessions.
extension SessionReads {
    /// Lists sessions in the order of creation after one; from the first on if it is nil.
    static func list(_ sql: Statements, after session: SessionKey?, limit: Int) -> PostgresStatement {
        list(sql, "key > $2", [.int8(session?.number ?? .min)], order: "ASC", limit)
    }

    /// Lists sessions before one, newest first; from the last on if it is nil. With a subject, only its own.
    static func list(
        _ sql: Statements, of subject: Subject?, before session: SessionKey?, limit: Int
    ) -> PostgresStatement {
        let last = PostgresValue.int8(session?.number ?? .max)
        guard let subject else { return list(sql, "key < $2", [last], order: "DESC", limit) }
        return list(
            sql, "key < $2 AND sha256(subject) = sha256($3) AND subject = $3 AND issuer = $4",
            [last, .utf8(subject.id), .utf8(subject.issuer)], order: "DESC", limit)
    }

    /// See `Journal.findStores`.
    static func storesOf(
        _ sql: Statements, _ queries: [StoreQuery], ofSubjects: Bool, after session: SessionKey, limit: Int
    ) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT s.key, s.token, EXISTS (
                SELECT FROM \(sql.schema).stores AS t
                JOIN unnest($3::text[], $4::text[], $5::text[], $6::bigint[]) AS q (name, prefix, past, time)
                    ON t.feature = q.name OR t.feature >= q.prefix AND t.feature < q.past
                WHERE t.session = s.key AND CASE WHEN t.seen = 0 THEN h.seen ELSE t.seen END < q.time)
            FROM (SELECT key, token FROM \(sql.schema).sessions WHERE key > $1 \(ofSubjects ? "AND subject IS NOT NULL" : "")
                ORDER BY key LIMIT $2) AS s
            JOIN \(sql.schema).heads AS h ON h.key = s.key ORDER BY s.key
            """,
            [
                .key(session), .int8(Int64(max(0, limit))), .texts(queries.map(\.name)),
                .texts(queries.map(\.keyPrefix)), .texts(queries.map(\.keyEnd)),
                .int8s(queries.map { $0.lastSeenBefore.nanoseconds }),
            ])
    }

    private static func list(
        _ sql: Statements, _ condition: String, _ values: [PostgresValue], order: String, _ limit: Int
    ) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT s.key, s.id, s.created, h.seen, count(t.session),
                coalesce(sum(length(t.state) + length(t.view)), 0)::bigint, s.issuer, s.subject, s.shared, s.space
            FROM (SELECT key, id, created, issuer, subject, shared, space FROM \(sql.schema).sessions
                WHERE \(condition) ORDER BY key \(order) LIMIT $1) AS s
            JOIN \(sql.schema).heads AS h ON h.key = s.key
            LEFT JOIN \(sql.schema).stores AS t ON t.session = s.key
            GROUP BY s.key, s.id, s.created, h.seen, s.issuer, s.subject, s.shared, s.space ORDER BY s.key \(order)
            """, [.int8(Int64(max(0, limit)))] + values)
    }
}

extension PostgresRow {
    /// Reads a row of `SessionReads.list`.
    func overview() throws -> SessionOverview {
        SessionOverview(
            key: try key(0), id: try text(1), created: try time(2), lastSeen: try time(3),
            stores: Int(try int8(4)), bytes: Int(try int8(5)), subject: try subject(6), isShared: try bool(8),
            space: try space(9))
    }
}
