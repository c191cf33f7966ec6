import PostgreSQL
import SessionJournal

/// The statements' texts for one schema. None has a name on the server.
///
/// Statements of an append run in groups: each receives arrays with one element for each row, and writes only rows of
/// sessions whose heads are the new ones of the group.
struct Statements: Sendable {
    /// The schema's name as an identifier, and for names inside texts.
    let schema: String
    let plainSchema: String

    init(schema: String) {
        plainSchema = schema
        self.schema =
            "\"" + schema.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        let at = self.schema
        place = """
            ((SELECT system_identifier::text FROM pg_control_system())
                || '/' || substring(pg_walfile_name(pg_current_wal_lsn()) FROM 1 FOR 8)
                || '/' || '\(Self.quoted(at + ".heads"))'::regclass::oid::text)
            """
        let isSamePlace = "1 / (SELECT count(*) FROM \(at).meta WHERE place = \(place))::int"
        guardText = """
            SELECT set_config('statement_timeout', $3, true), set_config('lock_timeout', $4, true),
                set_config('idle_in_transaction_session_timeout', $5, true),
                set_config('client_min_messages', 'warning', true), \(Self.transactionLimit("$6")), \(Self.plans),
                1 / (SELECT count(*) FROM
                    (SELECT FROM \(at).writers WHERE id = $1 AND generation = $2 FOR SHARE) AS writer)::int, \(isSamePlace)
            """
        readGuard = """
            SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
                set_config('idle_in_transaction_session_timeout', $3, true),
                set_config('client_min_messages', 'warning', true), \(Self.transactionLimit("$4")), \(Self.plans), \(isSamePlace)
            """
        lockHeads = """
            SELECT key, number, nonce, past = (SELECT past FROM \(at).meta), owner, fence_number, fence_nonce,
                access_changes
            FROM \(at).heads WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE
            """
        lockFreeHeads = "SELECT key FROM \(at).heads WHERE key = ANY ($1) ORDER BY key FOR NO KEY UPDATE SKIP LOCKED"
        presentHeads = "SELECT key FROM \(at).heads WHERE key = ANY ($1)"
        // The sessions that were appended to: those with the group's heads, written by this transaction. The head alone
        // is not enough: the same append may have been committed by a transaction whose response was lost.
        let committed = """
            JOIN \(at).heads AS h ON h.key = i.session AND h.number = i.head AND h.nonce = i.nonce
                AND h.xmin = pg_current_xact_id()::xid AND \(Self.fewRows)
            """
        refusedHeads = """
            SELECT key, number, nonce, past = (SELECT past FROM \(at).meta WHERE one), owner, fence_number, fence_nonce,
                access_changes
            FROM \(at).heads WHERE key = ANY ($1) AND xmin <> pg_current_xact_id()::xid
            """
        let foundReceipts = """
            FROM unnest($1::int[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[])
                AS i (row, session, hash, scope, name)
            JOIN \(at).receipts AS r
                ON r.session = i.session AND r.hash = i.hash AND r.scope = i.scope AND r.name = i.name
            """
        findReceipts = "SELECT i.row, \(Self.receiptColumns) \(foundReceipts)"
        let headChanges = """
            UPDATE \(at).heads AS h SET number = i.number, nonce = i.nonce,
                recent = substring(int8send(h.number) || int8send(h.nonce) || h.recent FROM 1 FOR \(16 * 15)),
                seen = greatest(h.seen, i.time), epoch = coalesce(i.epoch, h.epoch), lost = coalesce(i.lost, h.lost),
                first_number = CASE WHEN (i.first_number, i.first_place) > (h.first_number, h.first_place)
                    THEN i.first_number ELSE h.first_number END,
                first_place = CASE WHEN (i.first_number, i.first_place) > (h.first_number, h.first_place)
                    THEN i.first_place ELSE h.first_place END,
                label_era = coalesce(h.label_era, CASE WHEN i.labelled THEN \(Self.era) END)
            """
        let headRows = """
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bytea[],
                    $8::bytea[], $9::bigint[], $10::bigint[], $11::boolean[], $12::bigint[], $13::bigint[]
            """
        let headNames = """
            session, expected, expected_nonce, number, nonce, time, epoch, lost, first_number, first_place, labelled, added,
                access
            """
        let isExpected = """
            WHERE h.key = i.session AND h.number = i.expected AND h.nonce = i.expected_nonce
                AND coalesce(i.access, h.access_changes) = h.access_changes
                AND h.past = (SELECT past FROM \(at).meta WHERE one) AND \(Self.fewRows)
            """
        updateHeads = "\(headChanges) \(headRows)) AS i (\(headNames)) \(isExpected) AND h.owner IS NULL"
        updateOwnedHeads = """
            \(headChanges), owner = CASE WHEN i.moves THEN i.owner ELSE h.owner END,
                fence_number = CASE WHEN i.moves THEN i.fence ELSE h.fence_number END,
                fence_nonce = CASE WHEN i.moves THEN i.fence_nonce ELSE h.fence_nonce END,
                working = CASE WHEN i.moves THEN i.working ELSE h.working END
            \(headRows), $20::bigint[], $21::bigint[], $22::bigint[], $23::boolean[], $24::bigint[], $25::bigint[],
                    $26::bigint[], $27::bytea[])
                AS i (\(headNames), expected_owner, expected_fence, expected_fence_nonce, moves, owner, fence, fence_nonce,
                    working)
            \(isExpected) AND h.owner IS NOT DISTINCT FROM i.expected_owner
                AND h.fence_number IS NOT DISTINCT FROM i.expected_fence
                AND h.fence_nonce IS NOT DISTINCT FROM i.expected_fence_nonce
            """
        // Only if a group has such parts: each costs the planner time.
        unlessReceived = """

            AND i.session NOT IN (
                SELECT c.session FROM unnest($14::bigint[], $15::bigint[], $16::bytea[], $17::bytea[])
                    AS c (session, hash, scope, name)
                JOIN \(at).receipts AS r
                    ON r.session = c.session AND r.hash = c.hash AND r.scope = c.scope AND r.name = c.name)
            """
        unlessStoreMissing = """

            AND i.session NOT IN (
                SELECT c.session FROM unnest($18::bigint[], $19::text[]) AS c (session, feature)
                WHERE NOT EXISTS (SELECT FROM \(at).stores AS s WHERE s.session = c.session AND s.feature = c.feature))
            """
        unlessTooManyStores = """

            AND (i.added = 0 OR i.added + (SELECT count(*) FROM \(at).stores AS s WHERE s.session = i.session)
                <= \(JournalBatch.storeLimit))
            """
        setAside = """
            INSERT INTO \(at).set_aside (session, feature, time, reason, schema, state)
            SELECT s.session, s.feature, i.time, i.reason, s.schema, s.state
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bytea[])
                AS i (session, head, nonce, feature, time, reason)
            \(committed) JOIN \(at).stores AS s ON s.session = i.session AND s.feature = i.feature
            """
        let storeRows = """
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
                    $8::bytea[], $9::bytea[], $10::bytea[]
            """
        let storeNames = "session, head, nonce, feature, number, version, schema, view_intent, state, view"
        changeStores = """
            UPDATE \(at).stores AS s SET number = i.number, version = i.version,
                schema = CASE WHEN i.state IS NULL THEN s.schema ELSE i.schema END, state = coalesce(i.state, s.state),
                view_intent = CASE WHEN i.view IS NULL THEN s.view_intent ELSE i.view_intent END,
                view = coalesce(i.view, s.view)
            \(storeRows)) AS i (\(storeNames)) \(committed) WHERE s.session = i.session AND s.feature = i.feature
            """
        makeStores = """
            INSERT INTO \(at).stores AS s
                (session, feature, number, version, schema, view_intent, state, view, made, replaced)
            SELECT i.session, i.feature, i.number, i.version, i.schema, i.view_intent, i.state, i.view, i.made, i.replaced
            \(storeRows), $11::bigint[], $12::bigint[]) AS i (\(storeNames), made, replaced) \(committed)
            ON CONFLICT (session, feature) DO UPDATE SET number = excluded.number, version = excluded.version,
                schema = excluded.schema, view_intent = excluded.view_intent, state = excluded.state,
                view = excluded.view, made = excluded.made, replaced = excluded.replaced
            """
        disposeStores = """
            DELETE FROM \(at).stores AS s
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) AS i (session, head, nonce, feature)
            \(committed) WHERE s.session = i.session AND s.feature = i.feature
            """
        addLabels = """
            INSERT INTO \(at).labels
                (era, session, number, place, feature, version, intent, expiry, written, json)
            SELECT \(Self.era), i.session, i.number, i.place, i.feature, i.version, i.intent, i.expiry, i.written, i.json
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
                    $8::bytea[], $9::bigint[], $10::boolean[], $11::bytea[])
                AS i (session, head, nonce, number, place, feature, version, intent, expiry, written, json)
            \(committed)
            """
        forgetLabels = """
            DELETE FROM \(at).labels AS l
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
                AS i (session, head, nonce, number, place)
            \(committed) WHERE l.session = i.session AND l.number = i.number AND l.place = i.place
            """
        forgetReceipts = """
            DELETE FROM \(at).receipts AS r
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[])
                AS i (session, head, nonce, hash, scope, name)
            \(committed)
            WHERE r.session = i.session AND r.hash = i.hash AND r.scope = i.scope AND r.name = i.name
            """
        addReceipts = """
            INSERT INTO \(at).receipts
                (era, session, hash, scope, name, number, made, intent, version, status, body_hash, body)
            SELECT \(Self.era), i.session, i.hash, i.scope, i.name, i.number, i.made, i.intent, i.version, i.status,
                i.body_hash, i.body
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bigint[],
                    $8::bigint[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bytea[], $13::bytea[])
                AS i (session, head, nonce, hash, scope, name, number, made, intent, version, status, body_hash, body)
            \(committed)
            """
        forgetReminders = """
            DELETE FROM \(at).reminders AS r
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[])
                AS i (session, head, nonce, feature, name)
            \(committed) WHERE r.session = i.session AND r.feature = i.feature AND r.name = i.name
            """
        addReminders = """
            INSERT INTO \(at).reminders (session, feature, name, due, number, action)
            SELECT i.session, i.feature, i.name, i.due, i.number, i.action
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bigint[], $7::bigint[],
                    $8::bytea[])
                AS i (session, head, nonce, feature, name, due, number, action)
            \(committed)
            """
        noteReminded = """
            UPDATE \(at).sessions AS s SET reminded = now.reminded
            FROM (SELECT c.key, EXISTS (SELECT FROM \(at).reminders AS r WHERE r.session = c.key) AS reminded
                FROM unnest($1::bigint[]) AS c (key)) AS now
            WHERE s.key = now.key AND s.reminded <> now.reminded
            """
        addRecordings = """
            INSERT INTO \(at).recordings (session, number, feature, time, body)
            SELECT i.session, i.number, i.feature, i.time, i.body
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[], $7::bytea[])
                AS i (session, head, nonce, number, feature, time, body)
            \(committed)
            """
        trimRecordings = """
            DELETE FROM \(at).recordings AS r
            USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS i (session, head, nonce, kept)
            \(committed)
            WHERE r.session = i.session AND r.number <= (
                SELECT o.number FROM \(at).recordings AS o WHERE o.session = i.session
                ORDER BY o.number DESC OFFSET i.kept LIMIT 1)
            """
    }

    /// Plans writing transactions row by row through the keys' indexes, whatever the tables' statistics are. New tables
    /// have none, and one bad plan takes a hundred times as long.
    private static let plans = ["enable_seqscan", "enable_hashjoin", "enable_mergejoin", "jit"]
        .map { "set_config('\($0)', 'off', true)" }.joined(separator: ", ")
    /// True for each row of an array. The planner expects few such rows, so it begins with them, in their order.
    private static let fewRows = "i.session * 0 = 0"
    /// The present era by the database's clock.
    static let era = "floor(extract(epoch FROM now()) / \(PostgresSchema.eraSeconds))::int"
    /// The columns that `PostgresRow.receipt` reads, from a table named `r`.
    static let receiptColumns = "r.scope, r.name, r.number, r.made, r.intent, r.version, r.status, r.body_hash, r.body"

    // MARK: Writers

    /// Time limits in a transaction, in milliseconds: for a statement, for a lock, and without a statement.
    let limits = """
        SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
            set_config('idle_in_transaction_session_timeout', $3, true),
            set_config('client_min_messages', 'warning', true), \(transactionLimit("$4"))
        """

    /// Limits the whole transaction if the database can (since version 17). Half a pipeline, after which nothing
    /// follows, is not ended by the other limits.
    private static func transactionLimit(_ time: String) -> String {
        """
        CASE WHEN current_setting('server_version_num')::int >= 170000
            THEN set_config('transaction_timeout', \(time), true) ELSE \(time)::text END
        """
    }

    /// Makes the database notice a lost client as fast as the client notices a lost database. Behind a pooler these are
    /// the pooler's connections.
    let keepalives = """
        SELECT set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
            set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false)
        """
    /// Ends the transaction of a writer's last connection if it still runs: it may be half a pipeline whose rest never
    /// comes. It is identified by its lock on the writer's row, not by its connection, which may be a pooler's.
    var endPredecessor: String {
        """
        SELECT count(pg_terminate_backend(a.pid)) FROM \(schema).writers AS w JOIN pg_stat_activity AS a
            ON a.backend_xid = w.xmax WHERE w.id = $1 AND a.pid <> pg_backend_pid()
        """
    }
    /// Increments a writer's generation.
    var settle: String {
        """
        INSERT INTO \(schema).writers AS w (id, generation) VALUES ($1, $2)
        ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, seen = now()
            WHERE w.generation < excluded.generation
        RETURNING id
        """
    }
    /// Sends a notification to a channel.
    let notify = "SELECT pg_notify($1, $2)"
    var noteWriter: String { "UPDATE \(schema).writers SET seen = now() WHERE id = $1" }
    var leave: String { "DELETE FROM \(schema).writers WHERE id = $1" }
    var storeNames: String { "SELECT feature FROM \(schema).stores WHERE session = $1" }

    /// A text inside a statement's text.
    func quotedText(_ text: String) -> String { Self.quoted(text) }

    private static func quoted(_ text: String) -> String {
        text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
    }

    // MARK: Appends

    /// The identity of the database: the cluster, its timeline, and the table, which a restore replaces.
    let place: String
    /// The first statement of each writing transaction. Fails if the connection no longer belongs to its writer, and
    /// blocks a newer one until the transaction ends. Also fails if the database is not the noted one, which can change
    /// behind a pooler without a new connection.
    let guardText: String
    /// The first statement of each reading transaction, with the same check of the database.
    let readGuard: String
    let lockHeads: String
    /// Locks the heads that no other transaction has locked.
    let lockFreeHeads: String
    let presentHeads: String
    /// Returns the sessions whose heads this transaction has not written.
    let refusedHeads: String
    let findReceipts: String
    /// For appends to sessions that have no owner before and after.
    let updateHeads: String
    let updateOwnedHeads: String
    let unlessReceived: String
    let unlessStoreMissing: String
    let unlessTooManyStores: String
    let setAside: String
    let changeStores: String
    let makeStores: String
    let disposeStores: String
    let addLabels: String
    let forgetLabels: String
    let forgetReceipts: String
    let addReceipts: String
    let forgetReminders: String
    let addReminders: String
    let noteReminded: String
    let addRecordings: String
    let trimRecordings: String
}
