import MVI
import PostgreSQL
import SessionJournal

/// By what a session is looked for.
enum SessionName {
    case token(TokenHash)
    case key(SessionKey)
    case id(String)
}

/// The statements that read a session, and what their results are together.
///
/// Each finds the session by itself, so that all are sent at once; they are of one moment.
struct SessionReads {
    let statements: [PostgresStatement]
    private let parts: [Part]

    /// What a statement reads.
    fileprivate enum Part {
        case tombstone, session, summaries, stores, labels, receipts, credentials, reminders, turns, setAside
    }

    /// What of a session is read beside its rows without states.
    enum Extent {
        case plain
        /// What came after a number, with states.
        case news(since: UInt64)
        /// Everything.
        case export
    }

    init(_ sql: Statements, _ name: SessionName, _ extent: Extent = .plain) {
        let at = sql.schema
        let (key, value): (String, PostgresValue) =
            switch name {
            case .token(let token):
                ("(SELECT session FROM \(at).tokens WHERE token = $1 AND session IS NOT NULL)", .bytea(token.bytes))
            case .key(let key): ("$1::bigint", .key(key))
            case .id(let id): ("(SELECT key FROM \(at).sessions WHERE id = $1)", .utf8(id))
            }
        var since: Int64 = -1
        if case .news(let number) = extent { since = Int64(clamping: number) }
        let newer: [PostgresValue] = [value, .int8(since)]
        var statements: [(Part, PostgresStatement)] = [
            (
                .session,
                PostgresStatement(
                    """
                    SELECT \(Self.recordColumns), h.number, h.nonce, h.recent, h.lost, h.past = m.past,
                        h.label_era < (SELECT min(era) FROM \(at).eras), h.owner, h.fence_number, h.fence_nonce, h.access_changes
                    FROM \(at).sessions AS s JOIN \(at).heads AS h ON h.key = s.key CROSS JOIN \(at).meta AS m
                    WHERE s.key = \(key)
                    """, [value])
            ),
            (
                .labels,
                PostgresStatement(
                    """
                    SELECT l.number, l.place, l.feature, l.version, l.intent, l.json, l.expiry, l.written
                    FROM \(at).labels AS l JOIN \(at).heads AS h ON h.key = l.session
                    WHERE l.session = \(key) AND l.number > $2 AND (l.number, l.place) >= (h.first_number, h.first_place)
                    ORDER BY l.number, l.place
                    """, newer)
            ),
            (
                .receipts,
                PostgresStatement(
                    """
                    SELECT \(Statements.receiptColumns) FROM \(at).receipts AS r
                    WHERE r.session = \(key) AND r.number > $2 ORDER BY r.number
                    """, newer)
            ),
            (
                .credentials,
                PostgresStatement(
                    """
                    SELECT number, token, kind, made, revoked_until, principal FROM \(at).credentials
                    WHERE session = \(key) ORDER BY number
                    """, [value])
            ),
            (
                .reminders,
                PostgresStatement(
                    """
                    SELECT feature, name, due, number, action FROM \(at).reminders WHERE session = \(key)
                    ORDER BY due, feature, name
                    """, [value])
            ),
            (
                .summaries,
                PostgresStatement(
                    "SELECT \(Self.summaryColumns) FROM \(at).stores WHERE session = \(key) ORDER BY made, feature",
                    [value])
            ),
        ]
        if case .token(let token) = name {
            statements.append(
                (
                    .tombstone,
                    PostgresStatement(
                        "SELECT session, until FROM \(at).tokens WHERE token = $1", [.bytea(token.bytes)])
                ))
        }
        if case .plain = extent {
        } else {
            statements.append(
                (
                    .stores,
                    PostgresStatement(
                        """
                        SELECT \(Self.summaryColumns), schema, state, view, view_intent FROM \(at).stores
                        WHERE session = \(key) AND number > $2 ORDER BY made, feature
                        """, newer)
                ))
        }
        if case .export = extent {
            statements += [
                (
                    .turns,
                    PostgresStatement(
                        """
                        SELECT number, feature, time, body FROM \(at).recordings WHERE session = \(key) ORDER BY number
                        """, [value])
                ),
                (
                    .setAside,
                    PostgresStatement(
                        """
                        SELECT feature, schema, state, reason, time FROM \(at).set_aside WHERE session = \(key) ORDER BY id
                        """, [value])
                ),
            ]
        }
        (parts, self.statements) = (statements.map(\.0), statements.map(\.1))
    }

    /// What `PostgresRow.sessionRecord` reads, of tables called `s` and `h`.
    static let recordColumns =
        "s.key, s.token, s.id, s.credential, s.created, s.issuer, s.subject, s.shared, h.seen, h.epoch"
    private static let summaryColumns = "feature, number, version, made, replaced"

    // MARK: Results

    /// The results, by what they are of.
    struct Results {
        fileprivate let rows: [Part: PostgresRows]

        private subscript(part: Part) -> [PostgresRow] { rows[part]?.rows ?? [] }

        /// The session that was found; nil if there is none.
        func key() throws -> SessionKey? { try self[.session].first.map { row in try row.key(0) } }

        /// Whether the session's epoch is that of another past, see `DatabaseSetup`.
        func isOfAnotherPast() throws -> Bool { try self[.session].first.map { row in try !row.bool(14) } ?? false }

        /// Until when a token is remembered as ended; nil if it is not.
        func tombstone() throws -> Duration? {
            guard let row = self[.tombstone].first, !row.isNull(1) else { return nil }
            return try row.time(1)
        }

        /// - Parameter withRecentHeads: whether the heads before the newest one are asked for.
        func session(withRecentHeads: Bool) throws -> StoredSession? {
            guard let row = self[.session].first else { return nil }
            let head = try row.head(10)
            var lost = try LostLabels(text: try row.text(13))
            // Labels of partitions that were dropped: their time was over.
            if !row.isNull(15), try row.bool(15) { lost.hasAny = true }
            return StoredSession(
                key: try row.key(0), record: try row.sessionRecord(),
                recentHeads: withRecentHeads ? try row.heads(12, before: head) : [head],
                stores: try self[.summaries].map { try $0.summary() },
                changed: withRecentHeads ? try stores() : [],
                labels: try self[.labels].map { row in
                    StoredLabel(
                        id: LabelID(number: try row.bits(0), index: Int(try row.int8(1))),
                        feature: try row.feature(2), version: try row.bits(3), intent: try row.optionalText(4),
                        json: try row.bytes(5), expiry: try row.time(6), isWritten: try row.bool(7))
                },
                lostLabels: lost, receipts: try self[.receipts].map { try $0.receipt(0) },
                credentials: try self[.credentials].map { try $0.credential() },
                reminders: try self[.reminders].map { row in
                    StoredReminder(
                        feature: try row.feature(0), id: try row.text(1), due: try row.time(2),
                        number: try row.bits(3), action: try row.bytes(4))
                }, owner: try row.owner(16), accessChanges: try row.bits(19))
        }

        func export() throws -> SessionExport? {
            guard let session = try session(withRecentHeads: false) else { return nil }
            return SessionExport(
                session: session, stores: try stores(),
                turns: try self[.turns].map { row in
                    RecordedTurn(
                        number: try row.bits(0), feature: try row.feature(1), time: try row.time(2),
                        recording: try row.bytes(3))
                },
                setAside: try self[.setAside].map { row in
                    SetAsideState(
                        feature: try row.feature(0), schemaVersion: Int(try row.int8(1)), state: try row.bytes(2),
                        reason: try row.text(3), time: try row.time(4))
                })
        }

        private func stores() throws -> [StoredStore] { try self[.stores].map { try $0.store() } }
    }

    func results(_ rows: ArraySlice<PostgresRows>) -> Results {
        Results(rows: Dictionary(uniqueKeysWithValues: zip(parts, rows)))
    }

    // MARK: Stores

    /// The stores of a session that are asked for.
    static func stores(
        _ sql: Statements, _ features: [FeatureID], of session: SessionKey, named token: TokenHash
    ) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT \(summaryColumns), schema, state, view, view_intent FROM \(sql.schema).stores
            WHERE session = $1 AND feature = ANY ($2)
                AND EXISTS (SELECT FROM \(sql.schema).sessions WHERE key = $1 AND token = $3)
            """, [.key(session), .texts(features.map(\.text)), .bytea(token.bytes)])
    }

    // MARK: Many sessions

    static func find(_ sql: Statements, _ query: SessionQuery, limit: Int) -> PostgresStatement {
        let (condition, values): (String, [PostgresValue]) =
            switch query {
            case .id(let id): ("s.id = $2", [.utf8(id)])
            case .subject(let subject):
                (
                    "sha256(s.subject) = sha256($2) AND s.subject = $2 AND s.issuer = $3",
                    [.utf8(subject.id), .utf8(subject.issuer)]
                )
            case .shared(let subject):
                (
                    "s.shared AND sha256(s.subject) = sha256($2) AND s.subject = $2 AND s.issuer = $3",
                    [.utf8(subject.id), .utf8(subject.issuer)]
                )
            }
        return PostgresStatement(
            """
            SELECT \(recordColumns) FROM \(sql.schema).sessions AS s JOIN \(sql.schema).heads AS h ON h.key = s.key
            WHERE \(condition) ORDER BY s.key LIMIT $1
            """, [.int8(Int64(max(0, limit)))] + values)
    }

    static func alarms(_ sql: Statements, after alarm: Alarm?, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT a.due, a.session, s.token FROM (
                SELECT due, session FROM \(sql.schema).reminders WHERE (due, session) > ($1, $2)
                GROUP BY due, session ORDER BY due, session LIMIT $3) AS a
            JOIN \(sql.schema).sessions AS s ON s.key = a.session ORDER BY a.due, a.session
            """,
            [
                alarm.map { .time($0.due) } ?? .int8(.min), .int8(alarm?.session.number ?? 0),
                .int8(Int64(max(0, limit))),
            ])
    }
}

extension PostgresRow {
    /// A record of `SessionReads.recordColumns`.
    func sessionRecord() throws -> SessionRecord {
        guard let credential = SessionCredential(rawValue: try text(3)) else {
            throw StoreError.unexpected(try text(3), "a kind of credential")
        }
        return SessionRecord(
            id: try text(2), tokenHash: try token(1), epoch: try text(9), credential: credential, created: try time(4),
            lastSeen: try time(8), subject: try subject(5), isShared: try bool(7))
    }

    fileprivate func summary() throws -> StoreSummary {
        StoreSummary(
            feature: try feature(0), number: try bits(1), version: try bits(2), made: try bits(3),
            replaced: try bits(4))
    }

    /// A store of `SessionReads.stores`.
    func store() throws -> StoredStore {
        StoredStore(
            summary: try summary(), schemaVersion: Int(try int8(5)), state: try bytes(6), view: try bytes(7),
            viewIntent: try optionalText(8))
    }
}
