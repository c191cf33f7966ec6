import MVI
import PostgreSQL
import SessionJournal

/// The statements that note uses.
extension Statements {
    func touch(_ touches: ArraySlice<SessionTouch>) -> [PostgresStatement] {
        let written = touches.flatMap { touch in touch.written.map { (touch.session.number, $0) } }
        var statements = [
            lock(touches.map(\.session)),
            PostgresStatement(
                """
                UPDATE \(schema).heads AS h SET seen = i.seen
                FROM (SELECT key, max(seen) AS seen FROM unnest($1::bigint[], $2::bigint[]) AS i (key, seen) GROUP BY key)
                    AS i
                WHERE h.key = i.key AND h.seen < i.seen
                """,
                [.int8s(touches.map(\.session.number)), .int8s(touches.map(\.lastSeen.nanoseconds))]),
        ]
        let used = touches.flatMap { touch in touch.credentials.map { (touch.session.number, $0) } }
        if !used.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE \(schema).credentials AS c SET seen = i.seen
                    FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS i (session, token, seen)
                    WHERE c.session = i.session AND c.token = i.token AND c.seen < i.seen
                    """,
                    [
                        .int8s(used.map(\.0)), .byteas(used.map(\.1.token.bytes)),
                        .int8s(used.map(\.1.lastSeen.nanoseconds)),
                    ]))
        }
        let stores = touches.flatMap { touch in touch.stores.map { (touch.session.number, $0) } }
        if !stores.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE \(schema).stores AS s SET seen = i.seen
                    FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS i (session, feature, seen)
                    WHERE s.session = i.session AND s.feature = i.feature AND s.seen < i.seen
                    """,
                    [
                        .int8s(stores.map(\.0)), .texts(stores.map(\.1.feature.text)),
                        .int8s(stores.map(\.1.lastSeen.nanoseconds)),
                    ]))
        }
        let reminders = touches.flatMap { touch in touch.reminders.map { (touch.session.number, $0) } }
        if !reminders.isEmpty {
            statements.append(
                PostgresStatement(
                    """
                    UPDATE \(schema).reminders AS r SET not_before = i.not_before
                    FROM unnest($1::bigint[], $2::text[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[])
                        AS i (session, feature, name, due, number, not_before)
                    WHERE r.session = i.session AND r.feature = i.feature AND r.name = i.name AND r.due = i.due
                        AND r.number = i.number
                    """,
                    [
                        .int8s(reminders.map(\.0)), .texts(reminders.map(\.1.feature.text)),
                        .byteas(reminders.map { Array($0.1.id.utf8) }), .int8s(reminders.map(\.1.due.nanoseconds)),
                        .int8s(reminders.map { Int64(bitPattern: $0.1.number) }),
                        .int8s(reminders.map(\.1.notBefore.nanoseconds)),
                    ]))
        }
        guard !written.isEmpty else { return statements }
        statements.append(
            PostgresStatement(
                """
                UPDATE \(schema).labels AS l SET written = true
                FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS i (session, number, place)
                WHERE l.session = i.session AND l.number = i.number AND l.place = i.place AND NOT l.written
                    AND EXISTS (SELECT FROM \(schema).heads AS h WHERE h.key = i.session)
                """,
                [
                    .int8s(written.map(\.0)), .int8s(written.map { Int64(bitPattern: $0.1.number) }),
                    .int8s(written.map { Int64($0.1.index) }),
                ]))
        return statements
    }
}
