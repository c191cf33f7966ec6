import MVI
import PostgreSQL
import SessionJournal

/// The statements of visits, except that of appends. Those that change rows of several spaces at other times than expiry lock
/// them in the order of their keys, after the heads of sessions, so that none waits for another in a circle.
extension Statements {
    func visits(_ query: VisitQuery, limit: Int) -> PostgresStatement {
        let (condition, values): (String, [PostgresValue]) =
            switch query {
            case .subject(let subject): (Self.isOfSubject("$2", "$3"), [.utf8(subject.id), .utf8(subject.issuer)])
            case .forgotten: ("v.forgotten", [])
            }
        return PostgresStatement(
            """
            SELECT \(Rows.visits.table.selection("v")), s.key, s.space FROM \(schema).visits AS v
            JOIN \(schema).sessions AS s ON s.key = v.session WHERE \(condition) LIMIT $1
            """, [.int8(Int64(max(0, limit)))] + values)
    }

    private static func isOfSubject(_ id: String, _ issuer: String) -> String {
        "sha256(v.subject) = sha256(\(id)) AND v.subject = \(id) AND v.issuer = \(issuer)"
    }

    /// A page of all visits after one of them, each after its space.
    func visits(after last: (space: SessionKey, visitor: [UInt8]), limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT v.session, \(Rows.visits.table.selection("v")) FROM \(schema).visits AS v
            WHERE (v.session, v.visitor) > ($1, $2) ORDER BY v.session, v.visitor LIMIT $3
            """, [.key(last.space), .bytea(last.visitor), .int8(Int64(limit))])
    }

    /// Notes the subject of a session in its visits without one, unless it is another person. After its credentials.
    ///
    /// - Parameter column: The column of `sessions` that identifies it.
    func signIn(_ column: String, _ value: PostgresValue) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE \(schema).visits AS v SET issuer = l.issuer, subject = l.subject FROM (
                SELECT o.session, o.visitor, s.issuer, s.subject FROM \(schema).sessions AS s
                JOIN \(schema).visits AS o ON o.visitor = s.id AND o.subject IS NULL
                WHERE s.\(column) = $1 AND s.subject IS NOT NULL AND NOT EXISTS (
                    SELECT FROM \(schema).credentials AS c
                    WHERE c.session = s.key AND c.number = \(StoredCredential.ofAnotherPerson)) ORDER BY o.session FOR UPDATE OF o) AS l
            WHERE v.session = l.session AND v.visitor = l.visitor
            """, [value])
    }

    /// Marks a deleted subject's visits.
    func forgetVisits(of subject: Subject) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE \(schema).visits AS t SET forgotten = true FROM (
                SELECT v.session, v.visitor FROM \(schema).visits AS v
                WHERE \(Self.isOfSubject("$1", "$2")) AND NOT v.forgotten ORDER BY v.session, v.visitor FOR UPDATE) AS l
            WHERE t.session = l.session AND t.visitor = l.visitor
            """, [.utf8(subject.id), .utf8(subject.issuer)])
    }

    /// Marks visits that are in order.
    func forget(_ visits: [(space: SessionKey, visit: Visit)]) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE \(schema).visits AS v SET forgotten = true
            FROM unnest($1::bigint[], $2::bytea[]) AS i (session, visitor)
            WHERE v.session = i.session AND v.visitor = i.visitor AND NOT v.forgotten
            """, [.int8s(visits.map(\.space.number)), .byteas(visits.map { Array($0.visit.session.utf8) })])
    }

    /// Deletes a page of the anonymous visits before a time since 1970.
    func dropVisits(before time: Duration, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM \(schema).visits AS v USING (
                SELECT session, visitor FROM \(schema).visits WHERE subject IS NULL AND seen < $1
                ORDER BY seen LIMIT $2) AS l
            WHERE v.session = l.session AND v.visitor = l.visitor AND v.subject IS NULL AND v.seen < $1
            """, [.time(time), .int8(Int64(limit))])
    }

    /// See `Journal.forget`.
    func forget(
        visitsOf sessions: [String], _ receipts: [ReceiptKey], _ labels: [LabelID], in space: SessionKey
    ) -> [PostgresStatement] {
        let columns = receipts.map(ReceiptColumns.init)
        return [
            lock([space]),
            PostgresStatement(
                """
                DELETE FROM \(schema).receipts AS r USING unnest($2::bigint[], $3::bytea[], $4::bytea[])
                    AS i (hash, scope, name)
                WHERE r.session = $1 AND r.hash = i.hash AND r.scope = i.scope AND r.name = i.name
                """,
                [
                    .key(space), .int8s(columns.map(\.hash)), .byteas(columns.map(\.scope)),
                    .byteas(columns.map(\.name)),
                ]),
            PostgresStatement(
                """
                DELETE FROM \(schema).labels AS l USING unnest($2::bigint[], $3::bigint[]) AS i (number, place)
                WHERE l.session = $1 AND l.number = i.number AND l.place = i.place
                """,
                [
                    .key(space), .int8s(labels.map { Int64(bitPattern: $0.number) }),
                    .int8s(labels.map { Int64($0.index) }),
                ]),
            PostgresStatement("DELETE FROM \(schema).recordings WHERE session = $1", [.key(space)]),
            PostgresStatement(
                "DELETE FROM \(schema).visits WHERE session = $1 AND visitor = ANY ($2)",
                [.key(space), .byteas(sessions.map { Array($0.utf8) })]),
        ]
    }
}

extension PostgresRow {
    /// Reads a visit from `Statements.visits`. Nil for one of a session that is no space.
    func spaceVisit() throws -> SpaceVisit? {
        try space(6).map { SpaceVisit(space: $0, key: try key(5), visit: try Rows.visits.read(self, 0)) }
    }
}
