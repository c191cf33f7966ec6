import MVI
import PostgreSQL
import SessionJournal

extension Statements {
    /// Adds recordings of the sessions that exist, and deletes those that their limits do not keep. A turn whose number a
    /// lost branch of the log had takes that one's place.
    func record(_ recordings: [SessionRecordings]) -> [PostgresStatement] {
        let turns = recordings.flatMap { each in each.turns.map { (each.session.number, $0) } }
        return [
            // A deletion of one of them waits, or is seen.
            PostgresStatement(
                "SELECT key FROM \(schema).heads WHERE key = ANY ($1) ORDER BY key FOR KEY SHARE",
                [.int8s(recordings.map(\.session.number))]),
            PostgresStatement(
                """
                INSERT INTO \(schema).recordings (session, number, feature, time, body)
                SELECT i.session, i.number, i.feature, i.time, i.body
                FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bytea[])
                    AS i (session, number, feature, time, body)
                WHERE EXISTS (SELECT FROM \(schema).heads AS h WHERE h.key = i.session)
                ON CONFLICT (session, number) DO UPDATE
                    SET feature = excluded.feature, time = excluded.time, body = excluded.body
                """,
                [
                    .int8s(turns.map(\.0)), .int8s(turns.map { Int64(bitPattern: $0.1.number) }),
                    .texts(turns.map(\.1.feature.text)), .int8s(turns.map(\.1.time.nanoseconds)),
                    .byteas(turns.map(\.1.recording)),
                ]),
            PostgresStatement(
                """
                DELETE FROM \(schema).recordings AS r
                USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS i (session, kept, bytes)
                WHERE r.session = i.session AND r.number <= (
                    SELECT max(o.number) FROM (
                        SELECT n.number, row_number() OVER newest AS place, sum(octet_length(n.body)) OVER newest AS size
                        FROM \(schema).recordings AS n WHERE n.session = i.session
                        WINDOW newest AS (ORDER BY n.number DESC)
                    ) AS o WHERE o.place > i.kept OR o.size > i.bytes)
                """,
                [
                    .int8s(recordings.map(\.session.number)),
                    .int8s(recordings.map { Int64(max(0, $0.limit.turns)) }),
                    .int8s(recordings.map { Int64($0.limit.bytes) }),
                ]),
        ]
    }
}
