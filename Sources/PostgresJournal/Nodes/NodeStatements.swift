import MVI
import PostgreSQL
import SessionJournal

/// The statements about nodes.
extension Statements {
    /// Adds a node. The last statement returns the others with its address.
    ///
    /// - Parameter isLossless: true if the node's operator declares that a failover loses nothing.
    func join(_ node: NodeRecord, isLossless: Bool) -> [PostgresStatement] {
        [
            // Nodes join one after another, so that the later one of two finds the earlier one.
            PostgresStatement(
                "SELECT count(pg_advisory_xact_lock(hashtextextended($1, 0)))", [.text("mvi nodes \(schema)")]),
            PostgresStatement(
                """
                INSERT INTO \(schema).nodes (id, address, draining, renewals, lossless) VALUES ($1, $2, $3, $4, $5)
                ON CONFLICT (id) DO UPDATE SET address = excluded.address, draining = excluded.draining,
                    renewals = excluded.renewals, lossless = excluded.lossless, seen = now()
                """,
                [
                    .int8(node.id.number), .utf8(node.address), .bool(node.isDraining), .bits(node.renewals),
                    .bool(isLossless),
                ]),
            PostgresStatement(
                "SELECT id, address, draining, renewals FROM \(schema).nodes WHERE address = $1 AND id <> $2",
                [.utf8(node.address), .int8(node.id.number)]),
        ]
    }

    /// Renews a node and returns all, or no row if it was removed: id, address, draining, renewals, whether the
    /// draining is new, and the database's clock.
    func renew(_ node: NodeRecord) -> PostgresStatement {
        // The second part sees the table as it was before the first.
        PostgresStatement(
            """
            WITH renewed AS (
                UPDATE \(schema).nodes SET address = $2, draining = $3, renewals = renewals + 1, seen = now() WHERE id = $1
                RETURNING id, address, draining, renewals)
            SELECT r.id, r.address, r.draining, r.renewals, n.draining <> r.draining,
                (extract(epoch FROM clock_timestamp()) * 1e9)::bigint
            FROM renewed AS r JOIN \(schema).nodes AS n ON n.id = r.id
            UNION ALL
            SELECT id, address, draining, renewals, false, 0 FROM \(schema).nodes
            WHERE id <> $1 AND EXISTS (SELECT FROM renewed)
            """, [.int8(node.id.number), .utf8(node.address), .bool(node.isDraining)])
    }

    /// Removes a node if it has this number of renewals. The last row tells if it is gone.
    func forget(_ node: NodeID, renewals: UInt64?) -> [PostgresStatement] {
        let id = PostgresValue.int8(node.number)
        return [
            PostgresStatement(
                "DELETE FROM \(schema).nodes WHERE id = $1 AND ($2 IS NULL OR renewals = $2)",
                [id, .int8(renewals.map { Int64(bitPattern: $0) })]),
            PostgresStatement(
                """
                DELETE FROM \(schema).streams
                WHERE node = $1 AND NOT EXISTS (SELECT FROM \(schema).nodes WHERE id = $1)
                """, [id]),
            PostgresStatement("SELECT NOT EXISTS (SELECT FROM \(schema).nodes WHERE id = $1)", [id]),
        ]
    }

    /// Returns sessions whose owners are gone. Steps through the index by owner, since nearly all owners exist.
    func orphans(limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            WITH RECURSIVE owners (id) AS (
                SELECT min(owner) FROM \(schema).heads WHERE owner IS NOT NULL
                UNION ALL
                SELECT (SELECT min(h.owner) FROM \(schema).heads AS h WHERE h.owner > o.id) FROM owners AS o
                WHERE o.id IS NOT NULL)
            SELECT h.key, s.token, h.owner, h.fence_number, h.fence_nonce, h.working
            FROM \(schema).heads AS h JOIN \(schema).sessions AS s ON s.key = h.key
            WHERE h.owner = ANY (ARRAY(
                SELECT o.id FROM owners AS o
                WHERE o.id IS NOT NULL AND NOT EXISTS (SELECT FROM \(schema).nodes AS n WHERE n.id = o.id)))
            LIMIT $1
            """, [.int8(Int64(max(0, limit)))])
    }

    /// Notes the number of streams of different sessions. The second statement returns those within their limits. It
    /// sees the notes as they were before the first one had its locks.
    func note(_ notes: [StreamNote]) -> [PostgresStatement] {
        let sessions = PostgresValue.int8s(notes.map(\.session.number))
        return [
            // In one order, so that two nodes cannot deadlock.
            PostgresStatement(
                """
                SELECT count(pg_advisory_xact_lock(hashtextextended($1, session)))
                FROM (SELECT session FROM unnest($2::bigint[]) AS session ORDER BY session OFFSET 0) AS ordered
                """, [.text("mvi streams \(schema)"), sessions]),
            PostgresStatement(
                """
                WITH allowed AS (
                    SELECT i.* FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[])
                        AS i (session, node, count, most)
                    WHERE i.count = 0 OR i.most IS NULL OR i.most >= i.count + (
                        SELECT coalesce(sum(s.count), 0) FROM \(schema).streams AS s
                        WHERE s.session = i.session AND s.node <> i.node AND s.node IN (SELECT id FROM \(schema).nodes))),
                closed AS (
                    DELETE FROM \(schema).streams AS s USING allowed AS a
                    WHERE a.count = 0 AND s.session = a.session AND s.node = a.node),
                noted AS (
                    INSERT INTO \(schema).streams (session, node, count)
                    SELECT a.session, a.node, a.count FROM allowed AS a
                    WHERE a.count > 0 AND EXISTS (SELECT FROM \(schema).sessions AS s WHERE s.key = a.session)
                    ON CONFLICT (session, node) DO UPDATE SET count = excluded.count)
                SELECT session FROM allowed
                """,
                [
                    sessions, .int8s(notes.map(\.node.number)), .int4s(notes.map { Int32(clamping: $0.count) }),
                    .int8s(notes.map { $0.limit.map { Int64($0) } }),
                ]),
        ]
    }

    /// Claims reminders, and returns the due time of the next unclaimed one.
    ///
    /// Appends and removals that change a session's reminders lock its head first, and so does this. But it skips
    /// locked ones and never waits. The clock is the database's.
    func claimAlarms(dueAt now: Duration, by node: NodeID, for life: Duration, limit: Int) -> [PostgresStatement] {
        let isFree = "(r.claimed_until IS NULL OR r.claimed_until <= now())"
        let isOurs = """
            (h.owner IS NULL OR h.owner = $2 OR NOT EXISTS (SELECT FROM \(schema).nodes AS n WHERE n.id = h.owner))
            """
        return [
            PostgresStatement(
                """
                WITH due AS (
                    SELECT \(Self.next) AS next, r.session
                    FROM \(schema).reminders AS r JOIN \(schema).heads AS h ON h.key = r.session
                    WHERE \(Self.next) <= $1 AND \(isFree) AND \(isOurs)
                    GROUP BY \(Self.next), r.session ORDER BY \(Self.next), r.session LIMIT $3),
                locked AS (
                    SELECT h.key FROM \(schema).heads AS h WHERE h.key IN (SELECT session FROM due) AND \(isOurs)
                    FOR NO KEY UPDATE SKIP LOCKED),
                claimed AS (
                    UPDATE \(schema).reminders AS r SET claimed_until = now() + $4 * interval '1 millisecond'
                    FROM due AS d JOIN locked AS l ON l.key = d.session
                    WHERE r.session = d.session AND \(Self.next) = d.next AND \(isFree)
                    RETURNING d.next, r.session)
                SELECT DISTINCT c.next, c.session, s.token
                FROM claimed AS c JOIN \(schema).sessions AS s ON s.key = c.session ORDER BY c.next, c.session
                """,
                [
                    .time(now), .int8(node.number), .int8(Int64(max(0, limit))),
                    .int8(life.nanoseconds / 1_000_000),
                ]),
            PostgresStatement(
                """
                SELECT \(Self.next) FROM \(schema).reminders AS r WHERE r.xmin <> pg_current_xact_id()::xid
                ORDER BY \(Self.next), session LIMIT 1
                """),
        ]
    }

    // MARK: Marks

    /// The last column is the index of the row's question, from 0 on.
    func marks(_ asked: [[SessionKey]]) -> PostgresStatement {
        let rows = asked.enumerated().flatMap { place, sessions in sessions.map { (place, $0) } }
        return PostgresStatement(
            """
            SELECT h.key, h.number, h.nonce, h.access_changes, s.token, CASE WHEN h.past = m.past THEN h.epoch ELSE '' END,
                a.place
            FROM unnest($1::bigint[], $2::bigint[]) AS a (place, key) JOIN \(schema).heads AS h ON h.key = a.key
            JOIN \(schema).sessions AS s ON s.key = a.key CROSS JOIN \(schema).meta AS m
            """, [.int8s(rows.map { Int64($0.0) }), .int8s(rows.map(\.1.number))])
    }

    /// The last column is the index of the row's question, from 0 on.
    func known(_ asked: [[TokenHash]]) -> PostgresStatement {
        let rows = asked.enumerated().flatMap { place, tokens in tokens.map { (place, $0) } }
        return PostgresStatement(
            """
            SELECT a.token, a.place FROM unnest($1::bigint[], $2::bytea[]) AS a (place, token)
            JOIN \(schema).tokens AS t ON t.token = a.token
            """, [.int8s(rows.map { Int64($0.0) }), .byteas(rows.map(\.1.bytes))])
    }
}
