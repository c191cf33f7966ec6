import MVI
import PostgreSQL
import SessionJournal

/// The statements of all writes except appends.
extension Statements {
    // MARK: Sessions

    /// Creates a session, or returns a row with the reason why not: see `creation`.
    ///
    /// - Parameter generation: The secret's generation from which the epoch derives, or nil.
    func create(
        _ session: SessionRecord, _ credential: StoredCredential?, of generation: [UInt8]? = nil
    ) -> PostgresStatement {
        let tokens = [session.tokenHash.bytes] + (credential.map { [$0.token.bytes] } ?? [])
        let (named, column, raised) =
            session.space == nil
            ? ("", "", "")
            : (
                "OR EXISTS (SELECT FROM \(schema).sessions WHERE space = $20)", ", space",
                "raised AS (\(raiseMinimum) AND EXISTS (SELECT FROM made)),"
            )
        return PostgresStatement(
            """
            WITH fault AS (
                SELECT CASE
                    WHEN $17 IS NOT NULL AND $17 <> (SELECT generation FROM \(schema).meta) THEN 4
                    WHEN EXISTS (SELECT FROM \(schema).tokens WHERE token = ANY ($1) AND session IS NOT NULL)
                        OR EXISTS (SELECT FROM \(schema).sessions WHERE id = $3) \(named) THEN 1
                    WHEN EXISTS (SELECT FROM \(schema).tokens WHERE token = ANY ($1)) THEN 2
                    WHEN $8 AND EXISTS (SELECT FROM \(schema).sessions WHERE shared
                        AND sha256(subject) = sha256($7) AND sha256(issuer) = sha256($6)) THEN 3
                    ELSE 0 END AS code),
            made AS (
                INSERT INTO \(schema).sessions (token, id, credential, created, noted, issuer, subject, shared,
                    client\(column))
                SELECT $2, $3, $4, $5, $9, $6, $7, $8, $18\(column.isEmpty ? "" : ", $20") FROM fault WHERE code = 0 RETURNING key),
            \(raised)
            head AS (
                INSERT INTO \(schema).heads (key, seen, epoch, past)
                SELECT key, $9, $10, (SELECT past FROM \(schema).meta) FROM made),
            named AS (
                INSERT INTO \(schema).tokens (token, session) SELECT token, key FROM made, unnest($1) AS token),
            kept AS (
                INSERT INTO \(schema).credentials
                    (session, number, token, kind, made, revoked_until, proof, principal, client)
                SELECT key, $11, $12, $13, $14, $15, \(Statements.noProof("$15")), $16, $19 FROM made WHERE $11 IS NOT NULL)
            SELECT code, (SELECT key FROM made) FROM fault
            """,
            [
                .byteas(tokens), .bytea(session.tokenHash.bytes), .utf8(session.id),
                .text(session.credential.rawValue), .time(session.created), .utf8(session.subject?.issuer),
                .utf8(session.subject?.id), .bool(session.isShared), .time(session.lastSeen), .utf8(session.epoch),
                .int8(credential.map { Int64($0.number) }), .bytea(credential?.token.bytes),
                .text(credential?.kind.rawValue), .int8(credential?.made.nanoseconds),
                .int8(credential?.revokedUntil?.nanoseconds), .bytea(credential?.principal), .bytea(generation),
                .text(session.settings?.text), .text(credential?.settings?.text),
            ] + (session.space.map { [.text($0.text)] } ?? []))
    }

    /// Excludes programs that take a space for an anonymous session, since there is one now.
    var raiseMinimum: String {
        let version = PostgresSchema.spacesVersion
        return "UPDATE \(schema).meta SET minimum = \(version) WHERE minimum < \(version)"
    }

    /// Reads the result of `create`.
    static func creation(_ rows: PostgresRows) throws -> Result<SessionKey, StoreError> {
        guard let row = rows.first else { return .failure(.sessionExists) }
        return switch try row.int4(0) {
        case 0: .success(try row.key(1))
        case 2: .failure(.sessionGone)
        case 3: .failure(.sharedExists)
        case 4: .failure(.otherGeneration)
        default: .failure(.sessionExists)
        }
    }

    /// Locks the heads of sessions in order.
    func lock(_ sessions: [SessionKey]) -> PostgresStatement {
        PostgresStatement(lockHeads, [.int8s(sessions.map(\.number))])
    }

    /// The class of a session's lifetime, see `LifeClass`. Part of an index: a migration must not change them.
    static let life = "(CASE WHEN space IS NOT NULL THEN 3 WHEN subject IS NULL THEN 0 WHEN shared THEN 2 ELSE 1 END)"

    /// True for an anonymous session without reminders that seems to be used for at most five minutes. Also part of an
    /// index: most sessions of a full journal are used for longer.
    static let isBrieflyUsed =
        "subject IS NULL AND space IS NULL AND NOT reminded AND noted::numeric - created <= 300000000000"

    /// The time of a reminder's next attempt. Also part of an index.
    static let next = "greatest(due, not_before)"

    /// Deletes the remaining rows of sessions whose heads are locked and whose rows in `sessions` are gone.
    ///
    /// - Parameter isExpired: True if the tokens of their credentials are not remembered as ended, and their labels and
    ///   receipts stay until their partitions are dropped.
    func removeRest(
        of sessions: [SessionKey], tombstoneUntil: Duration, isExpired: Bool = false
    ) -> [PostgresStatement] {
        let keys = PostgresValue.int8s(sessions.map(\.number))
        func gone(_ column: String) -> String {
            "\(column) = ANY ($1) AND NOT EXISTS (SELECT FROM \(schema).sessions AS s WHERE s.key = \(column))"
        }
        let forgotten = PostgresStatement(
            """
            DELETE FROM \(schema).tokens AS t USING \(schema).credentials AS c
            WHERE t.token = c.token AND t.session = c.session AND \(gone("c.session"))
            """, [keys])
        return (isExpired ? [forgotten] : [])
            + Rows.tables.filter { $0.pages == nil }.map {
                PostgresStatement("DELETE FROM \(schema).\($0.name) AS t WHERE \(gone("t.session"))", [keys])
            } + [
                PostgresStatement(
                    "UPDATE \(schema).tokens AS t SET session = NULL, until = $2 WHERE \(gone("t.session"))",
                    [keys, .time(tombstoneUntil)]),
                PostgresStatement("DELETE FROM \(schema).heads AS t WHERE \(gone("t.key"))", [keys]),
            ] + deleteMany(of: keys, fromEras: !isExpired)
    }

    /// Deletes a session's row, and the token of a space, which is not remembered. Returns a row that tells if it was a
    /// space; none if the session is gone.
    func remove(_ session: SessionKey) -> PostgresStatement {
        PostgresStatement(
            """
            WITH gone AS (DELETE FROM \(schema).sessions WHERE key = $1 RETURNING token, space), \(unnamed)
            SELECT space IS NOT NULL FROM gone
            """, [.key(session)])
    }

    /// Deletes the tokens of the spaces among `gone`.
    private var unnamed: String {
        """
        unnamed AS (
            DELETE FROM \(schema).tokens AS t USING gone AS g WHERE g.space IS NOT NULL AND t.token = g.token)
        """
    }

    func bury(_ token: TokenHash, until: Duration) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO \(schema).tokens AS t (token, until) VALUES ($1, $2)
            ON CONFLICT (token) DO UPDATE SET until = excluded.until WHERE t.session IS NULL
            """, [.bytea(token.bytes), .time(until)])
    }

    /// Gives a session a new epoch after a loss of commits. This counts as a change of access, so that an append of a
    /// node with the old epoch and the same head is a conflict.
    func renewEpoch(of session: SessionKey) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE \(schema).heads SET epoch = convert_to(left(md5(gen_random_uuid()::text), 16), 'UTF8'),
                access_changes = access_changes + 1, past = (SELECT past FROM \(schema).meta)
            WHERE key = $1 AND past <> (SELECT past FROM \(schema).meta)
            """, [.key(session)])
    }

    // MARK: Expiry

    /// Deletes a page of the rows that have ended.
    func drop(_ rows: Expiry.Rows, _ expiry: Expiry, limit: Int) -> PostgresStatement {
        switch rows {
        case .tombstones: dropTombstones(now: expiry.now, limit: limit)
        case .anonymousVisits: dropVisits(before: expiry.lastSeenBefore.anonymous, limit: limit)
        case .senders: dropSenders(heardBefore: expiry.heardBefore, limit: limit)
        }
    }

    /// Passes over those that an append writes, which would wait for rows of this transaction.
    private func dropSenders(heardBefore time: Duration, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM \(schema).heard AS h USING (
                SELECT session, sender FROM \(schema).heard WHERE time < $1 ORDER BY time LIMIT $2
                FOR UPDATE SKIP LOCKED) AS l
            WHERE h.session = l.session AND h.sender = l.sender
            """, [.time(time), .int8(Int64(limit))])
    }

    /// Deletes some tombstones that have ended.
    func dropTombstones(now: Duration, limit: Int) -> PostgresStatement {
        PostgresStatement(
            """
            DELETE FROM \(schema).tokens WHERE token = ANY (ARRAY(
                SELECT token FROM \(schema).tokens WHERE until <= $1 ORDER BY until LIMIT $2))
            """, [.time(now), .int8(Int64(limit))])
    }

    /// Returns the end of the last one of a page of tombstones that end before a time, latest first.
    func lastTombstone(before time: Int64, of count: Int) -> PostgresStatement {
        PostgresStatement(
            "SELECT until FROM \(schema).tokens WHERE until < $1 ORDER BY until DESC OFFSET $2 LIMIT 1",
            [.int8(time), .int8(Int64(count - 1))])
    }

    /// Locks the heads of sessions that seem unused, and of those whose reminders were all due before a time but that are
    /// still marked as kept alive by them.
    func lockUnused(_ expiry: Expiry, limit: Int) -> PostgresStatement {
        var values: [PostgresValue] = [.int8(Int64(limit)), .time(expiry.lastSeenBefore.anonymous)]
        let found: [String]
        if let usedFor = expiry.usedFor {
            values.append(.time(usedFor))
            found = ["\(Self.isBrieflyUsed) AND noted < $2 AND noted::numeric - created <= $3"]
        } else {
            values += [
                .time(expiry.lastSeenBefore.unshared), .time(expiry.lastSeenBefore.shared),
                .time(expiry.lastSeenBefore.space), .time(expiry.dueBefore),
            ]
            found = LifeClass.allCases.map { life in
                "\(Self.life) = \(life.rawValue) AND noted < $\(life.rawValue + 2) AND NOT reminded"
            }
        }
        let keys = found.map { "ARRAY(SELECT key FROM \(schema).sessions WHERE \($0) ORDER BY noted, key LIMIT $1)" }
        let reminded = """
            ARRAY(SELECT r.session FROM \(schema).reminders AS r JOIN \(schema).sessions AS s ON s.key = r.session
                WHERE r.due < $6 AND s.reminded AND NOT EXISTS (
                    SELECT FROM \(schema).reminders AS l WHERE l.session = r.session AND l.due >= $6)
                GROUP BY r.session LIMIT $1)
            """
        let all = (keys + (expiry.usedFor == nil ? [reminded] : [])).joined(separator: " || ")
        return PostgresStatement(
            """
            SELECT key FROM \(schema).heads WHERE key = ANY ((\(all))[1:$1::int]) ORDER BY key FOR NO KEY UPDATE
            """, values)
    }

    /// Marks sessions with locked heads as no longer kept alive by reminders that were all due long ago. Updates the last
    /// use of those that were used after all; deletes and returns the others' rows.
    func expire(_ sessions: [SessionKey], _ expiry: Expiry) -> [PostgresStatement] {
        let time = expiry.lastSeenBefore
        let keys = PostgresValue.int8s(sessions.map(\.number))
        let values: [PostgresValue] =
            [keys, .time(time.anonymous), .time(time.unshared), .time(time.shared), .time(time.space)]
            + (expiry.usedFor.map { [.time($0)] } ?? [])
        // As `Expiry.ends`.
        let isUnused =
            "h.seen < (CASE WHEN s.space IS NOT NULL THEN $5 WHEN s.subject IS NULL THEN $2 WHEN s.shared THEN $4 ELSE $3 END)"
        let isBrief =
            expiry.usedFor == nil
            ? "" : "AND s.subject IS NULL AND s.space IS NULL AND h.seen::numeric - s.created <= $6"
        let endPassingOver = PostgresStatement(
            """
            UPDATE \(schema).sessions AS s SET reminded = false WHERE s.key = ANY ($1) AND s.reminded
                AND NOT EXISTS (SELECT FROM \(schema).reminders AS r WHERE r.session = s.key AND r.due >= $2)
            """, [keys, .time(expiry.dueBefore)])
        return (expiry.usedFor == nil ? [endPassingOver] : []) + [
            PostgresStatement(
                """
                UPDATE \(schema).sessions AS s SET noted = h.seen FROM \(schema).heads AS h
                WHERE s.key = ANY ($1) AND h.key = s.key AND NOT (\(isUnused) \(isBrief))
                """, values),
            PostgresStatement(
                """
                WITH gone AS (
                    DELETE FROM \(schema).sessions AS s USING \(schema).heads AS h
                    WHERE s.key = ANY ($1) AND h.key = s.key AND NOT s.reminded AND \(isUnused) \(isBrief)
                    RETURNING s.key, s.token, s.space), \(unnamed)
                SELECT key FROM gone
                """, values),
        ]
    }

    // MARK: Credentials

    /// Reads everything on which a change of credentials depends. The session's head is locked.
    func credentialState(_ change: CredentialChange) -> [PostgresStatement] {
        [
            PostgresStatement(
                "SELECT token, issuer, subject, shared, space IS NOT NULL FROM \(schema).sessions WHERE key = $1",
                [.key(change.session)]),
            PostgresStatement(
                "SELECT token, number, client FROM \(schema).credentials WHERE session = $1", [.key(change.session)]),
            PostgresStatement(
                "SELECT token, session FROM \(schema).tokens WHERE token = ANY ($1)",
                [.byteas(change.kept.map(\.token.bytes))]),
            PostgresStatement(
                """
                SELECT FROM \(schema).sessions WHERE shared AND sha256(subject) = sha256($1)
                    AND sha256(issuer) = sha256($2)
                """, [.utf8(change.subject?.id), .utf8(change.subject?.issuer)]),
        ]
    }

    /// Makes a valid change.
    ///
    /// - Parameter ended: The removed tokens, without the session's own.
    func make(_ change: CredentialChange, ended: [TokenHash]) -> [PostgresStatement] {
        let session = PostgresValue.key(change.session)
        let gone = change.removed.map(\.bytes) + change.kept.map(\.token.bytes)
        let signedIn = change.subject == nil ? [] : [signIn("key", session)]
        return [
            PostgresStatement(
                "UPDATE \(schema).sessions SET issuer = $2, subject = $3 WHERE key = $1",
                [session, .utf8(change.subject?.issuer), .utf8(change.subject?.id)]),
            PostgresStatement(
                "UPDATE \(schema).heads SET access_changes = access_changes + 1 WHERE key = $1", [session]),
            PostgresStatement(
                "DELETE FROM \(schema).credentials WHERE session = $1 AND token = ANY ($2)", [session, .byteas(gone)]),
            PostgresStatement(
                """
                UPDATE \(schema).tokens SET session = NULL, until = $3 WHERE session = $1 AND token = ANY ($2)
                """, [session, .byteas(ended.map(\.bytes)), .time(change.tombstoneUntil)]),
        ]
            + change.kept.map { credential in
                // Conflicts with the session's own token are ignored. Another's is an error, and the change is checked
                // again.
                PostgresStatement(
                    """
                    INSERT INTO \(schema).tokens (token, session)
                    SELECT $2, $1 WHERE NOT EXISTS (SELECT FROM \(schema).tokens WHERE token = $2 AND session = $1)
                    """, [session, .bytea(credential.token.bytes)])
            } + [Rows.credentials.insert(change.kept, of: change.session, self)].compactMap(\.self)
            + set(change.reminders, of: change.session) + set(change.settings, of: change.session) + signedIn
    }

    private func set(_ settings: CredentialChange.NewSettings?, of session: SessionKey) -> [PostgresStatement] {
        guard let settings else { return [] }
        return [("sessions", "key"), ("credentials", "session")].map { table, key in
            PostgresStatement(
                "UPDATE \(schema).\(table) SET client = $3 WHERE \(key) = $1 AND token = $2",
                [.key(session), .bytea(settings.token.bytes), .text(settings.value?.text)])
        }
    }

    /// Sets reminders of a session whose head is locked.
    private func set(_ reminders: [StoredReminder], of session: SessionKey) -> [PostgresStatement] {
        guard let insertion = Rows.reminders.insert(reminders, of: session, self) else { return [] }
        return [
            PostgresStatement(
                """
                DELETE FROM \(schema).reminders AS r USING unnest($2::text[], $3::bytea[]) AS i (feature, name)
                WHERE r.session = $1 AND r.feature = i.feature AND r.name = i.name
                """,
                [
                    .key(session), .texts(reminders.map(\.feature.text)),
                    .byteas(reminders.map { Array($0.id.utf8) }),
                ]), insertion,
            PostgresStatement("UPDATE \(schema).sessions SET reminded = true WHERE key = $1", [.key(session)]),
        ]
    }

    /// The column `proof`, which is always empty: nodes of older builds expect one in the rows of revoked credentials.
    private static func noProof(_ revokedUntil: String) -> String {
        "CASE WHEN \(revokedUntil)::bigint IS NOT NULL THEN ''::bytea END"
    }

    /// Reads the secret of sessions that are not stored yet: a row for each former key, or one without any.
    var secret: String {
        """
        SELECT m.key, m.key_since, m.generation, f.key, f.until
        FROM \(schema).meta AS m LEFT JOIN \(schema).former_keys AS f ON true ORDER BY f.until DESC
        """
    }

    /// Replaces the stored secret.
    func replaceSecret(by secret: JournalSecret) -> [PostgresStatement] {
        [
            PostgresStatement(
                "UPDATE \(schema).meta SET key = $1, key_since = $2, generation = $3",
                [.bytea(secret.key), .time(secret.since), .bytea(secret.generation)]),
            PostgresStatement("DELETE FROM \(schema).former_keys"),
        ]
            + secret.formerKeys.map { former in
                PostgresStatement(
                    "INSERT INTO \(schema).former_keys (key, until) VALUES ($1, $2)",
                    [.bytea(former.key), .time(former.until)])
            }
    }

    /// See `JournalMaintenance.signOutAll`. The rows of the third statement are the sessions.
    var signOutAll: [PostgresStatement] {
        [
            PostgresStatement("DELETE FROM \(schema).credentials"),
            PostgresStatement("DELETE FROM \(schema).tokens WHERE session IS NOT NULL"),
            // Random bytes are the hash of no existing token. Spaces have none, and are found by theirs.
            PostgresStatement(
                """
                UPDATE \(schema).sessions
                SET token = sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())) WHERE space IS NULL
                """),
            PostgresStatement(
                "INSERT INTO \(schema).tokens (token, session) SELECT token, key FROM \(schema).sessions"),
        ] + replaceSecret(by: .random())
    }
}

extension JournalSecret {
    /// Reads the secret from the rows of `Statements.secret`.
    init(_ rows: PostgresRows) throws {
        guard let row = rows.first else { throw StoreError(.unavailable, "The journal's secret is gone.") }
        let formerKeys = try rows.rows.filter { !$0.isNull(3) }
            .map { FormerKey(key: try $0.bytes(3), until: try $0.time(4)) }
        self.init(
            key: try row.bytes(0), since: try row.time(1), formerKeys: formerKeys, generation: try row.bytes(2))
    }
}
