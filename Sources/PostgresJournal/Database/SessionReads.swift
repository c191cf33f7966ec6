import MVI
import PostgreSQL
import SessionJournal

/// A request for stores of a session. If the session has another token, as after a restore, the result is empty.
struct StoresQuestion: Sendable {
    let features: [FeatureID]
    let session: SessionKey
    let token: TokenHash
}

/// The statements that read sessions, and their combined results.
///
/// Each statement reads all requested sessions and finds them itself, so that all statements are sent at once; they see
/// one snapshot. The last column of each row is the index of its session in the request.
struct SessionReads {
    let statements: [PostgresStatement]
    private let parts: [Part]
    private let count: Int

    /// The content of a statement's rows.
    fileprivate enum Part {
        case tombstone, session, summaries, stores, labels, receipts, credentials, reminders, turns, setAside
    }

    /// The parts of a session to read in addition to its rows without states.
    enum Extent {
        case plain
        /// Parts newer than a number, with states.
        case news
        /// Everything.
        case export
    }

    /// Sessions by their own or their credentials' tokens, without states.
    init(_ sql: Statements, tokens: [TokenHash]) {
        let at = sql.schema
        self.init(
            sql, .plain,
            """
            SELECT a.place, t.session AS key, -1::bigint AS since FROM unnest($1::bytea[]) WITH ORDINALITY AS a (token, place)
            JOIN \(at).tokens AS t ON t.token = a.token AND t.session IS NOT NULL
            """, [.byteas(tokens.map(\.bytes))], count: tokens.count,
            and: [
                (
                    .tombstone,
                    """
                    SELECT t.session, t.until, a.place FROM unnest($1::bytea[]) WITH ORDINALITY AS a (token, place)
                    JOIN \(at).tokens AS t ON t.token = a.token
                    """
                )
            ])
    }

    /// The parts of sessions that are newer than heads' numbers, with states.
    init(_ sql: Statements, since: [(session: SessionKey, number: UInt64)]) {
        self.init(
            sql, .news,
            "SELECT a.place, a.key, a.since FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS a (key, since, place)",
            [.int8s(since.map(\.session.number)), .int8s(since.map { Int64(clamping: $0.number) })], count: since.count)
    }

    /// Everything of the session with a public id, but for turns up to a number.
    init(_ sql: Statements, export id: String, turnsAfter number: UInt64? = nil) {
        self.init(
            sql, .export,
            """
            SELECT 1::bigint AS place, key, -1::bigint AS since, $2::bigint AS turn FROM \(sql.schema).sessions
            WHERE id = $1
            """, [.utf8(id), .int8(number.map { Int64(clamping: $0) } ?? .min)], count: 1)
    }

    /// - Parameter asked: A query for the sessions' indexes from 1 on, their keys, and the numbers to read after.
    private init(
        _ sql: Statements, _ extent: Extent, _ asked: String, _ values: [PostgresValue], count: Int,
        and more: [(Part, String)] = []
    ) {
        let at = sql.schema
        func rows(_ table: RowTable, _ condition: String = "") -> String {
            """
            SELECT \(table.selection("r")), a.place FROM asked AS a
            JOIN \(at).\(table.name) AS r ON r.session = a.key \(condition) ORDER BY \(table.order)
            """
        }
        var texts: [(Part, String)] = [
            (
                .session,
                """
                SELECT \(Self.recordColumns), h.number, h.nonce, h.recent, h.lost, h.past = m.past,
                    h.label_era < (SELECT min(era) FROM \(at).eras), h.owner, h.fence_number, h.fence_nonce,
                    h.access_changes, s.client, a.place
                FROM asked AS a JOIN \(at).sessions AS s ON s.key = a.key JOIN \(at).heads AS h ON h.key = a.key
                CROSS JOIN \(at).meta AS m
                """
            ),
            (
                .labels,
                rows(
                    Rows.labels.table,
                    """
                    AND r.number > a.since AND (r.number, r.place) >= (
                        SELECT h.first_number, h.first_place FROM \(at).heads AS h WHERE h.key = a.key)
                    """)
            ),
            (.receipts, rows(Rows.receipts.table, "AND r.number > a.since")),
            (.credentials, rows(Rows.credentials.table)), (.reminders, rows(Rows.reminders.table)),
            (.summaries, rows(Rows.summaries.table)),
        ]
        if extent != .plain { texts.append((.stores, rows(Rows.stores.table, "AND r.number > a.since"))) }
        if extent == .export {
            texts += [
                (.turns, rows(Rows.recordings.table, "AND r.number > a.turn")), (.setAside, rows(Rows.setAside.table)),
            ]
        }
        texts = texts.map { part, text in (part, "WITH asked AS (\(asked))\n\(text)") } + more
        parts = texts.map(\.0)
        statements = texts.map { PostgresStatement($0.1, values) }
        self.count = count
    }

    /// The columns that `PostgresRow.sessionRecord` reads, from tables named `s` and `h`.
    static let recordColumns =
        "s.key, s.token, s.id, s.credential, s.created, s.issuer, s.subject, s.shared, h.seen, h.epoch, s.space"

    // MARK: Results

    /// The results for one session, by part.
    struct Results: Sendable {
        fileprivate var rows: [Part: [PostgresRow]] = [:]

        private subscript(part: Part) -> [PostgresRow] { rows[part] ?? [] }

        /// Returns the key of the session, or nil if there is none.
        func key() throws -> SessionKey? { try self[.session].first.map { row in try row.key(0) } }

        /// True if the session's epoch predates a loss of commits, see `DatabaseSetup`.
        func isOfAnotherPast() throws -> Bool { try self[.session].first.map { row in try !row.bool(15) } ?? false }

        /// Returns the time until which a token is remembered as ended, or nil.
        func tombstone() throws -> Duration? {
            guard let row = self[.tombstone].first, !row.isNull(1) else { return nil }
            return try row.time(1)
        }

        /// - Parameter withRecentHeads: True if the heads before the newest one were read.
        func session(withRecentHeads: Bool) throws -> StoredSession? {
            guard let row = self[.session].first else { return nil }
            let head = try row.head(11)
            var lost = try LostLabels(text: try row.text(14))
            // Expired labels in dropped partitions.
            if !row.isNull(16), try row.bool(16) { lost.hasAny = true }
            var record = try row.sessionRecord()
            record.settings = try row.settings(21)
            return StoredSession(
                key: try row.key(0), record: record,
                recentHeads: withRecentHeads ? try row.heads(13, before: head) : [head],
                stores: try self[.summaries].map { try Rows.summaries.read($0, 0) },
                changed: withRecentHeads ? try stores() : [],
                labels: try self[.labels].map { try Rows.labels.read($0, 0) }, lostLabels: lost,
                receipts: try self[.receipts].map { try Rows.receipts.read($0, 0) },
                credentials: try self[.credentials].map { try Rows.credentials.read($0, 0) },
                reminders: try self[.reminders].map { try Rows.reminders.read($0, 0) }, owner: try row.owner(17),
                accessChanges: try row.bits(20))
        }

        func export() throws -> SessionExport? {
            guard let session = try session(withRecentHeads: false) else { return nil }
            return SessionExport(
                session: session, stores: try stores(),
                turns: try self[.turns].map { try Rows.recordings.read($0, 0) },
                setAside: try self[.setAside].map { try Rows.setAside.read($0, 0) })
        }

        private func stores() throws -> [StoredStore] { try self[.stores].map { try Rows.stores.read($0, 0) } }
    }

    /// Returns the results of each session in the order of the request.
    func results(_ rows: ArraySlice<PostgresRows>) throws -> [Results] {
        var results = [Results](repeating: Results(), count: count)
        for (part, rows) in zip(parts, rows) {
            for row in rows.rows {
                let place = Int(try row.int8(row.count - 1)) - 1
                guard results.indices.contains(place) else {
                    throw StoreError.unexpected("place \(place)", "a session")
                }
                results[place].rows[part, default: []].append(row)
            }
        }
        return results
    }

    // MARK: Stores

    /// Reads stores of sessions. The last column is the index of the row's question, from 0 on.
    static func stores(_ sql: Statements, _ asked: [StoresQuestion]) -> PostgresStatement {
        let rows = asked.enumerated().flatMap { place, question in question.features.map { (place, question, $0) } }
        return PostgresStatement(
            """
            SELECT \(Rows.stores.table.selection("t")), h.number, h.nonce, h.access_changes, s.token,
                CASE WHEN h.past = m.past THEN h.epoch ELSE '' END, a.place
            FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::text[]) AS a (place, key, token, feature)
            JOIN \(sql.schema).sessions AS s ON s.key = a.key AND s.token = a.token
            JOIN \(sql.schema).heads AS h ON h.key = a.key CROSS JOIN \(sql.schema).meta AS m
            LEFT JOIN \(sql.schema).stores AS t ON t.session = a.key AND t.feature = a.feature
            """,
            [
                .int8s(rows.map { Int64($0.0) }), .int8s(rows.map(\.1.session.number)),
                .byteas(rows.map(\.1.token.bytes)), .texts(rows.map(\.2.text)),
            ])
    }

    // MARK: Many sessions

    static func find(_ sql: Statements, _ query: SessionQuery, limit: Int) -> PostgresStatement {
        var order = "s.key"
        let condition: String
        let values: [PostgresValue]
        switch query {
        case .id(let id): (condition, values) = ("s.id = $2", [.utf8(id)])
        case .subject(let subject):
            condition = "sha256(s.subject) = sha256($2) AND s.subject = $2 AND s.issuer = $3"
            values = [.utf8(subject.id), .utf8(subject.issuer)]
        case .shared(let subject):
            condition = "s.shared AND sha256(s.subject) = sha256($2) AND s.subject = $2 AND s.issuer = $3"
            values = [.utf8(subject.id), .utf8(subject.issuer)]
        case .space(let space): (condition, values) = ("s.space = $2", [.text(space.text)])
        case .spaces(let group, let after):
            (condition, order) = ("s.space > $2 AND s.space < $3", "s.space")
            values = [.text(max("\(group):", after?.text ?? "")), .text("\(group);")]
        }
        return PostgresStatement(
            """
            SELECT \(recordColumns) FROM \(sql.schema).sessions AS s JOIN \(sql.schema).heads AS h ON h.key = s.key
            WHERE \(condition) ORDER BY \(order) LIMIT $1
            """, [.int8(Int64(max(0, limit)))] + values)
    }

    static func alarms(_ sql: Statements, after alarm: Alarm?, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT a.next, a.session, s.token FROM (
                SELECT \(Statements.next) AS next, session FROM \(sql.schema).reminders
                WHERE (\(Statements.next), session) > ($1, $2)
                GROUP BY \(Statements.next), session ORDER BY \(Statements.next), session LIMIT $3) AS a
            JOIN \(sql.schema).sessions AS s ON s.key = a.session ORDER BY a.next, a.session
            """,
            [
                alarm.map { .time($0.due) } ?? .int8(.min), .int8(alarm?.session.number ?? 0),
                .int8(Int64(max(0, limit))),
            ])
    }
}

extension PostgresRow {
    /// Reads a record from `SessionReads.recordColumns`.
    func sessionRecord() throws -> SessionRecord {
        guard let credential = SessionCredential(rawValue: try text(3)) else {
            throw StoreError.unexpected(try text(3), "a kind of credential")
        }
        return SessionRecord(
            id: try text(2), tokenHash: try token(1), epoch: try text(9), credential: credential, created: try time(4),
            lastSeen: try time(8), subject: try subject(5), isShared: try bool(7), space: try space(10))
    }

    /// Reads the values that a client has set. Those of no meaning here are none.
    func settings(_ column: Int) throws -> ClientSettings? {
        isNull(column) ? nil : ClientSettings(text: try text(column))
    }

    /// Reads the name of a space; nil if it is NULL.
    func space(_ column: Int) throws -> SpaceName? {
        if isNull(column) { return nil }
        guard let space = SpaceName(try text(column)) else {
            throw StoreError.unexpected(try text(column), "a space's name")
        }
        return space
    }

    /// Reads a mark from `SessionReads.stores`.
    func mark() throws -> SessionMark {
        SessionMark(
            token: try token(13), head: try head(10), accessChanges: try bits(12), epoch: try text(14))
    }

    /// Reads a store from `SessionReads.stores`; nil if the session does not have it.
    func foundStore() throws -> StoredStore? { isNull(0) ? nil : try Rows.stores.read(self, 0) }
}
